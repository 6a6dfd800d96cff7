"""Small cards of HTML for notebooks: a verdict, a few facts, a table; every text in them is escaped."""

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from fenceline.result.margins import Standing

_SYMBOLS = {"certified": "✓", "feasible": "○", "infeasible": "✕", "failed": "✕", "empty": "–"}
_COLOURS = {
    "certified": "#2f7d68",
    "feasible": "#b7791f",
    "infeasible": "#b3413a",
    "failed": "#b3413a",
}
"""Green is for what is certified alone: measured inside the fence is amber."""
# Inline, because a notebook may strip style elements; colours that read on light and on dark.
_CARD = "border:1px solid #8885;border-left:4px solid {};border-radius:6px;padding:.8em 1em;max-width:52em"
_CELL = "text-align:left;padding:.15em 1em .15em 0;font-variant-numeric:tabular-nums"


def card(status: str, message: str, facts: str, fence: Sequence[Standing]) -> str:
    """Return a lone fragment of HTML: the verdict, what was found, and the fence.

    Parameters
    ----------
    status, message : str
        The verdict in one word and in a sentence.
    facts : str
        How much was spent.
    fence : sequence of Standing
        How the pipeline of the message stands to every constraint; empty if there is none.
    """
    titles = ("Constraint", "Value", "Margin", "Holds", "Price")
    # A search knows no unseen rows: inside the fence as measured is all that it can say.
    shown = "certified" if status == "feasible" else status
    return box(shown, status.capitalize(), facts, [message], titles, map(_cells, fence))


def box(
    status: str,
    title: str,
    facts: str,
    lines: Iterable[str],
    titles: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
) -> str:
    """Return a card with a title, some lines of text, and a table if it has rows."""
    style = _CARD.format(_COLOURS.get(status, "#8888"))
    head = Markup("<strong>{} {}</strong> <span>{}</span>").format(
        _SYMBOLS.get(status, "–"), title, facts
    )
    text = Markup("").join(Markup("<p>{}</p>").format(line) for line in lines if line)
    return str(
        Markup('<div style="{}">{}{}{}</div>').format(style, head, text, _table(titles, rows))
    )


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    body = Markup("").join(Markup("<tr>{}</tr>").format(_row("td", row)) for row in rows)
    if not body:
        return Markup("")
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(
        _row("th", titles), body
    )


def _row(tag: str, cells: Sequence[str]) -> Markup:
    cell = Markup(f'<{tag} style="{{}}">{{}}</{tag}>')
    return Markup("").join(cell.format(_CELL, value) for value in cells)


def _cells(s: Standing) -> tuple[str, ...]:
    numbers = (f"{s.value:.4g}", f"{s.margin:.3g}")
    price = "–" if math.isnan(s.price) else f"{s.price:.3g}"
    return (str(s.constraint), *numbers, "✓ yes" if s.holds else "✕ no", price)

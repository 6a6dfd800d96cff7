"""A result as a small card of HTML, for notebooks; every text in it is escaped."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from fenceline.result.margins import Standing

_SYMBOLS = {"feasible": "✓", "infeasible": "✕", "failed": "✕", "empty": "–"}
# Inline, because a notebook may strip style elements; colours that read on light and on dark.
_CARD = "border:1px solid #8885;border-left:4px solid #2f7d68;border-radius:6px;padding:.8em 1em;max-width:52em"
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
    head = Markup("<strong>{} {}</strong> <span>{}</span><p>{}</p>").format(
        _SYMBOLS.get(status, "–"), status.capitalize(), facts, message
    )
    return str(Markup('<div style="{}">{}{}</div>').format(_CARD, head, _table(fence)))


def _table(fence: Sequence[Standing]) -> Markup:
    if not fence:
        return Markup("")
    titles = ("Constraint", "Value", "Margin", "Holds", "Price")
    head = Markup("").join(Markup('<th style="{}">{}</th>').format(_CELL, t) for t in titles)
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup('<td style="{}">{}</td>').format(_CELL, v) for v in _cells(s))
        )
        for s in fence
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, rows)


def _cells(s: Standing) -> tuple[str, ...]:
    numbers = (f"{s.value:.4g}", f"{s.margin:.3g}")
    price = "–" if math.isnan(s.price) else f"{s.price:.3g}"
    return (str(s.constraint), *numbers, "✓ yes" if s.holds else "✕ no", price)

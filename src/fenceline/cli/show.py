"""What the commands print: lines that survive a pipe, and tables that fit a terminal."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fenceline.cli.outcome import CERTIFICATE, MODEL, REPORT
from fenceline.problem.configuration import Choice
from fenceline.problem.printable import printable

_NARROW = 76
"""Columns of a terminal below which names of constraints would be squeezed to a few letters."""
_VERDICTS = {
    "certified": "Certified: the best pipeline inside the fence, confirmed on rows the search never saw.",
    "feasible": "Feasible, not certified: inside the fence as measured, but the error reaches beyond it.",
    "unconstrained": "The best pipeline found; there was no fence.",
}


def say(console: Console, text: str) -> None:
    """Print a line as it is: no markup, no colours guessed, no wrapping into a pipe."""
    # What comes from data does nothing to a terminal.
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def print_json(record: Any) -> None:
    """Print one object for machines."""
    typer.echo(json.dumps(record, indent=2, allow_nan=False))


@contextmanager
def notes() -> Iterator[None]:
    """Show a user's warnings as lines; those of libraries are for developers."""

    def note(message: Warning | str, *_: object, **__: object) -> None:
        typer.echo(printable(f"fenceline: note: {message}"), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield


def answer(console: Console, summary: dict[str, Any], directory: Path) -> None:
    """Print the verdict first, then the pipeline, the fence, and where everything is."""
    plural = "" if summary["evaluations"] == 1 else "s"
    spent = (
        f"{summary['evaluations']} pipeline{plural} measured in {summary['seconds']:.0f} s, "
        f"{summary['feasible_fraction']:.0%} of them inside the fence."
    )
    if summary["ended"] == "interrupted":
        spent = f"Interrupted; all is kept. {spent}"
    say(console, spent)
    if summary["status"] not in _VERDICTS:
        say(console, summary["message"])
    else:
        say(console, _verdict(summary))
        if summary.get("price_of_certainty"):
            say(console, summary["price_of_certainty"])
        for member in summary["pipelines"]:
            if len(summary["pipelines"]) > 1:
                say(console, f"  votes: {member['votes']}")
            for module, choice in member["configuration"].items():
                say(console, f"  {module}: {Choice(*choice)}")
        if summary.get("fits", 1) > 1:
            say(console, f"  fits: {summary['fits']} that vote, one without each fold")
        if summary.get("threshold"):  # runs of older versions have none
            say(console, f"  threshold: {summary['threshold']}")
    if summary["constraints"]:
        console.print(fence_table(summary, narrow=console.width < _NARROW))
    else:
        score = _score(summary)
        say(console, f"  {score['name']} = {_number(score['searched'])}")
    files = [name for name in (MODEL, CERTIFICATE, REPORT) if (directory / name).exists()]
    say(console, f"{directory}: {', '.join(files)}")
    say(console, f"Next: fenceline explain {directory} | fenceline report {directory} --open")


def _verdict(summary: dict[str, Any]) -> str:
    if not summary["constraints"]:
        return _VERDICTS["unconstrained"]
    reason = (summary["certificate"] or {}).get("reason")
    return f"Feasible, not certified: {reason}." if reason else _VERDICTS[summary["status"]]


def fence_table(summary: dict[str, Any], *, narrow: bool = False) -> Table:
    """Return the objective and every constraint, as searched and on unseen rows.

    A narrow terminal has room for the values and the verdict; the report has the rest.
    """
    checks = {c["text"]: c for c in (summary["certificate"] or {}).get("checks", [])}
    rows = (summary["certificate"] or {}).get("rows", 0)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    headings = ["search", "margin", "price", "unseen", "verdict"]
    shown = [h for h in headings if not narrow or h not in ("margin", "price")]
    for heading in shown:
        table.add_column(heading, justify="right", no_wrap=True)
    score = _score(summary)
    unseen = (score.get("unseen") or {}).get("value")
    # Text, not str: a column called a[/b] is no markup.
    first = {"search": _number(score["searched"]), "unseen": _number(unseen)}
    table.add_row(_text(score["name"]), *(first.get(heading, "") for heading in shown))
    for line in summary["constraints"]:
        check = checks.get(line["constraint"])
        unseen = _number(check["value"]) if check is not None and rows else ""
        verdict = ("holds" if line["holds"] else "broken") if check is None else check["verdict"]
        cells: dict[str, str | Text] = {
            "search": _number(line["value"]),
            "margin": _number(line["margin"]),
            "price": _price(line["price"]),
            "unseen": unseen,
            "verdict": _text(verdict),
        }
        table.add_row(_text(line["constraint"]), *(cells[heading] for heading in shown))
    return table


def _price(price: float | None) -> str:
    """Write a price: none where nothing is inside, and 0 for what rounding errors leave of one."""
    if price is None:
        return "–"
    return _number(price) if abs(price) > 1e-9 else "0"


def _score(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the objective as people named it; summaries of older versions have its loss alone."""
    objective = summary["objective"]
    found: dict[str, Any] = summary.get("score") or {
        "name": objective["name"],
        "searched": objective["value"],
    }
    return found


def _text(text: str) -> Text:
    return Text(printable(text))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value + 0.0:.4g}"  # no -0

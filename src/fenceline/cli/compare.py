"""``fenceline compare``: runs side by side, as a table and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fenceline.cli import options
from fenceline.errors import DefinitionError, StoreError

if TYPE_CHECKING:
    from fenceline.report.comparison import Comparison


def compare(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The run directories.", show_default=False),
    ],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison as a page, too.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Put runs side by side: objective, fence, and finalists.

    Example: fenceline compare credit-run credit-run-2 --html compared.html
    """
    from rich.console import Console

    from fenceline.cli import show
    from fenceline.cli.outcome import plain
    from fenceline.cli.rundir import open_run
    from fenceline.report.comparison import compare as compared
    from fenceline.report.comparison import page

    if len(directories) < 2:
        raise DefinitionError(
            f"A comparison needs two runs; write fenceline compare {directories[0]} OTHER."
        )
    summaries = {str(path): _summary(open_run(path)) for path in directories}
    try:
        comparison = compared(summaries)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise StoreError(
            "One of the summaries cannot be read; write it anew with fenceline resume DIR."
        ) from problem
    if html is not None:
        try:
            html.write_text(page(comparison), encoding="utf-8", errors="backslashreplace")
        except OSError as problem:
            raise StoreError(
                f"{html} cannot be written ({problem.strerror}); choose another --html."
            ) from problem
    if as_json:
        show.print_json(plain(dict(summaries)))
        return
    _print(Console(), comparison)
    if html is not None:
        typer.echo(str(html))


def _summary(run: Any) -> dict[str, Any]:
    summary: dict[str, Any] = run.summary
    if not summary:
        raise StoreError(
            f"{run.path} has not ended, so there is nothing to compare; see fenceline resume {run.path}."
        )
    return summary


def _print(console: Any, comparison: "Comparison") -> None:
    """Print a table that fits the terminal: beside each other if there is room, else one below another."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from fenceline.problem.printable import printable

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", *comparison.runs):
        table.add_column(Text(printable(name)), overflow="fold")
    for i, (title, rows) in enumerate(comparison.sections.items()):
        if i:
            table.add_section()
        for label, cells in rows:
            shown = f"finalist {label}" if title == "Finalists" else label
            table.add_row(*(Text(printable(text)) for text in (shown, *cells)))
    console.print(table)

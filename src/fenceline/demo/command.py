"""``fenceline demo``: a model inside a fence on the bundled credit data, from start to certificate."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

DEFAULT_SECONDS = 50.0
DEFAULT_GAP = 0.18
DEFAULT_BAD_LOANS = 0.25
_TIMES_SIMPLEST = 3.0


def demo(
    seconds: Annotated[float, typer.Option(help="How long to search.")] = DEFAULT_SECONDS,
    seed: Annotated[int, typer.Option(help="Which random numbers to search with.")] = 0,
    latency_us: Annotated[
        float | None,
        typer.Option(
            help="Most microseconds per row, predicting 1000 rows at once on one thread. By "
            "default three times what the simplest pipeline takes on this machine.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        float,
        typer.Option(help="Largest difference in AUROC between applicants under and over 35."),
    ] = DEFAULT_GAP,
    bad_loans: Annotated[
        float, typer.Option(help="Largest share of the bad loans that may be granted.")
    ] = DEFAULT_BAD_LOANS,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the report and the model are written.")
    ] = Path("fenceline-demo"),
) -> None:
    """Decide about 4,454 loan applicants, inside a fence of three constraints.

    Best balanced accuracy such that prediction is fast, young and old are ranked about equally
    well, and few bad loans are granted; then the certificate, from applicants the search never saw.

    Example: fenceline demo --seconds 20 --gap 0.12
    """
    _positive("--seconds", seconds, f"--seconds {DEFAULT_SECONDS:g}")
    _positive("--gap", gap, f"--gap {DEFAULT_GAP:g}")
    _positive("--bad-loans", bad_loans, f"--bad-loans {DEFAULT_BAD_LOANS:g}")
    if latency_us is not None:
        _positive("--latency-us", latency_us, "--latency-us 15")
    if seed < 0:
        raise typer.BadParameter(f"--seed must be at least 0, not {seed}; try --seed 0.")

    # scikit-learn takes a second to import: --help and --version should not wait for it.
    from rich.console import Console

    from fenceline.demo import credit, display
    from fenceline.errors import InfeasibleError

    console = Console()
    table, status = credit.applicants()
    if latency_us is None:
        latency_us = float(f"{_TIMES_SIMPLEST * credit.simplest_us(table, status):.3g}")
    constraints = credit.fence(latency_us, gap, bad_loans)
    model = credit.model(constraints, seconds, seed)
    display.question(console, table, constraints, seconds)
    refusal = None
    try:
        model.fit(table, status)
    except InfeasibleError as problem:
        refusal = str(problem)
    display.spent(console, model.result_)
    if hasattr(model, "certificate_"):
        display.answer(console, model)
    else:
        display.say(console, f"\n{refusal}")
    display.outside(console, model)
    display.say(console, "\nWritten")
    for path, what in _written(model, out, found=refusal is None):
        display.say(console, f"  {path!s:55} {what}")
    display.next_steps(console)
    if model.result_.ended == "interrupted":
        raise typer.Exit(130)
    if refusal is not None:
        raise typer.Exit(3)


def _written(model: Any, out: Path, *, found: bool) -> Iterator[tuple[Path, str]]:
    """Write the report, and the model if one was found; yield where."""
    from fenceline.errors import StoreError
    from fenceline.report import write_report

    try:
        out.mkdir(parents=True, exist_ok=True)
        report, file = out / "report.html", out / "model.skops"
        yield write_report(model, report, title="Who gets a loan?"), "the report, for a browser"
        if found:
            model.save(file)
            yield file, f"the model: fenceline.load({str(file)!r})"
    except OSError as problem:
        raise StoreError(
            f"--out {out} cannot be written ({problem.strerror}); choose another directory."
        ) from problem


def _positive(option: str, value: float, example: str) -> None:
    if not 0 < value < float("inf"):
        raise typer.BadParameter(
            f"{option} must be a positive number, not {value:g}; try {example}."
        )

"""``fenceline demo``: the search on the bundled credit data, from start to answer."""

from typing import Annotated

import typer

DEFAULT_SECONDS = 50.0
DEFAULT_GAP = 0.08
_TIMES_CHEAPEST = 4.0


def demo(
    seconds: Annotated[float, typer.Option(help="How long to search.")] = DEFAULT_SECONDS,
    seed: Annotated[int, typer.Option(help="Which random numbers to search with.")] = 0,
    latency_us: Annotated[
        float | None,
        typer.Option(
            help="Most microseconds per row that scaler and model may take, predicting 1000 rows at "
            "once on one thread. By default four times what naive Bayes takes on this machine.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(help="Largest difference in AUROC between age groups.")
    ] = DEFAULT_GAP,
) -> None:
    """Choose scaler and model for 4,454 loan applicants, inside a fence.

    Smallest 1 - AUROC such that prediction is fast and every age group is ranked about equally well.

    Example: fenceline demo --seconds 20 --gap 0.07
    """
    _positive("--seconds", seconds, "--seconds 50")
    _positive("--gap", gap, "--gap 0.08")
    if latency_us is not None:
        _positive("--latency-us", latency_us, "--latency-us 2")
    if seed < 0:
        raise typer.BadParameter(f"--seed must be at least 0, not {seed}; try --seed 0.")

    # scikit-learn takes a second to import: --help and --version should not wait for it.
    from rich.console import Console

    from fenceline.demo.credit import Credit, problem
    from fenceline.demo.display import Reporter, answer, explain, say
    from fenceline.run import minimize

    console = Console()
    credit = Credit.load()
    if latency_us is None:
        latency_us = round(_TIMES_CHEAPEST * credit.cheapest_us(), 2)
    task = problem(credit, latency_us=latency_us, auroc_gap=gap)
    fence = " and ".join(map(str, task.constraints))
    say(
        console,
        f"Searching {task.space.size} pipelines for {seconds:g} s: smallest loss such that {fence}.",
    )
    with Reporter(console, seconds).follow() as reporter:
        result = minimize(task, seconds=seconds, seed=seed, callbacks=[reporter])
    interrupted = result.ended == "interrupted"
    say(
        console,
        f"{'Interrupted: ' if interrupted else ''}{len(result.evaluations)} pipelines measured "
        f"in {result.seconds:.0f} s, {result.feasible_fraction:.0%} of them inside the fence.",
    )
    if result.best is None:
        say(console, result.message)
    else:
        confirmed = credit.confirm(result.best.configuration)
        answer(console, result, result.best, confirmed)
        explain(console, result, confirmed, len(credit.search), len(credit.test))
    if interrupted:
        raise typer.Exit(130)
    if result.best is None:
        raise typer.Exit(3)


def _positive(option: str, value: float, example: str) -> None:
    if not 0 < value < float("inf"):
        raise typer.BadParameter(
            f"{option} must be a positive number, not {value:g}; try {example}."
        )

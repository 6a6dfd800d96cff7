"""What ``fenceline demo`` prints: the question, the model, its certificate, and what the fence cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fenceline.certificate.certify import Certificate, Check
from fenceline.demo.credit import space
from fenceline.pipelines.fitting.thresholds import describe_threshold
from fenceline.pipelines.threshold_curve import without_fence
from fenceline.problem.constraint import Constraint
from fenceline.result.result import Result

if TYPE_CHECKING:
    import pandas as pd

_MEANINGS = (
    ("latency, µs/row", "predicting 1000 rows at once, on one thread"),
    ("AUROC gap by age", "between applicants under 35 and the others"),
    ("bad loans granted", "of all bad loans, the share that is granted"),
)
_OBJECTIVE = "1 - balanced accuracy"
_COLOURS = {"certified": "green", "feasible": "yellow", "infeasible": "red"}
_VERDICTS = {
    "certified": "Certified: all three hold on {rows:,} applicants the search never saw, at {sure:.0%} confidence.",
    "feasible": "Inside the fence on {rows:,} applicants the search never saw, but not beyond doubt at {sure:.0%}.",
    "infeasible": "Not confirmed: the model is outside the fence on {rows:,} applicants the search never saw.",
}


def say(console: Console, text: str) -> None:
    """Print a line as it is: no markup, no colours guessed, no wrapping into a pipe."""
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def question(
    console: Console, table: "pd.DataFrame", constraints: Sequence[Constraint], seconds: float
) -> None:
    """Print what is asked for."""
    rows, columns = table.shape
    say(console, f"Who gets a loan? {rows:,} applicants, {columns} columns as they came.")
    say(console, f"  {'minimise':10} {_OBJECTIVE}")
    words = ("such that", "", "")
    for word, c, (name, meaning) in zip(words, constraints, _MEANINGS, strict=True):
        say(console, f"  {word:10} {f'{name} {c.sense} {c.bound:.4g}':26} {meaning}")
    size = space().size
    say(
        console,
        f"Searching {size} pipelines and their hyper-parameters for {seconds:g} s; a fifth of the rows is kept aside.",
    )


def spent(console: Console, result: Result) -> None:
    """Print how much was measured."""
    inside = sum(e.feasible for e in result.evaluations)
    say(
        console,
        f"{'Interrupted: ' if result.ended == 'interrupted' else ''}{len(result.full)} "
        f"pipelines measured in {result.seconds:.0f} s, {inside} of them inside the fence.",
    )


def answer(console: Console, model: Any) -> None:
    """Print the model, and what is known about it from the search and from unseen rows."""
    say(console, "\nThe model")
    for module, choice in model.best_configuration_.items():
        say(console, f"  {module:10} {choice}")
    threshold = describe_threshold(model.best_pipeline_, model.best_metrics_["threshold"])
    say(console, f"  {'threshold':10} {threshold}")
    certificate: Certificate = model.certificate_
    prices = model.result_.prices
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("bound", "search", "price", "unseen", "at most", "margin", "verdict"):
        table.add_column(heading, justify="right", no_wrap=True)
    objective = model.best_metrics_[model.result_.problem.objective]
    table.add_row("1 - bal. accuracy", "", f"{objective:.4g}")
    for check, (name, _) in zip(certificate.checks, _MEANINGS, strict=True):
        c = check.constraint
        searched = f"{model.best_metrics_[c.metric]:.3g}"
        price = _price(prices.get(str(c), 0.0))
        table.add_row(name, f"{c.bound:.3g}", searched, price, *_unseen(check, certificate))
    console.print(table)
    verdict = _VERDICTS[certificate.status]
    if not certificate.rows:
        verdict = f"Nothing is certified: {certificate.reason}."
    console.print(
        Text(
            verdict.format(rows=certificate.rows, sure=certificate.confidence),
            style=_COLOURS[certificate.status],
        ),
        soft_wrap=not console.is_terminal,
    )
    best = model.result_.best
    if best is not None and best.configuration != model.best_configuration_:
        say(
            console,
            f"The best of the search, {best.objective:.4g}, was not certified there; the model is one that keeps "
            "farther from the fence.",
        )
    say(
        console,
        f"price: what one unit of the bound is worth in {_OBJECTIVE}; 0: not felt at the end.",
    )


def outside(console: Console, model: Any) -> None:
    """Print what a search without a fence would have taken."""
    result: Result = model.result_
    # At their own best thresholds: a fence around decisions moves those first.
    measured = [without_fence(e, result.problem) for e in result.full if e.ok]
    refused = [e for e in measured if not e.feasible]
    if not refused:
        return
    say(console, "\nWithout the fence")
    best = min(refused, key=lambda e: e.objective)
    if result.best is not None and result.best.objective <= best.objective:
        say(
            console,
            f"  nothing better was measured: {best.objective:.4g} at best outside, {result.best.objective:.4g} inside.",
        )
        return
    own = getattr(model, "best_metrics_", {}).get(result.problem.objective, float("inf"))
    better = [e for e in measured if e.objective < own]
    names = dict(zip((c.metric for c in result.problem.constraints), _MEANINGS, strict=True))
    broken = [
        f"{names[c.metric][0]} {best.metrics[c.metric]:.3g} > {c.bound:.3g}"
        for c in result.problem.constraints
        if not c.holds(best.metrics[c.metric])
    ]
    say(console, f"  {best.configuration}")
    say(console, f"  would have won with {best.objective:.4g}, and {' and '.join(broken)}.")
    say(
        console,
        f"  {len(better)} pipelines measured better than the model, {sum(e in refused for e in better)} of them outside the fence.",
    )


def next_steps(console: Console) -> None:
    """Print what to try now."""
    say(console, "\nNext")
    for command, what in (
        ("fenceline demo --bad-loans 0.35", "move the fence"),
        ('fenceline fit TABLE --target COLUMN -c "size_mb <= 5"', "your own table"),
        ("fenceline --help", "all commands"),
    ):
        say(console, f"  {command:55} {what}")


def _unseen(check: Check, certificate: Certificate) -> tuple[str, str, str, Text]:
    if not certificate.rows:
        return "", "", "", Text("")
    verdict = Text(check.verdict, style=_COLOURS[check.verdict])
    return f"{check.value:.3g}", f"{check.high:.3g}", f"{check.margin:.2g}", verdict


def _price(price: float) -> str:
    """Write a price; what is left of one by rounding errors is none."""
    return f"{price:.1g}" if abs(price) > 1e-9 else "0"

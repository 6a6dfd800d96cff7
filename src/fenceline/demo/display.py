"""What ``fenceline demo`` shows: a line of progress while it searches, then the answer in a table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from fenceline.constraint import Constraint
from fenceline.demo.credit import Confirmation
from fenceline.desk import Progress
from fenceline.problem import Evaluation
from fenceline.result import Result

NAMES = {
    "loss": "1 - AUROC",
    "latency_us": "latency, µs/row",
    "auroc_gap": "AUROC gap by age",
}
_DIGITS = {"loss": 4, "latency_us": 2, "auroc_gap": 3}
_QUIET_SECONDS = 10.0


class Reporter:
    """Follows a run: one line that is redrawn on a terminal, a few plain lines elsewhere."""

    def __init__(self, console: Console, seconds: float) -> None:
        self.console = console
        self.seconds = seconds
        # Redrawn by the run itself: a thread that redraws would disturb the latency it reports on.
        self._bar = Bar(
            BarColumn(bar_width=12),
            TextColumn("{task.description}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=seconds)
        self._best: Evaluation | None = None
        self._spoke_at = 0.0

    @contextmanager
    def follow(self) -> Iterator["Reporter"]:
        """Show the bar, where there is a terminal to show it on, and take it away at the end."""
        if not self.console.is_terminal:
            yield self
            return
        with self._bar:
            yield self

    def __call__(self, progress: Progress) -> None:
        """Show one more evaluation."""
        best = "none yet" if progress.best is None else f"{progress.best.objective:.4f}"
        facts = (
            f"{progress.seconds:3.0f} s, {progress.count} measured, "
            f"{progress.feasible / progress.count:.0%} feasible, best {best}"
        )
        if self.console.is_terminal:
            room = max(10, self.console.width - len(facts) - 18)
            pipeline = str(progress.evaluation.configuration)
            shown = pipeline if len(pipeline) <= room else pipeline[: room - 1] + "…"
            self._bar.update(
                self._task,
                completed=min(progress.seconds, self.seconds),
                description=f"{facts}  [dim]{shown}[/dim]",
                refresh=True,
            )
        elif progress.best is not self._best or progress.seconds - self._spoke_at >= _QUIET_SECONDS:
            say(self.console, f"{facts}: {progress.evaluation.configuration}")
            self._spoke_at = progress.seconds
        self._best = progress.best


def say(console: Console, text: str) -> None:
    """Print a line as it is: no markup, no colours guessed, no wrapping into a pipe."""
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def answer(console: Console, result: Result, best: Evaluation, confirmed: Confirmation) -> None:
    """Print the pipeline found, what it measures against every bound, and the same on unseen rows."""
    say(console, "\nThe best pipeline inside the fence:")
    for module, choice in best.configuration.items():
        say(console, f"  {module:7} {choice}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("search", "bound", "margin", "price", "unseen rows", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    objective = result.problem.objective
    table.add_row(
        NAMES[objective],
        _number(objective, best.metrics),
        "",
        "",
        "",
        _number(objective, confirmed.metrics),
        "",
    )
    for c in result.problem.constraints:
        unseen = _number(c.metric, confirmed.metrics)
        if c.metric == "auroc_gap":
            unseen += f" ± {confirmed.gap_error:.3f}"
        table.add_row(
            NAMES[c.metric],
            _number(c.metric, best.metrics),
            f"{c.sense} {c.bound:.{_DIGITS[c.metric]}f}",
            f"{-c.excess(best.metrics[c.metric]):.{_DIGITS[c.metric]}f}",
            _price(result.prices[str(c)]),
            unseen,
            _verdict(c, confirmed.metrics),
        )
    console.print(table)


def explain(
    console: Console, result: Result, confirmed: Confirmation, rows: int, unseen: int
) -> None:
    """Say in words what the columns mean, and what the fence cost."""
    say(
        console,
        f"search: mean of three folds within {rows:,} applicants; it chose the pipeline, so it tends to flatter.",
    )
    say(
        console,
        f"unseen rows: fitted anew, measured once on {unseen:,} applicants that the search never saw.",
    )
    for c in result.problem.constraints:
        distance = abs(c.excess(confirmed.metrics[c.metric]))
        if c.metric == "auroc_gap" and distance < 2 * confirmed.gap_error:
            say(
                console,
                "±: one standard error; within two of the bound, so too few applicants to be sure.",
            )
    say(
        console,
        "latency: scaler and model on one thread, 1000 rows at once, after the preparation all share.",
    )
    bands = ", ".join(f"{band} {score:.3f}" for band, score in confirmed.by_band.items())
    say(console, f"AUROC by age there: {bands}.")
    say(
        console,
        f"price: what one unit of the bound is worth in 1 - AUROC, after {len(result.iterations)} ADMM iterations; 0: not felt.",
    )
    lowest = min((e for e in result.evaluations if e.ok), key=lambda e: e.objective)
    if not lowest.feasible:
        broken = [c for c in result.problem.constraints if not c.holds(lowest.metrics[c.metric])]
        values = " and ".join(
            f"{NAMES[c.metric]} {_number(c.metric, lowest.metrics)} > {c.bound:.{_DIGITS[c.metric]}f}"
            for c in broken
        )
        say(console, f"Outside the fence: {lowest.configuration}")
        say(console, f"  would have {lowest.objective:.4f}, with {values}.")


def _number(name: str, metrics: Mapping[str, float]) -> str:
    return f"{metrics[name]:.{_DIGITS[name]}f}"


def _verdict(constraint: Constraint, metrics: Mapping[str, float]) -> str:
    return "holds" if constraint.holds(metrics[constraint.metric]) else "BROKEN"


def _price(price: float) -> str:
    """Write a price; what is left of one by rounding errors is none."""
    return f"{price:.1g}" if abs(price) > 1e-9 else "0"

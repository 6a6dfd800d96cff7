"""A run as it searches: a small panel on a terminal or in a notebook, plain lines elsewhere.

The library prints nothing unless asked; this is how to ask::

    minimize(problem, seconds=60, callbacks=[ProgressDisplay(problem, seconds=60)])

Nothing runs beside the search and nothing has to be closed: the run itself redraws the panel after
an evaluation, for a thread that does so would disturb the latencies that are measured.
"""

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Self

from rich.console import Console
from rich.control import Control
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from fenceline.evaluation.evaluator import Progress
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.objective import named
from fenceline.problem.printable import printable
from fenceline.problem.problem import Problem
from fenceline.search.iterate import Iterate

HEARTBEAT_SECONDS = 10.0
"""Without a terminal, a run that finds nothing better says this often that it is alive."""
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 20


class ProgressDisplay:
    """Shows a run: time and evaluations spent, the best feasible pipeline, and how near the fence is.

    Parameters
    ----------
    problem : Problem, optional
        Names the objective, and the constraints whose values are drawn against their bounds.
    seconds, evaluations : float, int, optional
        The budget of the run, to show how much of it is spent.
    verbosity : int
        0 nothing, 1 what is new, 2 every evaluation as a line of its own.
    console : rich.console.Console, optional
        Where to write; by default the standard error, so that output can be piped.
    """

    def __init__(
        self,
        problem: Problem | None = None,
        *,
        seconds: float | None = None,
        evaluations: int | None = None,
        verbosity: int = 1,
        console: Console | None = None,
    ) -> None:
        self.problem = problem
        self.seconds = seconds
        self.evaluations = evaluations
        self.verbosity = verbosity
        self.console = console
        self._best: Evaluation | None = None
        self._nearest: Evaluation | None = None
        self._drawn_at = self._spoke_at = -math.inf
        self._height = 0
        self._notebook: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Start afresh on the same console: estimators copy what they are given."""
        return type(self)(
            self.problem,
            seconds=self.seconds,
            evaluations=self.evaluations,
            verbosity=self.verbosity,
            console=self.console,
        )

    def __call__(self, state: Progress) -> None:
        """Show one more evaluation."""
        if self.verbosity <= 0:
            return
        if self.console is None:
            self.console = Console(stderr=True)
        improved = state.best is not self._best
        self._best = state.best
        last = state.evaluation
        if not last.look and (self._nearest is None or last.violation < self._nearest.violation):
            self._nearest = last
        if self.console.is_terminal or self.console.is_jupyter:
            ended = self.evaluations is not None and state.count >= self.evaluations
            due = state.seconds - self._drawn_at >= _REDRAW_SECONDS
            if improved or ended or due or self.verbosity > 1:
                self._draw(self.console, state)
                self._drawn_at = state.seconds
            return
        if improved or self.verbosity > 1 or state.seconds - self._spoke_at >= HEARTBEAT_SECONDS:
            _say(self.console, self._line(state, improved))
            self._spoke_at = state.seconds

    def panel(self, state: Progress) -> Table:
        """Return what is drawn: the budget, the best, the last, every constraint, the algorithm."""
        rows = Table.grid(padding=(0, 2, 0, 0), expand=True)
        rows.add_column(style="dim", width=6)
        rows.add_column(no_wrap=True, width=_BAR_WIDTH)
        rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        goal = "" if self.problem is None else f", {_goal(self.problem)}"
        spent = max(self._spent(state), default=None)
        rows.add_row(
            "budget",
            "" if spent is None else _bar(spent, "cyan"),
            Text(printable(self._budget(state) + goal)),
        )
        if state.best is None:
            rows.add_row("best", "none yet", "")
        else:
            rows.add_row(
                "best",
                self._value(state.best),
                Text(printable(str(state.best.configuration))),
            )
        rows.add_row(
            "last", Text(self._outcome(state.evaluation)), Text(_pipeline(state.evaluation))
        )
        shown = state.best or self._nearest
        if self.problem is not None and shown is not None and shown.ok:
            for constraint in self.problem.constraints:
                rows.add_row("fence", *_against(constraint, shown))
        iterate = state.iterate
        if iterate is not None:
            rows.add_row("ADMM", f"iteration {iterate.t}", Text(printable(_residuals(iterate))))
        return rows

    def _spent(self, state: Progress) -> Iterator[float]:
        """Yield the shares of the budget that are spent."""
        if self.seconds is not None:
            yield min(1.0, state.seconds / self.seconds)
        if self.evaluations is not None:
            yield min(1.0, state.count / self.evaluations)

    def _budget(self, state: Progress) -> str:
        time = f"{state.seconds:.0f}" + (
            "" if self.seconds is None else f" of {round(self.seconds, 1):g}"
        )
        full = state.count - state.looks
        count = f"{full}" + ("" if self.evaluations is None else f" of {self.evaluations}")
        looks = f", {state.looks} looks" if state.looks else ""
        share = state.feasible / max(full, 1)
        return f"{time} s, {count} evaluations{looks}, {share:.0%} feasible"

    def _line(self, state: Progress, improved: bool) -> str:
        best = "none yet" if state.best is None else self._value(state.best)
        subject = state.best if improved and state.best is not None else state.evaluation
        word = "new best" if improved else f"last ({self._outcome(state.evaluation)})"
        iterate = state.iterate
        admm = "" if iterate is None else f", iteration {iterate.t}"
        return f"{self._budget(state)}{admm}, best {best}; {word}: {_pipeline(subject)}"

    def _value(self, evaluation: Evaluation) -> str:
        """Write the objective as people named it."""
        if self.problem is None:
            return f"{evaluation.objective:.5g}"
        return f"{named(self.problem.objective).value(evaluation.objective):.5g}"

    def _outcome(self, evaluation: Evaluation) -> str:
        if not evaluation.ok:
            return evaluation.status
        side = "inside" if evaluation.feasible else "outside"
        if evaluation.look:
            side = f"a look at {evaluation.fidelity:.0%} of the rows"
        return f"{self._value(evaluation)}, {side}"

    def _draw(self, console: Console, state: Progress) -> None:
        panel = self.panel(state)
        if console.is_jupyter:
            self._draw_in_notebook(panel)
            return
        if self._height:
            above = [(ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)] * self._height
            console.control(Control((ControlType.CARRIAGE_RETURN,), *above))
        if self.verbosity > 1:
            _say(
                console,
                f"{state.count:>5}  {self._outcome(state.evaluation)}: {_pipeline(state.evaluation)}",
            )
        self._height = len(console.render_lines(panel, pad=False))
        console.print(panel)

    def _draw_in_notebook(self, panel: Table) -> None:
        if self._notebook is None:
            # A notebook has it, and nothing else needs it.
            self._notebook = import_module("IPython.display").display(panel, display_id=True)
        else:
            self._notebook.update(panel)


def _against(constraint: Constraint, shown: Evaluation) -> tuple[ProgressBar, Text]:
    """Return a bar that is full at the fence, and the numbers beside it."""
    value, error = shown.metrics[constraint.metric], shown.errors.get(constraint.metric, 0.0)
    excess = constraint.excess(value, error)
    if constraint.equality:
        used = abs(excess) / constraint.tolerance if constraint.tolerance else 1.0
    else:
        used = 1.0 + excess / constraint.scale
    holds = constraint.holds(value, error)
    word = "" if holds else "  outside"
    text = Text.assemble(printable(f"{constraint}: {value:.4g}"), (word, "red"))
    return _bar(used, "green" if holds else "red"), text


def _bar(share: float, colour: str) -> ProgressBar:
    share = min(1.0, max(0.0, share))
    return ProgressBar(1.0, share, width=_BAR_WIDTH, complete_style=colour, finished_style=colour)


def _residuals(iterate: Iterate) -> str:
    prices = [f"{name} costs {price:.2g}" for name, price in iterate.prices.items() if price]
    residuals = f"residuals {iterate.primal_residual:.2g} primal, {iterate.dual_residual:.2g} dual"
    if iterate.rho:  # the default has no penalty
        residuals += f", rho {iterate.rho:.3g}"
    return "; ".join([residuals, *prices])


def _goal(problem: Problem) -> str:
    score = named(problem.objective)
    return f"{'maximising' if score.larger_is_better else 'minimising'} {score.name}"


def _pipeline(evaluation: Evaluation) -> str:
    reason = f" ({evaluation.message})" if evaluation.message else ""
    return printable(f"{evaluation.configuration}{reason}")


def say(text: str) -> None:
    """Print a line where progress is shown."""
    _say(Console(stderr=True), text)


def _say(console: Console, text: str) -> None:
    """Print a line as it is: no markup, no colours guessed, no wrapping."""
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

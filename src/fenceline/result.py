"""What a run found: the best feasible evaluation, or a plain word that there is none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.constraint import Constraint
from fenceline.problem import Evaluation, Problem

if TYPE_CHECKING:
    import pandas as pd

    from fenceline.iterate import Iterate

Verdict: TypeAlias = Literal["feasible", "infeasible", "failed", "empty"]
Ending: TypeAlias = Literal["evaluations", "seconds", "exhausted", "finished", "interrupted"]
"""Why a run stopped: a budget, no pipeline left, the algorithm's own end, or Ctrl-C."""


@dataclass(frozen=True)
class Result:
    """Everything measured in a run, in order, and what follows from it."""

    problem: Problem
    evaluations: Sequence[Evaluation]
    ended: Ending
    seconds: float
    iterations: "Sequence[Iterate]" = ()
    """The ADMM iterates; empty for other algorithms."""
    finished_at: Sequence[float] = field(default=(), repr=False)
    """Seconds after the start at which each evaluation finished."""
    suggest_seconds: Sequence[float] = field(default=(), repr=False)
    """Seconds the algorithm spent before each submission."""

    @cached_property
    def best(self) -> Evaluation | None:
        """The best feasible evaluation, or None: never a silent substitute."""
        feasible = [e for e in self.evaluations if e.feasible]
        return min(feasible, key=lambda e: e.objective, default=None)

    @cached_property
    def nearest_miss(self) -> Evaluation | None:
        """The measured evaluation that breaks the constraints least."""
        measured = [e for e in self.evaluations if e.ok]
        return min(measured, key=lambda e: (e.violation, e.objective), default=None)

    @property
    def status(self) -> Verdict:
        """One of feasible, infeasible, failed (no pipeline could be measured), empty (none was tried)."""
        if not self.evaluations:
            return "empty"
        if self.best is not None:
            return "feasible"
        return "infeasible" if self.nearest_miss is not None else "failed"

    @property
    def message(self) -> str:
        """What happened, and what to do about it."""
        best, miss = self.best, self.nearest_miss
        count = len(self.evaluations)
        if best is not None:
            return f"{best.configuration} has {self.problem.objective} = {best.objective:.6g} inside the fence."
        if miss is not None:
            broken = [c for c in self.problem.constraints if not c.holds(miss.metrics[c.metric])]
            worst = max(broken, key=lambda c: c.violation(miss.metrics[c.metric]))
            loosen = ", ".join(
                f"{c.metric} from {c.bound:g} to {_admitting(c, miss.metrics[c.metric])}"
                for c in broken
            )
            return (
                f"None of {count} pipelines satisfies every constraint; '{worst}' binds most. "
                f"Nearest miss: {miss.configuration}. To admit it, loosen {loosen}; or give a larger budget."
            )
        if count:
            reason, times = Counter(e.message for e in self.evaluations).most_common(1)[0]
            return f"All {count} pipelines failed, {times} of them with: {reason}. Mend `measure` or the space."
        return "No pipeline was measured; give a larger budget."

    @property
    def trajectory(self) -> NDArray[np.float64]:
        """Best feasible objective after each evaluation; infinite before the first."""
        values = [e.objective if e.feasible else np.inf for e in self.evaluations]
        return np.minimum.accumulate(np.array(values, dtype=np.float64))

    @property
    def feasible_fraction(self) -> float:
        """Share of the evaluations that satisfy every constraint."""
        return float(np.mean([e.feasible for e in self.evaluations])) if self.evaluations else 0.0

    @property
    def prices(self) -> Mapping[str, float]:
        """Constraint -> what one unit of its bound is worth in objective, from the last multipliers."""
        return (
            self.iterations[-1].prices
            if self.iterations
            else {str(c): 0.0 for c in self.problem.constraints}
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per evaluation: choices, hyper-parameters, metrics, verdict, time."""
        import pandas as pd

        rows = []
        for e in self.evaluations:
            row: dict[str, object] = {}
            for module, choice in e.configuration.items():
                row[module] = choice.algorithm
                row |= {f"{module}.{choice.algorithm}.{k}": v for k, v in choice.params.items()}
            row |= dict(e.metrics)
            row |= {
                "feasible": e.feasible,
                "violation": e.violation,
                "status": e.status,
                "seconds": e.seconds,
            }
            rows.append(row | {"message": e.message})
        return pd.DataFrame(rows)


def _admitting(constraint: Constraint, value: float) -> str:
    """Write a bound that admits the value: rounded, unless rounding would shut it out again."""
    rounded = f"{value:.6g}"
    return rounded if replace(constraint, bound=float(rounded)).holds(value) else repr(value)

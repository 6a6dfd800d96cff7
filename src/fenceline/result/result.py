"""What a run found: the best feasible evaluation, or a plain word that there is none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.evaluation import Evaluation
from fenceline.problem.objective import named
from fenceline.problem.problem import Problem
from fenceline.result.diagnosis import Diagnosis, Relaxation, diagnose, relaxations

if TYPE_CHECKING:
    import pandas as pd

    from fenceline.result.what_if import WhatIf
    from fenceline.search.iterate import Iterate

Verdict: TypeAlias = Literal["feasible", "infeasible", "failed", "empty"]
Ending: TypeAlias = Literal["evaluations", "seconds", "exhausted", "finished", "interrupted"]
"""Why a run stopped: a budget, no pipeline left, the algorithm's own end, or Ctrl-C."""


@dataclass(frozen=True, repr=False)
class Result:
    """Everything measured in a run, in order, and what follows from it."""

    problem: Problem
    evaluations: Sequence[Evaluation]
    ended: Ending
    seconds: float
    iterations: "Sequence[Iterate]" = ()
    """What the algorithm told of its state: multipliers, residuals, prices; empty if nothing."""
    finished_at: Sequence[float] = field(default=(), repr=False)
    """Seconds after the start at which each evaluation finished."""
    suggest_seconds: Sequence[float] = field(default=(), repr=False)
    """Seconds the algorithm spent before each submission."""

    def __repr__(self) -> str:
        return f"<Result {self.status}: {self.counted} in {self.seconds:.3g} s. {self.message}>"

    @cached_property
    def best(self) -> Evaluation | None:
        """The best feasible evaluation, or None: never a silent substitute."""
        feasible = [e for e in self.evaluations if e.feasible]
        return min(feasible, key=lambda e: e.objective, default=None)

    @cached_property
    def full(self) -> Sequence[Evaluation]:
        """The full measurements, in order: no looks, and nothing that the end of the budget cut short."""
        return tuple(e for e in self.evaluations if not e.look and e.status != "cancelled")

    @property
    def looks(self) -> int:
        """How many cheap looks there were, with a part of the rows."""
        return sum(e.look for e in self.evaluations)

    @cached_property
    def pipelines(self) -> Sequence[Evaluation]:
        """The last full evaluation of each pipeline: what is known of one that was measured repeatedly."""
        return tuple({e.configuration: e for e in self.full}.values())

    @cached_property
    def nearest_miss(self) -> Evaluation | None:
        """The measured pipeline that breaks the constraints least."""
        measured = [e for e in self.pipelines if e.ok]
        return min(measured, key=lambda e: (e.violation, e.objective), default=None)

    @property
    def status(self) -> Verdict:
        """One of feasible, infeasible, failed (no pipeline could be measured), empty (none was tried)."""
        if not self.full:
            return "empty"
        if self.best is not None:
            return "feasible"
        return "infeasible" if self.nearest_miss is not None else "failed"

    @property
    def message(self) -> str:
        """What happened, and what to do about it."""
        best = self.best
        count = len(self.full)
        if best is not None:
            score = named(self.problem.objective)
            value = score.value(best.objective)
            return f"{best.configuration} has {score.name} = {value:.6g} inside the fence."
        if self.diagnosis is not None:
            return (
                f"None of {count} pipelines satisfies every constraint; {self.diagnosis}; "
                "or give a larger budget."
            )
        if count:
            reason, times = Counter(e.message for e in self.full).most_common(1)[0]
            return f"All {count} pipelines failed, {times} of them with: {reason}. Mend `measure` or the space."
        return "No pipeline was measured; give a larger budget."

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What keeps the nearest miss out; None when something feasible was found, or nothing measured."""
        if self.status != "infeasible" or self.nearest_miss is None:
            return None
        return diagnose(self.nearest_miss, self.problem)

    def relaxations(self, most: int = 10) -> "pd.DataFrame":
        """Return what moving the fence would admit, one pipeline a row, least violation first.

        One column per constraint holds the bound it would need, its own where that may stay. Only
        pipelines better than the best feasible one are listed, and of those only such as no other
        beats at no larger violations.
        """
        import pandas as pd

        found = self.moves(most)
        columns = ["pipeline", self.problem.objective, *map(str, self.problem.constraints)]
        rows = [
            (str(r.evaluation.configuration), r.evaluation.objective, *r.bounds.values())
            for r in found
        ]
        return pd.DataFrame(rows, columns=columns)

    def moves(self, most: int = 10) -> list[Relaxation]:
        """Return the same as objects: pipelines at all thresholds that their curves know.

        Of more than so many, some from all distances, the nearest and the farthest among them.
        """
        from fenceline.result.what_if import evaluations_at_thresholds

        found = relaxations(evaluations_at_thresholds(self), self.problem, self.best)
        if len(found) <= most:
            return found
        return [found[i] for i in np.linspace(0, len(found) - 1, most).round().astype(int)]

    def what_if(self, bounds: Mapping[str, float]) -> "WhatIf":
        """Return the best that was measured inside moved bounds; nothing is measured again.

        Parameters
        ----------
        bounds : mapping of str to float
            Constraint or metric -> another bound, such as ``{"false_positive_rate": 0.05}``;
            constraints that are not named stay.
        """
        from fenceline.result.what_if import what_if

        return what_if(self, bounds)

    @property
    def trajectory(self) -> NDArray[np.float64]:
        """Best feasible objective after each evaluation; infinite before the first."""
        values = [e.objective if e.feasible else np.inf for e in self.evaluations]
        return np.minimum.accumulate(np.array(values, dtype=np.float64))

    @property
    def feasible_fraction(self) -> float:
        """Share of the full measurements that satisfy every constraint."""
        return float(np.mean([e.feasible for e in self.full])) if self.full else 0.0

    @property
    def counted(self) -> str:
        """How many evaluations there were, and how many looks, in words."""
        looks = self.looks
        plural = "" if looks == 1 else "s"
        return f"{len(self.full):,} evaluations" + (f" and {looks:,} look{plural}" if looks else "")

    @property
    def prices(self) -> Mapping[str, float]:
        """Constraint -> by how much the objective falls per unit its bound is loosened.

        From the last iterate (ADMM's multipliers, or the slopes of StructuredBO's models), in the user's
        units; 0 for a constraint that does not press.
        """
        return (
            self.iterations[-1].prices
            if self.iterations
            else {str(c): 0.0 for c in self.problem.constraints}
        )

    @property
    def known_prices(self) -> Mapping[str, float]:
        """The prices at the best pipeline; empty if nothing is inside, for then nothing has one."""
        return {} if self.best is None else self.prices

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per evaluation: choices, hyper-parameters, metrics, verdict, time.

        The standard error of a metric over folds is called ``NAME/se``, its value in each
        ``NAME/fold1``, ``NAME/fold2`` ....
        """
        import pandas as pd

        rows = []
        for e in self.evaluations:
            row: dict[str, object] = {}
            for module, choice in e.configuration.items():
                row[module] = choice.algorithm
                row |= {f"{module}.{choice.algorithm}.{k}": v for k, v in choice.params.items()}
            row |= e.columns
            row |= {
                "feasible": e.feasible,
                "violation": e.violation,
                "status": e.status,
                "fidelity": e.fidelity,
                "seconds": e.seconds,
            }
            rows.append(row | {"message": e.message})
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """Show the verdict and the fence in a notebook."""
        from fenceline.result.margins import standings
        from fenceline.result.notebook import card

        shown = self.best or self.nearest_miss
        fence = (
            standings(self.problem.constraints, shown.metrics, shown.errors, self.known_prices)
            if shown
            else ()
        )
        spent = f"{self.counted} in {self.seconds:.0f} s"
        facts = f"{spent}, {self.feasible_fraction:.0%} feasible"
        message = self.message
        if self.best is not None and getattr(self.problem.measure, "delivered_elsewhere", False):
            message += (
                " This is the best by the search; the model's own card shows what was delivered."
            )
        return card(self.status, message, facts, fence)

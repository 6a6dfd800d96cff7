"""What a pipeline's decisions are worth at every threshold: a record, and the threshold to choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.metrics.decisions import Floats
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem

CURVE = "curve"
"""Under which the details of an evaluation have it."""
BALANCE = "balanced_accuracy"
"""What chooses the threshold where the objective only ranks; its values are then in the curve, too."""
Threshold: TypeAlias = float | tuple[float, ...]
"""The log-odds at which decisions change: for everybody, or for each group."""
KEPT = 64
"""How many thresholds a stored curve has at most ..."""
BYTES = 4000
"""... and how many bytes of a journal: a run of a thousand measurements then stays below 4 MB."""
_NUMBER = 9
"""Bytes of a number with four digits, its sign, comma and blank."""


@dataclass(frozen=True)
class ThresholdCurve:
    """Metrics of decisions over thresholds, as cross-validation measured them.

    Parameters
    ----------
    log_odds : array of shape (thresholds,)
        In growing order; decision values for a model without probabilities.
    selected : array of shape (thresholds,)
        The share of rows that is predicted positive.
    values, errors : mapping of str to array
        The value of each metric that depends on decisions, at each threshold, and its standard
        error: by the numbers of rows where it is made of rates, else by the spread over folds.
        NaN where a metric is not defined.
    by_group : array of shape (thresholds, groups), optional
        The log-odds of each group where every group has its own; `log_odds` is then their mean, and
        in no order.
    """

    log_odds: Floats
    selected: Floats
    values: Mapping[str, Floats]
    errors: Mapping[str, Floats]
    by_group: Floats | None = None

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> "ThresholdCurve | None":
        """Return the curve among the details of an evaluation, if there is one."""
        found = details.get(CURVE)
        return None if found is None else cls.from_dict(found)

    def threshold(self, at: int) -> Threshold:
        """Return where decisions change at a position of the curve: one threshold, or one for each group."""
        if self.by_group is None:
            return float(self.log_odds[at])
        return tuple(self.by_group[at].tolist())

    def merit(self, objective: str) -> Floats:
        """Return what is to be as small as possible: the objective, or the balanced error if it only ranks."""
        if objective in self.values:
            return self.values[objective]
        return np.asarray(1.0 - self.values[BALANCE])

    def violations(self, constraints: Sequence[Constraint], room: float = 0.0) -> Floats:
        """Return the sum of scaled violations at each threshold; infinite where a metric is not defined.

        Parameters
        ----------
        constraints : sequence of Constraint
            Those on other metrics do not depend on the threshold, and are left out.
        room : float
            How many standard errors inside each bound a value has to keep; negative to let values
            miss their bounds by as much.
        """
        total = np.zeros(len(self.log_odds))
        for c in constraints:
            if c.metric not in self.values:
                continue
            excess = c.sign * (self.values[c.metric] - c.bound)
            excess = np.abs(excess) - c.tolerance if c.equality else excess
            if room:
                excess = excess + room * np.nan_to_num(self.errors[c.metric])
            total += np.maximum(0.0, np.nan_to_num(excess / c.scale, nan=np.inf))
        return total

    def choose(self, objective: str, constraints: Sequence[Constraint], room: float = 0.0) -> int:
        """Return the position of the best threshold inside the fence, else of the one that misses least.

        One at which everybody or nobody is chosen decides nothing, and is taken only if it alone
        is inside.
        """
        violation, merit = self.violations(constraints, room), self.merit(objective)
        useless = (self.selected <= 0.0) | (self.selected >= 1.0)
        undefined = np.isnan(merit)
        # The last key counts first: inside, then useful, then by the least miss, then by merit.
        miss = np.where(violation > 0, violation, 0.0)
        order = np.lexsort((np.nan_to_num(merit, nan=np.inf), miss, useless, miss > 0, undefined))
        return int(order[0])

    def thinned(self, keep: int) -> "ThresholdCurve":
        """Return the curve as it is stored: fewer thresholds, one of them and even odds kept for sure.

        Half of what is stored lies next to the one that is kept, for a certificate goes on from there in
        small steps; the other half spans all.
        """
        names = sum(len(name.encode()) + 6 for name in (*self.values, *self.errors))
        columns = 2 + len(self.values) + len(self.errors)
        columns += 0 if self.by_group is None else self.by_group.shape[1]
        most = int(np.clip((BYTES - 100 - names) // (_NUMBER * columns), 3, KEPT))
        size = len(self.log_odds)
        if size <= most:
            return self
        even = int(np.argmin(np.abs(self.log_odds)))
        near = np.arange(max(0, keep - most // 4), min(size, keep + most // 4 + 1))
        near = np.union1d(near, [even])
        others = np.setdiff1d(np.arange(size), near)
        spread = np.linspace(0, len(others) - 1, max(0, most - len(near))).round().astype(int)
        return self._take(np.union1d(others[spread], near))

    def _take(self, at: NDArray[np.intp]) -> "ThresholdCurve":
        return ThresholdCurve(
            self.log_odds[at],
            self.selected[at],
            {name: values[at] for name, values in self.values.items()},
            {name: errors[at] for name, errors in self.errors.items()},
            None if self.by_group is None else self.by_group[at],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in JSON's types, with four digits; what is not defined is null."""
        groups = {} if self.by_group is None else {"by_group": list(map(_written, self.by_group))}
        return groups | {
            "log_odds": _written(self.log_odds),
            "selected": _written(self.selected),
            "values": {name: _written(values) for name, values in self.values.items()},
            "errors": {name: _written(errors, 3) for name, errors in self.errors.items()},
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "ThresholdCurve":
        """Return the curve that :meth:`to_dict` wrote."""
        return cls(
            _read(found["log_odds"]),
            _read(found["selected"]),
            {name: _read(values) for name, values in found["values"].items()},
            {name: _read(errors) for name, errors in found["errors"].items()},
            np.array([_read(row) for row in found["by_group"]]) if "by_group" in found else None,
        )


def without_fence(evaluation: Evaluation, problem: Problem) -> Evaluation:
    """Return an evaluation as it would have been without constraints: at the best threshold of its curve."""
    curve = ThresholdCurve.of(evaluation.details)
    if curve is None:
        return evaluation
    at = curve.choose(problem.objective, ())
    values = {name: float(values[at]) for name, values in curve.values.items()}
    metrics = {n: values.get(n, value) for n, value in evaluation.metrics.items()}
    return replace(
        evaluation,
        metrics=metrics,
        objective=metrics[problem.objective],
        violation=problem.violation(metrics, evaluation.errors),
    )


def _written(numbers: Floats, digits: int = 4) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in numbers]


def _read(numbers: Sequence[float | None]) -> Floats:
    return np.array([np.nan if x is None else x for x in numbers], dtype=np.float64)

"""What if the bounds were others: the best that was measured inside a moved fence, without measuring again.

A measurement of decisions is a curve over thresholds, so one pipeline is many options. Of all options
only those can ever be the answer that no other beats in everything; a report holds just these.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import ConstraintError, suggestion
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation

if TYPE_CHECKING:
    from fenceline.result.result import Result

Floats = NDArray[np.float64]

DIGITS = 6
"""Of all values that are compared, here and in a page: so both give the same answer."""
MOST_OPTIONS = 4000
"""Kept at most, about 200 kB of a page; of more, every second or third is left out."""
_CURVE, _BALANCE, _THRESHOLD = "curve", "balanced_accuracy", "threshold"
_BLOCK = 512
"""Options that are compared with each other at once: a megabyte of comparisons."""


@dataclass(frozen=True, slots=True)
class Options:
    """Pipelines at thresholds, the best first: arrays with a row for each."""

    constraints: tuple[Constraint, ...]
    at: NDArray[np.intp]
    """The position of the evaluation in ``result.full``."""
    log_odds: Floats
    """The threshold; NaN where none was computed."""
    objective: Floats
    values: Floats
    """One column for each constraint, moved by the margin that its error asks for."""

    def inside(self, bounds: Sequence[float]) -> NDArray[np.bool_]:
        """Tell for each constraint (column) whether an option (row) keeps to a bound."""
        columns = [
            np.abs(v - bound) <= c.tolerance if c.equality else c.sign * (v - bound) <= 0
            for c, v, bound in zip(self.constraints, self.values.T, bounds, strict=True)
        ]
        return np.array(columns, dtype=bool).reshape(len(columns), len(self.at)).T

    def first(self, inside: NDArray[np.bool_]) -> int | None:
        """Return the best option that keeps to all of some constraints (columns)."""
        found = np.flatnonzero(np.all(inside, axis=1))
        return int(found[0]) if found.size else None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The best measured pipeline inside moved bounds."""

    bounds: Mapping[str, float]
    """Constraint -> the bound that was asked about."""
    evaluation: Evaluation | None
    """None if nothing that was measured is inside."""
    log_odds: float | None
    """The threshold it would decide at, where one was computed."""
    objective: float | None
    """Smaller is better."""
    metrics: Mapping[str, float]
    """The constrained metrics at that threshold."""
    costs: Mapping[str, float]
    """Constraint -> by how much the objective would fall without it; infinite where it alone keeps all out."""

    @property
    def pressing(self) -> str | None:
        """The constraint that costs most; None if none costs anything."""
        most = max(self.costs, key=lambda c: self.costs[c], default=None)
        return most if most is not None and self.costs[most] > 0 else None


def what_if(result: "Result", bounds: Mapping[str, float]) -> WhatIf:
    """Return the best that was measured inside moved bounds.

    Parameters
    ----------
    result : Result
        Of a search.
    bounds : mapping of str to float
        Constraint or metric -> another bound; constraints that are not named stay.
    """
    options = measured_options(result)
    moved = _moved(options.constraints, bounds)
    inside = options.inside(list(moved.values()))
    best = options.first(inside)
    value = math.inf if best is None else float(options.objective[best])
    costs = {}
    for k, text in enumerate(moved):
        other = options.first(np.delete(inside, k, axis=1))
        costs[text] = 0.0 if other is None else value - float(options.objective[other])
    if best is None:
        return WhatIf(moved, None, None, None, {}, costs)
    evaluation = result.full[int(options.at[best])]
    log_odds = float(options.log_odds[best])
    named = zip(options.constraints, options.values[best].tolist(), strict=True)
    return WhatIf(
        moved,
        evaluation,
        None if math.isnan(log_odds) else log_odds,
        value,
        {c.metric: v for c, v in named},
        costs,
    )


def evaluations_at_thresholds(result: "Result") -> list[Evaluation]:
    """Return every option as the evaluation that it would have been, had its threshold been chosen."""
    options, problem = measured_options(result), result.problem
    found = []
    rows = zip(options.at, options.log_odds, options.objective, options.values, strict=True)
    for at, log_odds, objective, values in rows:
        e = result.full[at]
        swept = e.details.get(_CURVE, {}).get("values", {})
        if math.isclose(log_odds, e.metrics.get(_THRESHOLD, math.nan), rel_tol=1e-4) or not swept:
            found.append(e)
            continue
        moved = {c.metric: float(v) for c, v in zip(options.constraints, values, strict=True)}
        moved = {name: v for name, v in moved.items() if name in swept}
        metrics = {**e.metrics, **moved, _THRESHOLD: float(log_odds)}
        if problem.objective in swept:
            metrics[problem.objective] = float(objective)
        value = metrics[problem.objective]
        violation = problem.violation(metrics, e.errors)
        found.append(replace(e, metrics=metrics, objective=value, violation=violation))
    return found


def measured_options(result: "Result") -> Options:
    """Return every pipeline and threshold that may be the best inside some fence, the best first."""
    constraints = tuple(result.problem.constraints)
    # What was measured again is known by its last measurement.
    last = {e.configuration: i for i, e in enumerate(result.full) if e.ok}
    blocks = [
        _options_of(result.full[i], i, result.problem.objective, constraints) for i in last.values()
    ]
    width = 4 + len(constraints)
    table = np.concatenate([np.empty((0, width)), *blocks])
    table = _shortened(table[~np.isnan(np.delete(table, 1, axis=1)).any(axis=1)])
    # At, threshold, objective, merit, values: the best first, and the merit decides between equals.
    table = table[np.lexsort((table[:, 0], table[:, 3], table[:, 2]))]
    table = table[_undominated(table, constraints)]
    if len(table) > MOST_OPTIONS:
        table = table[np.linspace(0, len(table) - 1, MOST_OPTIONS).round().astype(int)]
    return Options(constraints, table[:, 0].astype(np.intp), table[:, 1], table[:, 2], table[:, 4:])


def _options_of(
    e: Evaluation, at: int, objective: str, constraints: Sequence[Constraint]
) -> Floats:
    """Return the rows of one pipeline: as it was measured, and at the thresholds of its curve."""
    margins = [c.sign * c.margin(e.errors.get(c.metric, 0.0)) for c in constraints]
    own = [e.metrics[c.metric] + m for c, m in zip(constraints, margins, strict=True)]
    threshold = e.metrics.get(_THRESHOLD, math.nan)
    curve = _numbers(e.details.get(_CURVE))
    if curve is None:
        return np.array([[at, threshold, e.objective, 0.0, *own]])
    log_odds, selected, values = curve
    size = len(log_odds)
    objectives, merits = values.get(objective), np.zeros(size)
    if objectives is None:
        objectives, merits = np.full(size, e.objective), 1.0 - values[_BALANCE]
    columns = [
        values[c.metric] if c.metric in values else np.full(size, v)
        for c, v in zip(constraints, own, strict=True)
    ]
    rows = np.column_stack([np.full(size, float(at)), log_odds, objectives, merits, *columns])
    # Where everybody or nobody is chosen, nothing is decided.
    rows = rows[(selected > 0) & (selected < 1)]
    merit = (
        float(merits[np.nanargmin(np.abs(log_odds - threshold))])
        if not math.isnan(threshold)
        else 0.0
    )
    return np.vstack([np.array([[at, threshold, e.objective, merit, *own]]), rows])


def _numbers(curve: Any) -> tuple[Floats, Floats, dict[str, Floats]] | None:
    """Read a stored curve: thresholds, shares that are chosen, and metrics; what is not defined is NaN."""
    if not isinstance(curve, Mapping):
        return None
    read = {n: np.array(curve[n], dtype=np.float64) for n in ("log_odds", "selected")}
    values = {n: np.array(v, dtype=np.float64) for n, v in curve["values"].items()}
    return read["log_odds"], read["selected"], values


def _shortened(table: Floats) -> Floats:
    """Round to the digits that a page holds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(table)))
    unit = np.where(np.isfinite(power), 10.0 ** (DIGITS - 1 - power), 1.0)
    return np.asarray(np.where(np.isfinite(power), np.round(table * unit) / unit, table))


def _undominated(table: Floats, constraints: Sequence[Constraint]) -> NDArray[np.intp]:
    """Return the rows that no earlier row beats: as good, and as far inside every constraint."""
    sides = []
    for c, values in zip(constraints, table[:, 4:].T, strict=True):
        sides += [values, -values] if c.equality else [c.sign * values]
    points = np.column_stack([np.zeros(len(table)), *sides])
    kept = np.empty(0, dtype=np.intp)
    for start in range(0, len(points), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(points)))
        block = block[~_beaten(points[block], points[kept])]
        # Within the block an earlier row may beat a later one.
        earlier = np.tril(np.ones((len(block), len(block)), dtype=bool), -1)
        below = _at_most(points[block], points[block]) & earlier
        kept = np.concatenate([kept, block[~np.any(below, axis=1)]])
    return kept


def _beaten(points: Floats, others: Floats) -> NDArray[np.bool_]:
    if not len(others):
        return np.zeros(len(points), dtype=bool)
    return np.asarray(np.any(_at_most(others, points), axis=1))


def _at_most(others: Floats, points: Floats) -> NDArray[np.bool_]:
    """Tell for each point (row) which others (column) exceed it nowhere."""
    return np.asarray(np.all(others[None] <= points[:, None], axis=-1))


def _moved(constraints: Sequence[Constraint], bounds: Mapping[str, float]) -> dict[str, float]:
    """Return the bound of every constraint, moved or not."""
    named = {str(c): c for c in constraints}
    for c in constraints:
        if sum(c.metric == other.metric for other in constraints) == 1:
            named[c.metric] = c
    moved = {str(c): c.bound for c in constraints}
    for name, bound in bounds.items():
        if name not in named:
            raise ConstraintError(f"There is no constraint {name!r}.{suggestion(name, named)}")
        if not isinstance(bound, int | float) or not math.isfinite(bound):
            raise ConstraintError(f"The bound of {name!r} must be a finite number. Got {bound!r}.")
        moved[str(named[name])] = float(bound)
    return moved

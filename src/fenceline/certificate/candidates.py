"""What may be tested on unseen rows: pipelines and thresholds inside the fence, with the room they have.

Room is counted in standard errors that a metric is likely to have on the unseen rows, which are
known from the rows of the search: from the folds, or along the curve of thresholds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy import stats

from fenceline.certificate.bounds import LATENCY_FREEDOM
from fenceline.certificate.sequence import Option
from fenceline.metrics.metric import PipelineMetric
from fenceline.pipelines.ensemble import Candidate
from fenceline.pipelines.fold_readings import THRESHOLD
from fenceline.problem.problem import Problem

Growth: TypeAlias = Mapping[str, float]
"""By the name of a resource, how many times its value in the folds a pipeline needs once it is fitted on all rows."""


@dataclass(frozen=True)
class Rooms:
    """How far candidates keep from the fence, in standard errors on unseen rows.

    Parameters
    ----------
    problem : Problem
        The fence.
    metrics : mapping of str to PipelineMetric
        What the constraints name.
    rows : pair of int
        Of the search, and unseen ones.
    risk : float
        Of one test.
    typical : mapping of str to float
        The median error of each metric among all pipelines: that of a few folds is rough, and by
        luck too small.
    growth : mapping of str to float
        How much time, size or memory grows when a pipeline is fitted on all rows.
    """

    problem: Problem
    metrics: Mapping[str, PipelineMetric]
    rows: tuple[int, int]
    risk: float
    typical: Mapping[str, float]
    growth: Growth = field(default_factory=dict)

    @property
    def reach(self) -> float:
        """Standard errors between a value and its bound."""
        return float(stats.norm.ppf(1 - self.risk))

    def of(
        self,
        candidate: Candidate,
        metrics: Mapping[str, float] | None = None,
        known: Mapping[str, float] | None = None,
    ) -> float:
        """Return the room at the nearest bound; negative outside.

        Parameters
        ----------
        candidate : Candidate
            As cross-validation measured it.
        metrics : mapping of str to float, optional
            What it is at another threshold.
        known : mapping of str to float, optional
            Errors that are known better than from the folds.
        """
        metrics, known = metrics or candidate.metrics, known or {}
        rooms = [math.inf]
        for constraint in self.problem.constraints:
            name = constraint.metric
            inside = constraint.room(self.growth.get(name, 1.0) * metrics[name])
            error = known.get(name, math.nan)
            if math.isnan(error):
                # A weak model's error is larger than the typical one.
                error = max(self.typical[name], candidate.error(name) or 0.0)
            error *= self._wider(name)
            if math.isnan(inside) or (inside < 0 and not error > 0):
                return -math.inf
            if error > 0:
                rooms.append(inside / error)
        return min(rooms)

    def _wider(self, name: str) -> float:
        """Return how many times the error of the folds that on unseen rows is."""
        if self.metrics[name].resource:
            # The clock's error does not depend on rows; few stretches of time make it uncertain.
            return float(stats.t.ppf(1 - self.risk, LATENCY_FREEDOM)) / self.reach
        searched, unseen = self.rows
        # What a control will leave of it is not known before a test, and a start is to be safe.
        return math.sqrt(searched / unseen) if unseen else 1.0


def options(candidate: Candidate, rooms: Rooms, most_folds: float = 1.0) -> list[Option]:
    """Return a pipeline at its own threshold, and at others where their curve is known.

    Parameters
    ----------
    candidate : Candidate
        As cross-validation measured it.
    rooms : Rooms
        The fence.
    most_folds : float
        How many folds pipelines are measured on. What was stopped earlier is known that much less.
    """
    objective, metrics = rooms.problem.objective, candidate.metrics
    known = math.sqrt(min(1.0, (candidate.folds or most_folds) / most_folds))
    curve = candidate.curve
    if curve is None:
        return [Option(candidate, metrics[objective], known * rooms.of(candidate), metrics)]
    merits = np.zeros(len(curve.log_odds))
    if objective not in curve.values:
        merits = curve.merit(objective)
    found = []
    # Where everybody or nobody is chosen, nothing is decided; where a metric is undefined, nothing is known.
    decides = (curve.selected > 0) & (curve.selected < 1) & ~np.isnan(merits)
    for i in np.flatnonzero(decides).tolist():
        log_odds = curve.threshold(i)
        values = {**metrics, **{name: float(v[i]) for name, v in curve.values.items()}}
        values[THRESHOLD] = float(curve.log_odds[i])
        if candidate.decision is not None and np.allclose(
            log_odds, candidate.decision, rtol=1e-3, atol=0.0
        ):
            # A curve is stored with four digits; the threshold of the measurement itself has all.
            values, log_odds = dict(metrics), candidate.decision
        errors = {name: float(e[i]) for name, e in curve.errors.items()}
        room = known * rooms.of(candidate, values, errors)
        if not math.isnan(values[objective]):
            share = None if curve.by_group is not None else float(curve.selected[i])
            worth = values[objective], float(merits[i])
            found.append(
                Option(candidate, worth[0], room, values, log_odds, worth[1], selected=share)
            )
    return found


def typical_errors(problem: Problem, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return the median error of each constrained metric; 0 where none is known."""
    typical = {}
    for constraint in problem.constraints:
        errors = [candidate.error(constraint.metric) for candidate in candidates]
        known = [error for error in errors if error is not None]
        typical[constraint.metric] = float(np.median(known)) if known else 0.0
    return typical

"""What may be tested on unseen rows: pipelines and thresholds inside the fence, and how likely they are to pass.

Both come from the rows of the search alone: values and standard errors from the folds, or along the
curve of thresholds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from fenceline.certificate.bounds import LATENCY_FREEDOM
from fenceline.certificate.controls import error_left
from fenceline.certificate.parts import of_shares
from fenceline.certificate.sequence import Option
from fenceline.metrics.metric import PipelineMetric
from fenceline.pipelines.ensemble import Candidate
from fenceline.pipelines.fold_readings import THRESHOLD
from fenceline.problem.constraint import Constraint
from fenceline.problem.problem import Problem

Growth: TypeAlias = Mapping[str, float]
"""By the name of a resource, how many times its value in the folds a pipeline needs once it is fitted on all rows."""


HARDLY = 1e-9
"""A chance below which options are not told apart."""


class Room(NamedTuple):
    """How far inside the fence a candidate is thought to be."""

    errors: float
    """The distance to the nearest bound, in standard errors on unseen rows; negative outside."""
    assurance: float
    """The normal score of the chance that every constraint passes its test: 0 is as likely as not."""


@dataclass(frozen=True)
class Rooms:
    """How far candidates keep from the fence, and how likely they are to pass a test on unseen rows.

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
    controlled : bool
        Whether controls take luck out of the tests.
    """

    problem: Problem
    metrics: Mapping[str, PipelineMetric]
    rows: tuple[int, int]
    risk: float
    typical: Mapping[str, float]
    growth: Growth = field(default_factory=dict)
    controlled: bool = False

    @cached_property
    def reach(self) -> float:
        """Standard errors between a value and its bound."""
        return float(stats.norm.ppf(1 - self.risk))

    def of(
        self,
        candidate: Candidate,
        metrics: Mapping[str, float] | None = None,
        known: Mapping[str, float] | None = None,
        doubt: float = 1.0,
    ) -> Room:
        """Return the room that a candidate has.

        Parameters
        ----------
        candidate : Candidate
            As cross-validation measured it.
        metrics : mapping of str to float, optional
            What it is at another threshold.
        known : mapping of str to float, optional
            Errors that are known better than from the folds.
        doubt : float
            How many times these errors its own are, for it was measured on fewer folds.
        """
        metrics, known = metrics or candidate.metrics, known or {}
        rooms, passes = [math.inf], 0.0
        for constraint in self.problem.constraints:
            name = constraint.metric
            value = self.growth.get(name, 1.0) * metrics[name]
            inside = constraint.room(value)
            error = known.get(name, math.nan)
            if math.isnan(error):
                error = candidate.error(name) or 0.0
                if not error or not self._told_by_rows(name):
                    # A weak model's error is larger than the typical one.
                    error = max(self.typical[name], error)
            if math.isnan(inside) or (inside < 0 and not error > 0):
                return Room(-math.inf, -math.inf)
            if error > 0:
                error *= doubt
                rooms.append(inside / (self._wider(name) * error))
                passes += math.log1p(-self._fails(constraint, value, error))
        fails = min(-math.expm1(passes), 1 - HARDLY)
        return Room(min(rooms), -float(ndtri(fails)))

    def _fails(self, constraint: Constraint, value: float, error: float) -> float:
        """Return the chance that a constraint fails its test.

        The truth lies about the folds' value with their error, what unseen rows say about the truth with
        theirs. A difference of groups may become too large on either side: one that is zero by the folds
        fails twice as often as its distance to the bound says. (Of some 150,000 tests of real pipelines at
        the thresholds of 50 searches .40, .63 and .87 passed where this said .45, .65 and .85: decision 38.)
        """
        metric = self.metrics[constraint.metric]
        test = error * self._wider(constraint.metric)
        if self.controlled and of_shares(metric):
            test *= error_left(*self.rows)
        spread = math.hypot(error, test)
        near = (constraint.room(value) - self.reach * test) / spread
        fails = float(ndtr(-near))
        if (middle := _middle(constraint, metric)) is not None:
            fails += float(ndtr(-near - 2 * abs(value - middle) / spread))
        return min(fails, 1 - HARDLY)

    @cached_property
    def _clock_reach(self) -> float:
        return float(stats.t.ppf(1 - self.risk, LATENCY_FREEDOM))

    def _told_by_rows(self, name: str) -> bool:
        """Tell whether an error comes from numbers of rows: three folds alone say next to nothing of it."""
        metric = self.metrics[name]
        ranked = metric.scored_by == "roc_auc" and not metric.groupings
        return self.controlled and of_shares(metric) and not ranked

    def _wider(self, name: str) -> float:
        """Return how many times the error of the folds that on unseen rows is."""
        if self.metrics[name].resource:
            # The clock's error does not depend on rows; few stretches of time make it uncertain.
            return self._clock_reach / self.reach
        searched, unseen = self.rows
        return math.sqrt(searched / unseen) if unseen else 1.0


def _middle(constraint: Constraint, metric: PipelineMetric) -> float | None:
    """Return the value about which a metric may be wrong on either side; None where one side is all there is.

    Of two groups either may be the one that a difference, or a ratio, is in favour of.
    """
    if constraint.equality:
        return constraint.bound
    if metric.contrast == "gap" and constraint.has_ceiling:
        return 0.0
    return 1.0 if metric.contrast == "ratio" and constraint.has_floor else None


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
    doubt = math.sqrt(max(1.0, most_folds / (candidate.folds or most_folds)))
    curve = candidate.curve
    if curve is None:
        room = rooms.of(candidate, doubt=doubt)
        return [
            Option(candidate, metrics[objective], room.errors, metrics, assurance=room.assurance)
        ]
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
        room = rooms.of(candidate, values, errors, doubt)
        if not math.isnan(values[objective]):
            share = None if curve.by_group is not None else float(curve.selected[i])
            worth = values[objective], float(merits[i])
            found.append(
                Option(
                    candidate,
                    worth[0],
                    room.errors,
                    values,
                    log_odds,
                    worth[1],
                    selected=share,
                    assurance=room.assurance,
                )
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

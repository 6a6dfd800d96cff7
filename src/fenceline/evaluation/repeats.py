"""Measurements with a standard error: when noise alone keeps a pipeline out, and how two become one."""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem

MOST_AGAIN = 3
"""How often a pipeline may be measured again: four measurements halve its error."""
SHARE = 0.1
"""Of all measurements, how many may be such."""


class Doubts:
    """Which pipelines are worth another measurement: noise alone keeps them from being the best."""

    def __init__(self, problem: Problem) -> None:
        self.times: Counter[Configuration] = Counter()
        """How often each configuration was measured."""
        self._problem = problem
        self._open: dict[Configuration, Evaluation] = {}
        self._fixed: set[str] = set()

    def file(self, evaluation: Evaluation) -> None:
        """Take in a measurement, pooled with those of the same pipeline before it."""
        configuration = evaluation.configuration
        self.times[configuration] += 1
        earlier = self._open.pop(configuration, None)
        if earlier is not None and evaluation.ok:
            self._fixed |= {n for n in earlier.errors if _same(n, earlier, evaluation)}
        if evaluation.errors and undecided(self._problem, evaluation):
            self._open[configuration] = evaluation

    def greatest(
        self, best: Evaluation | None, pending: Collection[Configuration]
    ) -> Configuration | None:
        """Return the pipeline to be measured again: the best one that may be, if any may.

        It depends on nothing but what has happened, so that a run that is replayed repeats it.
        """
        if not self._open:
            return None
        repeats = self.times.total() - len(self.times) + sum(c in self.times for c in pending)
        if repeats + 1 > SHARE * (self.times.total() + len(pending)):
            return None
        beaten = math.inf if best is None else best.objective
        worth = [
            (e.objective, c)
            for c, e in self._open.items()
            if e.objective < beaten
            and self.times[c] <= MOST_AGAIN
            and c not in pending
            and undecided(self._problem, e, self._fixed)
        ]
        return min(worth, key=lambda pair: pair[0])[1] if worth else None


def undecided(problem: Problem, evaluation: Evaluation, fixed: Collection[str] = ()) -> bool:
    """Tell whether a pipeline is outside the fence only because of its standard errors.

    Every constraint that does not hold with the required confidence must be one that is not
    surely broken either: its value lies within the margin of the bound, on either side of it.
    And its metric must not be a fixed one, which another measurement would not change.
    """
    if not evaluation.ok or evaluation.feasible:
        return False
    for constraint in problem.constraints:
        value = evaluation.metrics[constraint.metric]
        error = evaluation.errors.get(constraint.metric, 0.0)
        missed = constraint.violation(value) * constraint.scale
        if constraint.holds(value, error):
            continue
        if missed > constraint.margin(error) or constraint.metric in fixed:
            return False
    return True


def pooled(problem: Problem, earlier: Evaluation, later: Evaluation) -> Evaluation:
    """Return what two measurements of a pipeline say together, weighted by the inverse variances.

    A metric without an error is exact, and the later value stands; so does a measurement that
    failed. A value that comes again to the last bit is no second opinion (the same folds, say),
    and its error stays.
    """
    if not (earlier.ok and later.ok):
        return later
    metrics, errors = dict(later.metrics), dict(later.errors)
    for name, error in later.errors.items():
        before = earlier.errors.get(name, 0.0)
        both = math.hypot(before, error)
        if before > 0.0 and error > 0.0 and not _same(name, earlier, later):
            weight = (before / both) ** 2
            metrics[name] = weight * later.metrics[name] + (1.0 - weight) * earlier.metrics[name]
            errors[name] = before / both * error
    return replace(
        later,
        metrics=metrics,
        errors=errors,
        objective=metrics[problem.objective],
        violation=problem.violation(metrics, errors),
    )


def _same(name: str, earlier: Evaluation, later: Evaluation) -> bool:
    return earlier.metrics[name] == later.metrics.get(name)

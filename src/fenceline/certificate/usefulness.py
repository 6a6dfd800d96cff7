"""What is worth certifying: better than what says the same of every row, and not at any price.

A model that decides alike for everybody has no gap between groups and is fast; it is inside most
fences, and of no use to anybody.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor

from fenceline.certificate.sequence import Option
from fenceline.metrics.trial import Table, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.problem.problem import Problem

KEPT = 1 / 3
"""How much of what the best inside the fence gains over a dummy certainty may not cost.

A nearest neighbour with a balanced accuracy of 0.51 was certified where 0.68 was to be had."""
CHANCE = 0.5
"""How often the best of many pipelines at its best threshold may seem better than a dummy where nothing can be learnt.

Balanced accuracy with 15 evaluations of 400 rows, 16 tables each: pure noise passed on all with one error to
spare, on 7 with .5, 6 with .2, 5 with .05; a weak signal (AUROC .6) was refused on 2, 4 and 7."""


def useful(options: Sequence[Option], problem: Problem, dummy: float) -> list[Option]:
    """Return the options that are worth certifying, with what they gain.

    Parameters
    ----------
    options : sequence of Option
        Inside the fence.
    problem : Problem
        The objective.
    dummy : float
        The objective of the best dummy inside the fence; infinite if none is.
    """
    # A dummy's balanced accuracy is one half.
    least = _kept(min((option.merit for option in options), default=0.5), 0.5)
    options = [option for option in options if option.merit <= least]
    if not options:
        return []
    if math.isinf(dummy):
        # Nothing to compare with but each other: say that the best gains twice what the weakest does.
        losses = [option.objective for option in options]
        return _with_gains(options, 2 * max(losses) - min(losses))
    enough = _kept(min(option.objective for option in options), dummy)
    best = min(options, key=lambda option: option.objective)
    if best.objective + _luck(options) * _error(best, problem) >= dummy:
        return []
    found = [
        option
        for option in options
        if option.objective <= enough and option.objective + _error(option, problem) < dummy
    ]
    return _with_gains(found, dummy)


def _luck(options: Sequence[Option]) -> float:
    """Return how many errors the best of some pipelines may be ahead by chance alone.

    A normal score without meaning is k errors ahead with a probability of at most exp(-k**2 / 2), and so is,
    at even rates, the balanced accuracy of its best threshold (Kolmogorov and Smirnov).
    """
    return math.sqrt(2 * math.log(len({option.pipeline for option in options}) / CHANCE))


def _error(option: Option, problem: Problem) -> float:
    return option.candidate.error(problem.objective) or 0.0


def _with_gains(options: Sequence[Option], dummy: float) -> list[Option]:
    """Return options that know what they gain: by the objective, or where it only ranks by what decides."""
    return [
        replace(o, gain=0.5 - o.merit if o.merit else max(0.0, dummy - o.objective))
        for o in options
    ]


def _kept(best: float, dummy: float) -> float:
    """Return what is just good enough."""
    return dummy - KEPT * max(0.0, dummy - best)


def dummy_objective(measure: CrossValidation, problem: Problem) -> float:
    """Return the best objective of what answers without looking, if it is inside the fence.

    Parameters
    ----------
    measure : CrossValidation
        By whose folds pipelines are measured.
    problem : Problem
        The objective and the fence.
    """
    best = math.inf
    for dummy in _dummies(measure.table):
        # A metric that fails for a dummy says that it is no rival.
        with contextlib.suppress(Exception):
            metrics = problem.check(_measured(measure, dummy))
            if problem.violation(metrics) == 0.0:
                best = min(best, metrics[problem.objective])
    return best


def _dummies(table: Table) -> Iterator[DummyClassifier | DummyRegressor]:
    if table.task == "regression":
        yield from (DummyRegressor(strategy="mean"), DummyRegressor(strategy="median"))
        return
    yield DummyClassifier(strategy="prior")
    if table.task == "binary":
        yield from (DummyClassifier(strategy="constant", constant=c) for c in table.classes)


def _measured(
    measure: CrossValidation, dummy: DummyClassifier | DummyRegressor
) -> Mapping[str, float]:
    trials = []
    for train, valid in measure.splits:
        table = measure.table
        weights = None if table.weights is None else table.weights[train]
        fitted = clone(dummy).fit(np.zeros((len(train), 1)), table.y[train], sample_weight=weights)
        trials.append(Trial(fitted, table, valid, 0.0))
    values = {}
    for name, metric in measure.metrics.items():
        read = trials[:1] if metric.resource else trials
        values[name] = metric.combine(np.mean([metric.read(t).parts for t in read], axis=0))
    return values

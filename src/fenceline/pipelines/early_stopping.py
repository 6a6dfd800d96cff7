"""When a measurement may stop before its last fold: what it would still show changes nothing."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from fenceline.evaluation.incumbent import Incumbent
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.problem.constraint import Constraint

SURE_ERRORS = 3.0
"""A constraint is surely broken when the value lies this many standard errors beyond its bound ..."""
SURE_SCALES = 0.1
"""... and this many of its scales, for one fold is not quite like the next."""
SURE_CONFIDENCE = 0.99
"""That a pipeline is worse than the incumbent, before its last folds are left out; by SURE_SCALES at least."""


def surely_broken(
    constraints: Sequence[Constraint],
    metrics: Mapping[str, PipelineMetric],
    readings: Mapping[str, Reading],
) -> bool:
    """Tell whether one fold shows that a bound on time, size or memory does not hold."""
    for constraint in constraints:
        metric = metrics[constraint.metric]
        if not metric.resource or constraint.equality:
            continue
        reading = readings[constraint.metric]
        error = 0.0 if math.isnan(reading.error) else reading.error
        excess = constraint.excess(metric.combine(reading.parts)) - SURE_ERRORS * error
        if excess > SURE_SCALES * constraint.scale:
            return True
    return False


def surely_beaten(
    metric: PipelineMetric, readings: Sequence[Reading], incumbent: Incumbent
) -> bool:
    """Tell whether the first folds show that a pipeline does not beat the incumbent.

    Folds are compared one by one, for a hard fold is hard for all. One difference does not tell
    how much differences vary: the folds of the incumbent itself stand in for it, and Student's
    quantile allows for how few they are.

    Parameters
    ----------
    metric : PipelineMetric
        What is minimised.
    readings : sequence of Reading
        Of the folds so far.
    incumbent : Incumbent
        Measured on the same folds, in the same order, and on all of them.
    """
    best = incumbent.metrics[incumbent.objective]
    # What a stopped pipeline shows must not look better than the incumbent: it would replace it.
    if metric.combine(np.mean([r.parts for r in readings], axis=0)) <= best:
        return False
    known = len(readings)
    folds = int(incumbent.metrics.get("folds", 0))
    rival = [incumbent.metrics.get(f"{incumbent.objective}/fold{i + 1}") for i in range(folds)]
    if known >= folds or None in rival:
        return False
    theirs = np.array(rival, dtype=np.float64)
    worse = np.array([metric.combine(r.parts) for r in readings]) - theirs[:known]
    spread = np.std(theirs, ddof=1)
    if known > 1:
        spread = max(spread, np.std(worse, ddof=1))
    margin = stats.t.ppf(SURE_CONFIDENCE, folds - 1) * spread / math.sqrt(known)
    return bool(worse.mean() - margin > SURE_SCALES * abs(best))


def farther_inside(
    constraints: Sequence[Constraint],
    metrics: Mapping[str, PipelineMetric],
    readings: Sequence[Mapping[str, Reading]],
    incumbent: Incumbent,
) -> bool:
    """Tell whether a pipeline keeps farther inside a bound on a score than the incumbent, in the same folds.

    Then it may be certified where the better one is not, and is worth all its folds.
    """
    for constraint in constraints:
        name = constraint.metric
        theirs = [incumbent.metrics.get(f"{name}/fold{i}") for i in range(1, len(readings) + 1)]
        if metrics[name].resource or None in theirs:
            continue
        ours = [metrics[name].combine(fold[name].parts) for fold in readings]
        if constraint.room(float(np.mean(ours))) > constraint.room(
            float(np.mean(np.array(theirs, dtype=np.float64)))
        ):
            return True
    return False

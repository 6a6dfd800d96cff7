"""When a measurement may stop before its last fold: what it would still show changes nothing."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fenceline.evaluation.incumbent import Incumbent
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.scores import Loss, Score
from fenceline.metrics.trial import Trial
from fenceline.problem.constraint import Constraint

SURE_ERRORS = 3.0
"""A constraint is surely broken when the value lies this many standard errors beyond its bound ..."""
SURE_SCALES = 0.1
"""... and this many of its scales, for one fold is not quite like the next."""
SURE_BLINDLY, SURE_KNOWINGLY = 0.99, 0.95
"""That a pipeline is worse than the incumbent, before its last folds are left out: by the folds alone,
and where parts of each fold are compared ..."""
WORSE_BLINDLY, WORSE_KNOWINGLY = 0.1, 0.01
"""... by these shares of the incumbent's loss at least, for a few folds may agree by chance."""
PARTS = 10
"""In how many parts of a fold a metric is read ..."""
FEWEST_IN_PART = 50
"""... and of how many rows each must be at least."""


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


def blocks(metric: PipelineMetric, trial: Trial) -> tuple[float, ...]:
    """Return a score in parts of one fold, the same rows for every pipeline.

    Nothing where rows are few, and for other metrics: a function of the user's may take its time.
    """
    if not isinstance(metric.of if isinstance(metric, Loss) else metric, Score):
        return ()
    rows = np.arange(len(trial.rows))
    if trial.table.task == "regression":
        order = np.random.default_rng(0).permutation(rows)
        fewest = len(rows)
    else:
        # By class, so that every part has its share of each, as every fold has.
        order = np.argsort(trial.target, kind="stable")
        fewest = int(np.unique(trial.target, return_counts=True)[1].min()) * 2
    if len(rows) < PARTS * FEWEST_IN_PART or fewest < PARTS * 4:
        return ()
    return tuple(metric.combine(metric.parts(trial, order[i::PARTS])) for i in range(PARTS))


def surely_beaten(
    metric: PipelineMetric,
    readings: Sequence[Reading],
    incumbent: Incumbent,
    parts: Sequence[Sequence[float]] = (),
) -> bool:
    """Tell whether the first folds show that a pipeline does not beat the incumbent.

    Folds are compared one by one, for a hard fold is hard for all, and so are their parts where both
    pipelines were read in such. Without parts one difference does not tell how much differences
    vary: the folds of the incumbent itself stand in for it. Student's quantile allows for how few
    there are.

    Parameters
    ----------
    metric : PipelineMetric
        What is minimised.
    readings : sequence of Reading
        Of the folds so far.
    incumbent : Incumbent
        Measured on the same folds, in the same order.
    parts : sequence of sequence of float
        The metric in parts of the folds so far, by :func:`blocks`.
    """
    known, theirs = len(readings), _parts(incumbent, incumbent.objective)
    if known >= len(theirs):
        return False
    worse = np.array([metric.combine(r.parts) for r in readings]) - theirs[:known]
    least, confidence = WORSE_BLINDLY, SURE_BLINDLY
    apart = _differences(parts, incumbent.blocks[:known])
    if len(apart) >= known * PARTS:
        error, freedom = float(np.std(apart, ddof=1)) / math.sqrt(len(apart)), len(apart) - 1
        least, confidence = WORSE_KNOWINGLY, SURE_KNOWINGLY
    else:
        spread, freedom = float(np.std(theirs, ddof=1)), len(theirs) - 1
        if known > 1:
            spread = max(spread, float(np.std(worse, ddof=1)))
        error = spread / math.sqrt(known)
    margin = stats.t.ppf(confidence, freedom) * error
    best = incumbent.metrics[incumbent.objective]
    return bool(worse.mean() - margin > least * abs(best))


def _differences(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]
) -> NDArray[np.float64]:
    """Return by how much parts of folds are worse, of those folds that both were read in parts of."""
    pairs = [np.subtract(a, b) for a, b in zip(ours, theirs, strict=False) if len(a) == len(b)]
    return np.concatenate(pairs) if pairs else np.empty(0)


def ease(incumbent: Incumbent, folds: int) -> float:
    """Return by how much the first folds are easier than all, seen by the incumbent; 0 if it had no more."""
    theirs = _parts(incumbent, incumbent.objective)
    if folds >= len(theirs):
        return 0.0
    return float(incumbent.metrics[incumbent.objective] - theirs[:folds].mean())


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
        theirs = _parts(incumbent, name)[: len(readings)]
        if metrics[name].resource or len(theirs) < len(readings):
            continue
        ours = [metrics[name].combine(fold[name].parts) for fold in readings]
        if constraint.room(float(np.mean(ours))) > constraint.room(float(np.mean(theirs))):
            return True
    return False


def _parts(incumbent: Incumbent, name: str) -> NDArray[np.float64]:
    """Return a metric of the incumbent in each fold; empty where that is not known."""
    spread = incumbent.spreads.get(name)
    return np.array(() if spread is None else spread.parts, dtype=np.float64)

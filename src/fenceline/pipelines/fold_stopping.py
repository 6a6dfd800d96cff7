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
SURE_CONFIDENCE = 0.99
"""That a pipeline is worse than the incumbent, before its last folds are left out ..."""
WORSE_BLINDLY, WORSE_KNOWINGLY = 0.1, 0.02
"""... by this share of the incumbent's loss at least: folds alone, for a few may agree by chance; and
where the rows of a fold tell its error."""
BLOCKS = 10
"""In how many parts of a fold a metric is read to learn its error ..."""
FEWEST_IN_BLOCK = 50
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


def fold_error(metric: PipelineMetric, trial: Trial) -> float:
    """Return the standard error of a score in one fold, from parts of its rows.

    NaN where rows are few, and for other metrics: a function of the user's may take its time.
    """
    if not isinstance(metric.of if isinstance(metric, Loss) else metric, Score):
        return math.nan
    rows = np.arange(len(trial.rows))
    if trial.table.task == "regression":
        order = np.random.default_rng(0).permutation(rows)
        fewest = len(rows)
    else:
        # By class, so that every part has its share of each, as every fold has.
        order = np.argsort(trial.target, kind="stable")
        fewest = int(np.unique(trial.target, return_counts=True)[1].min()) * 2
    if len(rows) < BLOCKS * FEWEST_IN_BLOCK or fewest < BLOCKS * 4:
        return math.nan
    values = [metric.combine(metric.parts(trial, order[i::BLOCKS])) for i in range(BLOCKS)]
    return float(np.std(values, ddof=1) / math.sqrt(BLOCKS))


def surely_beaten(
    metric: PipelineMetric,
    readings: Sequence[Reading],
    incumbent: Incumbent,
    errors: Sequence[float] = (),
) -> bool:
    """Tell whether the first folds show that a pipeline does not beat the incumbent.

    Folds are compared one by one, for a hard fold is hard for all. One difference does not tell
    how much differences vary: the folds of the incumbent itself stand in for it, and the errors
    of single folds where they are known; Student's quantile allows for how few there are. The
    error of one pipeline is that of a difference of two whose errors correlate by a half; on the
    same rows those of any two useful ones correlate by more.

    Parameters
    ----------
    metric : PipelineMetric
        What is minimised.
    readings : sequence of Reading
        Of the folds so far.
    incumbent : Incumbent
        Measured on the same folds, in the same order, and on all of them.
    errors : sequence of float
        Of the metric in the folds so far, by :func:`fold_error`.
    """
    best = incumbent.metrics[incumbent.objective]
    # What a stopped pipeline shows must not look better than the incumbent: it would replace it.
    if metric.combine(np.mean([r.parts for r in readings], axis=0)) <= best:
        return False
    known = len(readings)
    theirs = _parts(incumbent, incumbent.objective)
    folds = len(theirs)
    if known >= folds:
        return False
    worse = np.array([metric.combine(r.parts) for r in readings]) - theirs[:known]
    if not errors or not np.all(np.isfinite(errors)):
        spread = float(np.std(theirs, ddof=1))
        if known > 1:
            spread = max(spread, float(np.std(worse, ddof=1)))
        freedom, least = folds - 1, WORSE_BLINDLY
    else:
        squares = [np.mean(np.square(errors)), np.var(theirs, ddof=1)]
        freedoms = [BLOCKS - 1, folds - 1]
        if known > 1:
            squares.append(np.var(worse, ddof=1))
            freedoms.append(known - 1)
        freedom, least = sum(freedoms), WORSE_KNOWINGLY
        spread = math.sqrt(np.dot(freedoms, squares) / freedom)
    margin = stats.t.ppf(SURE_CONFIDENCE, freedom) * spread / math.sqrt(known)
    return bool(worse.mean() - margin > least * abs(best))


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

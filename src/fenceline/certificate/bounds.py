"""One-sided confidence bounds of a metric, from the rows of one trial.

Parts of a metric get bounds of their own: Clopper and Pearson's exact ones for rates, Student's for
an AUROC with DeLong's variance and from resampled rows otherwise, on the logit scale for scores
between 0 and 1, whose errors are skewed near 1. Differences and ratios of parts are bounded by the
method of variance estimates recovery (Zou and Donner 2008, https://doi.org/10.1002/sim.3095), for
differences of rates from Wilson's bounds (Newcombe 1998): of the pairs of groups the worst bound
counts, which errs on the safe side whichever pair is truly the extreme one.
"""

import math
import time
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fenceline.certificate.controls import Controls
from fenceline.certificate.parts import parts_of
from fenceline.certificate.shares import Bounds, on_logit_scale
from fenceline.metrics.custom import Custom
from fenceline.metrics.metric import Parts, PipelineMetric
from fenceline.metrics.scores import Loss
from fenceline.metrics.trial import Trial

RESAMPLES = 300
CUSTOM_RESAMPLES = 50
"""A user's own function predicts anew each time it is called."""
FEWEST_RESAMPLES = 10
"""However late it is; Student's t pays for what they leave unknown."""
LATENCY_FREEDOM = 3
"""Degrees of freedom of a latency's standard error, which comes from four stretches of time."""


def risk_of_each(confidence: float, statements: int) -> float:
    """Return how often each statement may be wrong if all are to hold with the confidence (Bonferroni)."""
    return (1 - confidence) / max(1, statements)


def interval(
    metric: PipelineMetric,
    trial: Trial,
    risk: float,
    rng: np.random.Generator,
    until: float = math.inf,
    controls: Controls | None = None,
) -> Bounds:
    """Return a metric's value on a trial, with a lower and an upper bound.

    Parameters
    ----------
    metric : PipelineMetric
        What to bound.
    trial : Trial
        A pipeline, and rows it has not seen.
    risk : float
        The probability with which each bound, taken alone, may fail.
    rng : numpy.random.Generator
        Of the resampling.
    until : float
        Of :func:`time.monotonic`, from when on rows are drawn no more often than is needed.
    controls : Controls, optional
        Models whose luck on these rows is known, and taken out as far as the pipeline shares it.
    """
    if isinstance(metric, Loss):
        value, low, high = interval(metric.of, trial, risk, rng, until, controls)
        return metric.bounded - value, metric.bounded - high, metric.bounded - low
    reading = metric.read(trial)
    value = metric.combine(reading.parts)
    if metric.resource:
        reach = float(stats.t.ppf(1 - risk, LATENCY_FREEDOM)) * reading.error
        return value, value - reach, value + reach
    if (known := parts_of(metric, trial)) is not None:
        if controls is not None:
            known = controls.without_their_luck(metric, trial, known)
        value = metric.combine(np.array([part.value for part in known]))
        parts = [part.bounds(risk, metric.contrast == "gap") for part in known]
    else:
        parts = _drawn_bounds(metric, trial, reading.parts, risk, rng, until)
    if metric.contrast == "none":
        return parts[0]
    if metric.contrast == "worst":
        # Each group's bound holds at the full risk, so the worst group's does, whichever that is; the
        # smallest of the lower bounds is below it.
        return value, min(low for _, low, _ in parts), max(high for _, _, high in parts)
    size = len(parts) // metric.blocks
    blocks = [parts[i * size : (i + 1) * size] for i in range(metric.blocks)]
    bound = _gap if metric.contrast == "gap" else _ratio
    pairs = [bound(a, b) for block in blocks for a, b in permutations(block, 2)]
    return value, *_worst(metric, pairs)


def _worst(metric: PipelineMetric, pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the bounds of the extreme pair, whichever it is.

    Only the side that keeps a gap small or a ratio large is safe for any pair; from the other
    side any single pair could be the extreme one, so the weakest claim is made.
    """
    if metric.contrast == "gap":
        return 0.0, max(high for _, high in pairs)
    return min(low for low, _ in pairs), 1.0


def _gap(a: Bounds, b: Bounds) -> tuple[float, float]:
    """Bound the difference of two parts."""
    difference = a[0] - b[0]
    low = difference - math.hypot(a[0] - a[1], b[2] - b[0])
    return low, difference + math.hypot(a[2] - a[0], b[0] - b[1])


def _ratio(a: Bounds, b: Bounds) -> tuple[float, float]:
    """Bound the quotient of two rates, by their logarithms."""
    if min(a[0], a[1], b[0], b[1]) <= 0:
        return 0.0, math.inf
    logs = tuple(math.log(x) for x in a), tuple(math.log(x) for x in b)
    low, high = _gap(*logs)  # type: ignore[arg-type] # three logarithms each
    return math.exp(low), math.exp(high)


def _drawn_bounds(
    metric: PipelineMetric,
    trial: Trial,
    parts: Parts,
    risk: float,
    rng: np.random.Generator,
    until: float,
) -> list[Bounds]:
    cells = _cells(metric, trial)
    smallest = min(_size(cell, trial.weights) for cell in cells)
    drawn = _resampled(metric, trial, cells, rng, until)
    # Drawing from n rows underestimates the variance by (n - 1) / n.
    errors = np.std(drawn, axis=0, ddof=1) * math.sqrt(smallest / max(1, smallest - 1))
    freedom = len(drawn) - 1
    known = zip(parts.tolist(), errors.tolist(), strict=True)
    if metric.unit:
        return [on_logit_scale(part, error, smallest, freedom, risk) for part, error in known]
    t = float(stats.t.ppf(1 - risk, freedom))
    return [(part, part - t * error, part + t * error) for part, error in known]


def _resampled(
    metric: PipelineMetric,
    trial: Trial,
    cells: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
    until: float,
) -> list[Parts]:
    """Return every part on rows that are drawn again, as often as time allows."""
    drawn: list[Parts] = []
    most = CUSTOM_RESAMPLES if isinstance(metric, Custom) else RESAMPLES
    while len(drawn) < most and (len(drawn) < FEWEST_RESAMPLES or time.monotonic() < until):
        at = np.concatenate([rng.choice(cell, cell.size) for cell in cells])
        drawn.append(metric.parts(trial, at))
    return drawn


def _size(cell: NDArray[np.intp], weights: NDArray[np.float64] | None) -> int:
    """Return how many rows of equal weight would say as much (Kish's effective sample size)."""
    if weights is None:
        return cell.size
    return max(1, int(weights[cell].sum() ** 2 / np.square(weights[cell]).sum()))


def _cells(metric: PipelineMetric, trial: Trial) -> list[NDArray[np.intp]]:
    """Return positions of rows by class and group, so that no sample lacks one."""
    code = np.zeros(len(trial.rows), dtype=np.intp)
    if trial.table.task != "regression":
        code = trial.target.astype(np.intp)
    if metric.groupings:
        groups = trial.grouping(*metric.groupings[0])[1]
        code = code * (groups.max() + 1) + groups
    return [np.flatnonzero(code == c) for c in np.unique(code)]

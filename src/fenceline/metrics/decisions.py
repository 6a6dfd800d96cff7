"""Decisions at many thresholds at once: one count of rows by truth and score serves every metric.

A row is predicted positive when its score reaches the threshold. So one pass over the rows tells how
many of each class and group are chosen at every threshold of a grid, and all scores of decisions
between two classes are functions of these counts.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from fenceline.metrics.trial import Grouping, Rows, Trial

Floats: TypeAlias = NDArray[np.float64]
Rate: TypeAlias = tuple[Floats, Floats]
"""A value and its variance, at each threshold and for each group."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The parts of a metric at each of several thresholds: arrays with a row for each threshold."""

    parts: Floats
    variances: Floats
    """Of the parts, as the numbers of rows tell; NaN where they do not."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Rows by truth and decision: arrays of shape (thresholds, groups).

    Weighted rows count as many as they are worth: n equal rows with the same variance.
    """

    tn: Floats
    fp: Floats
    fn: Floats
    tp: Floats


@runtime_checkable
class Scored(Protocol):
    """Rows that are counted at thresholds of their own, whatever is asked for."""

    def counts(self, group: Grouping | None) -> Confusion:
        """Count rows at each combination of thresholds, all together or by group."""


def confusion(
    trial: Trial, cuts: Floats, group: Grouping | None = None, whole: Floats | None = None
) -> Confusion:
    """Count rows at each threshold, all together or by group.

    Parameters
    ----------
    trial : Trial
        With a response.
    cuts : array
        Thresholds in the unit of the response, in growing order.
    group : pair of str and tuple, optional
        Name and bins of a group.
    whole : array, optional
        The weights of all rows, where the trial has a part of them.
    """
    if isinstance(trial, Scored):
        return trial.counts(group)
    assert trial.response is not None
    groups = 1 if group is None else len(trial.grouping(*group)[0])
    codes: Rows | int = 0 if group is None else trial.grouping(*group)[1]
    key = ("reached", cuts.tobytes())
    if key not in trial.memo:
        trial.memo[key] = np.searchsorted(cuts, trial.response, side="right")
    size = len(cuts) + 1
    places = (2 * codes + trial.target) * size + trial.memo[key]
    weights = trial.weights
    if weights is not None:
        whole = weights if whole is None else whole
        weights = weights * (whole.sum() / (whole @ whole))  # Kish's effective number of rows
    counts = np.bincount(places, weights, 2 * groups * size).reshape(groups, 2, size)
    # Chosen at a threshold are those that reach it or a higher one.
    chosen = counts[..., ::-1].cumsum(axis=-1)[..., ::-1].astype(np.float64)
    positive, negative = chosen[..., 1:], chosen[..., :1] - chosen[..., 1:]
    return Confusion(negative[:, 0].T, positive[:, 0].T, negative[:, 1].T, positive[:, 1].T)


def rate(events: Floats, cases: Floats, empty: float = np.nan) -> Rate:
    """Return a share and its variance; with `empty` where there is no case.

    The variance is that of the rule of succession, (events + 1) / (cases + 2): no event in 50 rows
    does not make a rate exact.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(cases > 0, events / cases, empty)
        likely = (events + 1) / (cases + 2)
        variance = likely * (1 - likely) / np.maximum(cases, 1.0)
    return value, variance


def score_sweep(scorer: str, counts: Confusion) -> Sweep:
    """Return a scikit-learn score of decisions at every threshold, for each group."""
    closed = _CLOSED.get(scorer)
    return Sweep(*(_by_scorer(scorer, counts) if closed is None else closed(counts)))


def _accuracy(n: Confusion) -> Rate:
    return rate(n.tp + n.tn, n.tp + n.tn + n.fp + n.fn)


def _precision(n: Confusion) -> Rate:
    return rate(n.tp, n.tp + n.fp, empty=0.0)


def _recall(n: Confusion) -> Rate:
    return rate(n.tp, n.tp + n.fn, empty=0.0)


def _balanced_accuracy(n: Confusion) -> Rate:
    (positive, doubt), (negative, other) = rate(n.tp, n.tp + n.fn), rate(n.tn, n.tn + n.fp)
    both = (positive + negative) / 2, (doubt + other) / 4
    # As scikit-learn has it: a class without rows does not count.
    alone = np.where(np.isnan(positive), negative, positive)
    missing = np.isnan(both[0])
    return np.where(missing, alone, both[0]), both[1]


def _jaccard(n: Confusion) -> Rate:
    return rate(n.tp, n.tp + n.fp + n.fn, empty=0.0)


def _f1(n: Confusion) -> Rate:
    """Return F1 as the function 2 q / (1 + q) of the Jaccard index, whose variance is a rate's."""
    index, variance = _jaccard(n)
    return 2 * index / (1 + index), variance * (2 / (1 + index) ** 2) ** 2


_CLOSED: dict[str, Callable[[Confusion], Rate]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "jaccard": _jaccard,
    "precision": _precision,
    "recall": _recall,
}
COUNTED = frozenset(_CLOSED)
"""Scores that are functions of the counts in closed form."""


class _Four(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Decides four rows: one of each truth and decision, in the order of :class:`Confusion`."""

    classes_ = np.arange(2)

    def predict(self, X: Rows) -> NDArray[np.intp]:
        return np.array([0, 1, 0, 1])[X]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _by_scorer(scorer: str, n: Confusion) -> Rate:
    """Ask scikit-learn, for four rows that are weighted by the counts."""
    cells = np.stack([n.tn, n.fp, n.fn, n.tp], axis=-1)
    values = np.empty(n.tn.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a score that is not defined comes back as NaN
        for place in np.ndindex(values.shape):
            there = np.flatnonzero(cells[place])
            truth = np.array([0, 0, 1, 1])[there]
            values[place] = get_scorer(scorer)(
                _Four(), there, truth, sample_weight=cells[place][there]
            )
    return values, np.full(values.shape, np.nan)

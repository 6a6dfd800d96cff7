"""What predictions on the rows kept are worth, and how sure a difference between two of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.catalogue import Task

Vector: TypeAlias = NDArray[np.float64]
RESAMPLES = 400
_LEAST = 1e-7
"""The smallest probability that counts: beyond it one row would decide on a whole table."""
NAMES = {"binary": "AUROC", "multiclass": "-log loss", "regression": "R2"}


def score(task: Task, truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return AUROC, the negative of the log loss, or R2; more is better."""
    return _weighted(task, truth, predicted)(np.ones(len(truth)))


def of_dummy(task: Task, truth: NDArray[Any]) -> float:
    """Return the score of a constant."""
    if task == "binary":
        return 0.5
    if task == "regression":
        return 0.0
    shares = np.unique(truth, return_counts=True)[1] / len(truth)
    return float((shares * np.log(shares)).sum())


def paired(
    task: Task, truth: NDArray[Any], one: NDArray[Any], other: NDArray[Any], seed: int = 0
) -> tuple[float, float]:
    """Return the first's score minus the second's, and its standard error (bootstrap over the rows)."""
    rng = np.random.default_rng(seed)
    n = len(truth)
    first, second = (_weighted(task, truth, predicted) for predicted in (one, other))
    differences = []
    for _ in range(RESAMPLES):
        counts = rng.multinomial(n, np.full(n, 1 / n)).astype(float)
        differences.append(first(counts) - second(counts))
    everything = np.ones(n)
    return first(everything) - second(everything), float(np.std(differences, ddof=1))


def _weighted(
    task: Task, truth: NDArray[Any], predicted: NDArray[Any]
) -> Callable[[Vector], float]:
    """Return the score as a function of what each row counts."""
    if task == "binary":
        return _auroc(truth == 1, predicted[:, 1] if predicted.ndim == 2 else predicted)
    if task == "regression":
        return _r2(truth, predicted)
    clipped = np.clip(predicted, _LEAST, 1.0)
    clipped = clipped / clipped.sum(axis=1, keepdims=True)
    logs = np.log(clipped[np.arange(len(truth)), truth.astype(int)])
    return lambda counts: float(np.average(logs, weights=counts))


def _auroc(positive: NDArray[np.bool_], scores: Vector) -> Callable[[Vector], float]:
    order = rankdata(scores, method="dense") - 1
    levels = int(order.max()) + 1

    def of(counts: Vector) -> float:
        up = np.bincount(order[positive], counts[positive], levels)
        down = np.bincount(order[~positive], counts[~positive], levels)
        below = np.cumsum(down) - down / 2
        return float((up * below).sum() / (up.sum() * down.sum()))

    return of


def _r2(truth: Vector, predicted: Vector) -> Callable[[Vector], float]:
    squares = (truth - predicted) ** 2

    def of(counts: Vector) -> float:
        mean = np.average(truth, weights=counts)
        return float(1 - (counts * squares).sum() / (counts * (truth - mean) ** 2).sum())

    return of

"""Histogram boosters with weighted rows, without computing every bin's edge from the start.

From scikit-learn 1.8 on, weights count in the choice of bins, and each of 254 edges sorts the column
again: thirty small trees on 13,000 rows and 23 columns took 1.1 s with weights and .1 s without. Here
the edges of a column are computed together, by the same arithmetic, and are the same to the last bit.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting import binning

_NAME = "_weighted_percentile"
Array = NDArray[np.float64]


def weighted_percentiles(column: Array, weights: Array, percentiles: Array) -> Array:
    """Return percentiles by the averaged inverted distribution function; weights are above 0."""
    order = np.argsort(column)
    values, mass = column[order], np.cumsum(weights[order])
    wanted = percentiles / 100 * mass[-1]
    at = np.clip(np.searchsorted(mass, wanted), 0, len(mass) - 1)
    after = np.clip(at + 1, 0, len(mass) - 1)
    between = mass[at] - wanted > np.finfo(mass.dtype).eps
    edges: Array = np.where(between, values[at], (values[at] + values[after]) / 2)
    return edges


class _EdgesAtOnce:
    """Answers for one edge at a time, as the function it stands for, and remembers those of one column."""

    def __init__(self, one_by_one: Callable[..., Any]) -> None:
        self._one_by_one = one_by_one
        self._local = threading.local()  # columns are binned by several threads

    def __call__(self, column: Array, weights: Array, percentile: float, average: bool) -> Any:
        known = getattr(self._local, "known", None)
        if known is None or known[0] is not column or known[1] is not weights:
            # The first edge tells how many there are.
            percentiles = np.linspace(0, 100, num=round(100 / percentile) + 1)[1:-1]
            edges = weighted_percentiles(column, weights, percentiles)
            known = (column, weights, dict(zip(percentiles.tolist(), edges, strict=True)))
            self._local.known = known
        if average and percentile in known[2]:
            return known[2][percentile]
        return self._one_by_one(column, weights, percentile, average=average)


@contextlib.contextmanager
def weighted_bins_at_once() -> Iterator[None]:
    """Let histogram boosters find the bins of weighted rows in one go, within the block.

    Outputs are the same, so that fits of other threads meanwhile are as they would be. Where
    scikit-learn has no such function, before 1.8, nothing is done.
    """
    one_by_one = getattr(binning, _NAME, None)
    if one_by_one is None or isinstance(one_by_one, _EdgesAtOnce):
        yield
        return
    setattr(binning, _NAME, _EdgesAtOnce(one_by_one))
    try:
        yield
    finally:
        setattr(binning, _NAME, one_by_one)

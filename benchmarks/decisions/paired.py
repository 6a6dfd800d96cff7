"""How sure a difference between two ways to decide is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions.fence import Flags, score

RESAMPLES = 2000


def paired(
    objective: str, truth: Flags, one: Flags, other: Flags, seed: int = 0
) -> tuple[float, float]:
    """Return the first's score minus the second's, and its standard error (bootstrap over the rows).

    Rows differ in three flags only, so that resampling them is drawing the counts of eight cells.
    """
    cells = 4 * truth.astype(int) + 2 * one.astype(int) + other.astype(int)
    shares = np.bincount(cells, minlength=8) / len(truth)
    counts = np.random.default_rng(seed).multinomial(len(truth), shares, size=RESAMPLES)
    first, second = (_scores(objective, counts, bit) for bit in (2, 1))
    difference = score(objective, truth, one) - score(objective, truth, other)
    return difference, float(np.std(first - second, ddof=1))


def _scores(objective: str, counts: NDArray[np.int64], bit: int) -> NDArray[np.float64]:
    """Return the score of each resample from its cells; `bit` is the decision that counts."""
    cell = np.arange(8)
    true, chosen = (cell & 4) > 0, (cell & bit) > 0
    tp, fp, tn, fn = (
        counts[:, (true == t) & (chosen == c)].sum(axis=1)
        for t, c in ((True, True), (False, True), (False, False), (True, False))
    )
    if objective == "precision":
        return np.asarray(tp / np.maximum(tp + fp, 1))
    if objective == "accuracy":
        return np.asarray((tp + tn) / counts.sum(axis=1))
    return np.asarray((tp / np.maximum(tp + fn, 1) + tn / np.maximum(tn + fp, 1)) / 2)

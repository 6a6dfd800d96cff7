"""A way out of an algorithm that has most of the evaluations and hardly improves any more.

The logarithm of a loss is taken in units of its spread, which shrinks while evaluations gather at
one algorithm: the last digits there then count as much as what another algorithm may gain when it
is tuned. So proposals elsewhere are made from time to time, as long as nothing is gained: one
algorithm after the other is tuned, the most promising first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.search.structured.data import Data

Array = NDArray[np.float64]

CROWD, MOST = 12, 9
"""An algorithm is crowded that had so many of the last measurements."""
GAIN = 0.001
"""Of what lies between the best and the typical algorithm: less is no gain. With .01 the search left
artificial problems that it was still improving on: regret at 150 was 2.4 times that without."""
NOISE = 0.25
"""Of the error of a loss, where that is known: the luckiest of a dozen readings is no gain either."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Algorithms that a proposal is to do without."""

    module: int
    algorithms: tuple[int, ...]

    def includes(self, z: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell which pipelines use one of them."""
        return np.isin(z[:, self.module], self.algorithms)


def crowd(data: Data) -> Crowd | None:
    """Return the algorithms that the next proposal should avoid, if it should avoid any.

    Beside the crowded one these are others of its module that have been tuned for as long as it takes
    to see a crowd, until all have: the second best would else have all that is measured elsewhere.
    """
    n = len(data.z)
    if n < 2 * CROWD:
        return None
    at = np.flatnonzero(data.ok)
    feasible = data.feasible()
    when, loss = at[feasible], data.loss[feasible]
    before = loss[when < n - CROWD]
    if len(before) == 0:
        return None
    gain = float(before.min() - loss.min())
    crowds = []
    for i, last in enumerate(data.z[-CROWD:].T):
        counts = np.bincount(last)
        if counts.max() < MOST:
            continue
        chosen = data.z[when, i]
        bests = np.array([loss[chosen == j].min() for j in np.unique(chosen)])
        # Of the algorithms that were tried: so much do they differ by.
        spread = float(np.median(bests) - bests.min())
        if len(bests) > 1 and gain <= max(GAIN * spread, NOISE * data.typical_loss_error):
            crowded = int(counts.argmax())
            tuned = {crowded, *np.flatnonzero(np.bincount(data.z[:, i]) >= CROWD).tolist()}
            others = set(chosen.tolist()) - tuned
            crowds.append(Crowd(i, tuple(sorted(tuned)) if others else (crowded,)))
    # Asked at every third proposal, so that n alone might always give the same of three.
    return crowds[n // 3 % len(crowds)] if crowds else None

"""What a look is worth: its loss, and the penalties of its constraints taken hopefully.

Time and size grow with the rows, so a look shows the least they will be; a gap between groups is
mostly noise on few rows. A pipeline must not be dropped for either. So a bound that a look breaks
counts only as far as no full measurement was ever that much better than its look.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Evaluator
from fenceline.search.lagrangian import Lagrangian

Array = NDArray[np.float64]

_PAIRS = 3
"""Looks whose full measurement is known, before their differences say anything."""


class HopefulMerits:
    """The merit of looks under today's multipliers."""

    def __init__(self, lagrangian: Lagrangian, evaluator: Evaluator) -> None:
        self.lagrangian = lagrangian
        self._evaluator = evaluator
        self._read = 0
        self._looks: list[Evaluation] = []
        count = len(lagrangian.problem.constraints)
        self._least, self._most = np.full(count, np.inf), np.full(count, -np.inf)
        self._pairs = 0

    def __call__(self, look: Evaluation) -> float:
        """Return the merit of a look that succeeded."""
        loss = np.array([self.lagrangian.loss(look)])
        return float(self.lagrangian.merits(loss, self._hopeful(look)[None])[0])

    def _hopeful(self, look: Evaluation) -> Array:
        """Return g - eps as it may turn out at best, scaled."""
        excess = self.lagrangian.excess(look)
        if not len(excess):
            return excess
        self._refresh()
        equality = np.array([c.equality for c in self.lagrangian.problem.constraints])
        if self._pairs < _PAIRS:
            return np.where(equality, 0.0, np.minimum(excess, 0.0))
        nearest = excess + np.clip(-excess, self._least, self._most)
        return np.where(equality, nearest, excess + np.minimum(self._least, 0.0))

    def _refresh(self) -> None:
        """Compare full measurements with the looks before them."""
        history = self._evaluator.history
        if self._read == len(history):
            return
        self._read = len(history)
        self._pairs = 0
        for look, full in _pairs(history, self._evaluator):
            change = self.lagrangian.excess(full) - self.lagrangian.excess(look)
            self._least = np.minimum(self._least, change)
            self._most = np.maximum(self._most, change)
            self._pairs += 1


def _pairs(
    history: Iterable[Evaluation], evaluator: Evaluator
) -> Iterable[tuple[Evaluation, Evaluation]]:
    for look in history:
        if look.look and look.ok:
            full = evaluator.known(look.configuration)
            if full is not None and full.ok:
                yield look, full

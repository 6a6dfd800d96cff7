"""Fewer rows for a cheap look: nested, stratified, and never too few of a class or a group."""

import math

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import MeasurementError
from fenceline.metrics.trial import Rows

FEWEST_PER_CELL = 50
"""Rows of every class and group that a look keeps, or all there are: below, scores are noise."""
FIRST_ROWS = 2_500
"""Training rows of the cheapest look: a booster takes a few tenths of a second on them."""
STEP = 4.0
"""How much more rows the next look has."""
WORTHWHILE_ROWS = 5_000
"""With fewer training rows than this a full measurement is cheap enough."""
MOST_VALIDATION_ROWS = 5_000
"""Of a look: an AUROC is then known to about .008, and much less where pipelines are compared."""


def shares(rows: int, balance: float = 1.0) -> tuple[float, ...]:
    """Return the shares of so many training rows that are worth a look, in rising order.

    Parameters
    ----------
    rows : int
        To fit on.
    balance : float
        How much a row tells, 1 where classes are even: with a rare class a look needs more of them.
    """
    found = []
    wanted = min(FIRST_ROWS / balance, rows / 2)
    # The last look leaves a full measurement something to add: it has more folds, too.
    while rows > WORTHWHILE_ROWS and wanted <= rows / 2:
        found.append(round(wanted / rows, 4))
        wanted *= STEP
    return tuple(found)


def subset(rows: Rows, share: float, cells: NDArray[np.intp] | None) -> Rows:
    """Return a share of some rows, in rising order; a larger share holds all of a smaller one.

    Parameters
    ----------
    rows : array of int
        What to choose from.
    share : float
        In (0, 1].
    cells : array of int, optional
        The cell, class crossed with groups, of each of these rows. Every cell keeps its share, but
        at least `FEWEST_PER_CELL` rows or all it has.
    """
    if not 0 < share <= 1:
        raise MeasurementError(f"fidelity must lie in (0, 1]. Got {share!r}.")
    if share == 1:
        return rows
    order = np.random.default_rng(0).permutation(len(rows))
    if cells is None:
        return np.sort(rows[order[: max(FEWEST_PER_CELL, math.ceil(share * len(rows)))]])
    # How many of the same cell come before each row in the shuffled order.
    shuffled = cells[order]
    by_cell = np.argsort(shuffled, kind="stable")
    sizes = np.bincount(shuffled)
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(rows), dtype=np.intp)
    place[by_cell] = np.arange(len(rows)) - np.repeat(starts, sizes)
    wanted = np.maximum(np.ceil(share * sizes), FEWEST_PER_CELL)
    return np.sort(rows[order[place < wanted[shuffled]]])

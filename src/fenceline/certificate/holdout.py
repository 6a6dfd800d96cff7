"""Which rows are kept from the search, for the certificate: as many as bounds and rarest cells ask for."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from fenceline.metrics.fairness import SelectionRates
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table
from fenceline.pipelines.cross_validation import Folds, strata
from fenceline.problem.constraint import Constraint

SHARES = (0.15, 0.40)
"""The smallest and the largest share of the rows that is kept from the search unless told otherwise."""
CELL_ROWS = 400
"""Rows wanted in the rarest cell at least: a rate of 0.1 is then known with a standard error of 0.015."""
REACHED = 1 / 3
"""How much of the way from a bound to 0, or to 1, the test of a rate or of a difference of rates may reach.

With 400 rows in the smallest group, a difference of at most 0.1 between selection rates has an error of
0.03: what can be certified then keeps half of the bound free."""
_LIKELY = 0.3
"""A rate, where nothing is known of it."""
FEWEST_ROWS = 100
"""Fewer rows in all are too few to keep any from the search."""


class Holdout(NamedTuple):
    """The rows to search with, and those kept from the search; there may be none of the latter."""

    search: Rows
    unseen: Rows


def set_aside(
    table: Table,
    metrics: Mapping[str, PipelineMetric],
    constraints: Sequence[Constraint],
    folds: Folds,
    seed: int,
    unseen: float | Rows | None = None,
) -> Holdout:
    """Return the rows to search with and the rows kept from it; none if there are too few.

    Without constraints nothing needs to be certified, and the search has all rows.

    Parameters
    ----------
    table : Table
        All rows.
    metrics : mapping of str to PipelineMetric
        Whose groups are spread evenly.
    constraints : sequence of Constraint
        What is to be certified.
    folds : int, float or list of pairs
        Which the rows of the search will be cut into.
    seed : int
        Of the draw.
    unseen : float or array of int, optional
        The share to keep, or the rows themselves; by default as many as the constraints need in
        their rarest cells, between 15 and 40 percent.
    """
    rows = np.arange(len(table.y))
    if not constraints:
        return Holdout(rows, rows[:0])
    if isinstance(unseen, np.ndarray):
        return Holdout(np.setdiff1d(rows, unseen), unseen)
    if len(rows) < FEWEST_ROWS:
        return Holdout(rows, rows[:0])
    cells = None
    if table.task != "regression":
        # Two more than there are folds, so that every fold keeps its share of the rest.
        least = (folds if isinstance(folds, int) else 2) + 2
        cells = strata(table, metrics.values(), least)
        if np.bincount(cells).min() < least:
            return Holdout(rows, rows[:0])
    share = needed_share(table, metrics, constraints) if unseen is None else unseen
    search, kept = train_test_split(rows, test_size=share, stratify=cells, random_state=seed)
    return Holdout(np.sort(search), np.sort(kept))


def needed_share(
    table: Table,
    metrics: Mapping[str, PipelineMetric],
    constraints: Sequence[Constraint],
    confidence: float = 0.95,
) -> float:
    """Return the share of rows with which every constrained metric is known well enough.

    Parameters
    ----------
    table : Table
        All rows.
    metrics : mapping of str to PipelineMetric
        What the constraints name.
    constraints : sequence of Constraint
        What is to be certified.
    confidence : float
        Of the certificate.
    """
    reach = NormalDist().inv_cdf(confidence)
    shares = [_share(table, metrics[c.metric], c, reach) for c in constraints]
    return float(np.clip(max(shares, default=0.0), *SHARES))


def _share(table: Table, metric: PipelineMetric, constraint: Constraint, reach: float) -> float:
    """Return the share that one constraint needs; 0 if it does not depend on rows."""
    if metric.resource:
        return 0.0
    rarest = _rarest_cell(table, metric)
    bound = constraint.bound
    rates = metric.decides and metric.unit and not constraint.equality
    free = 1 - bound if constraint.sense == ">=" else bound
    if not rates or metric.contrast == "ratio" or not 0 < free < 1:
        return CELL_ROWS / rarest
    # A difference has the errors of two rates, of which little is known beforehand.
    variance = bound * (1 - bound) if metric.contrast == "none" else 2 * _LIKELY * (1 - _LIKELY)
    return max(CELL_ROWS, variance * (reach / (REACHED * free)) ** 2) / rarest


def _rarest_cell(table: Table, metric: PipelineMetric) -> int:
    """Return the rows of the smallest group or class that a part of the metric is about."""
    cells = np.zeros(len(table.y), dtype=np.intp)
    if metric.only_class is not None:
        return max(1, int(np.sum(table.target == metric.only_class)))
    # Selection rates look at predictions alone.
    by_class = (metric.ranks or metric.unit) and not isinstance(metric, SelectionRates)
    if by_class and table.task != "regression":
        cells = table.target.astype(np.intp)
    for grouping in metric.groupings:
        codes = table.grouping(*grouping)[1]
        cells = cells * (codes.max() + 1) + codes
    sizes = np.bincount(cells)
    return int(sizes[sizes > 0].min())

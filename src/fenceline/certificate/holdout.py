"""Which rows are kept from the search, for the certificate: as many as its rarest cell needs."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from fenceline.certificate.parts import of_shares
from fenceline.metrics.fairness import SelectionRates
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table
from fenceline.pipelines.fold_checks import Folds
from fenceline.pipelines.folds import strata
from fenceline.pipelines.splitting import Splitting
from fenceline.problem.constraint import Constraint

SHARES = (0.15, 0.40)
"""The smallest and the largest share of the rows that is kept from the search unless told otherwise."""
RANKED_MOST = 0.25
"""The largest share for an AUROC, or a gap of AUROCs, where a control has a part in the test ...

With 1,000 rows unseen instead of 1,600, gaps on `phoneme` and `sylvine` (five pairs of searches) left an AUROC that
was .010 higher, for models learn from a quarter more rows; four were certified instead of five
(docs/decisions/0036). Rates need their rows: of few positives a recall is known too badly with fewer."""
RANKED_CELL = 100
"""... if it leaves the rarest cell so many rows: with 26 instead of 41 of them `churn` lost AUROC, too."""
CELL_ROWS = 400
"""Rows wanted in the rarest cell: a rate of 0.1 is then known with a standard error of 0.015 ..."""
CLEARANCE = 4.0
"""... and as many more as let a bound on a difference between groups lie this many standard errors from none at all.

A test reaches 1.6 of them, the start of a sequence 4.1. A bound of 0.1 has them with 400 rows, and there more rows cost
more than they brought: on 5,900 rows, 40 % instead of 15 % left a balanced accuracy of 0.680 instead of 0.685 on other rows,
for want of rows to learn from. A bound of 0.035 has 1.4 of them with 400 rows: no model whatever can be certified."""
ENOUGH_ROWS = 10_000
"""Rows to search with, beyond which rows serve the certificate better: what a model still learns from a third more of them is
less than what the wider error of a test costs (docs/decisions/0023), and a search of fewer rows measures more pipelines."""
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
    folds: Folds | Splitting,
    seed: int,
    unseen: float | Rows | None = None,
    *,
    controlled: bool = False,
) -> Holdout:
    """Return the rows to search with and the rows kept from it; none if there are too few.

    Without constraints nothing needs to be certified, and the search has all rows but those that were
    asked for.

    Parameters
    ----------
    table : Table
        All rows.
    metrics : mapping of str to PipelineMetric
        Whose groups are spread evenly.
    constraints : sequence of Constraint
        What is to be certified.
    folds : int, float, list of pairs or Splitting
        Which the rows of the search will be cut into. Where rows are in the order of time the last
        are kept, and where groups stay together whole groups; else rows are drawn at random.
    seed : int
        Of the draw.
    unseen : float or array of int, optional
        The share to keep, or the rows themselves; by default as many as the rarest cell of the
        constrained metrics needs, between 15 and 40 percent; closer bounds on differences need more,
        and of a large table all that the search can do without.
    controlled : bool
        Whether a control takes luck out of tests, as far as it can.
    """
    rows = np.arange(len(table.y))
    if isinstance(unseen, np.ndarray):
        return Holdout(np.setdiff1d(rows, unseen), unseen)
    if (not constraints and unseen is None) or len(rows) < FEWEST_ROWS:
        return Holdout(rows, rows[:0])
    common, cells = rows, None
    if table.task != "regression":
        # Two more than there are folds, so that every fold keeps its share of the rest.
        least = (folds if isinstance(folds, int) else 2) + 2
        cells = strata(table, metrics.values(), least)
        # Of a class with fewer rows all are searched with: it is learnt from, and not certified on.
        common = rows[np.bincount(cells)[cells] >= least]
        cells = cells[common]
        if len(np.unique(table.target[common])) < 2:
            return Holdout(rows, rows[:0])
    share = unseen or needed_share(table.take(common), metrics, constraints, controlled=controlled)
    if isinstance(folds, Splitting) and (apart := folds.apart(table, share, seed)) is not None:
        return Holdout(*apart)
    fewest = 1 if cells is None else len(np.unique(cells))
    size = max(fewest, math.ceil(share * len(common)))
    kept = train_test_split(common, test_size=size, stratify=cells, random_state=seed)[1]
    return Holdout(np.setdiff1d(rows, kept), np.sort(kept))


def needed_share(
    table: Table,
    metrics: Mapping[str, PipelineMetric],
    constraints: Sequence[Constraint],
    *,
    controlled: bool = False,
) -> float:
    """Return the share of rows with which the rarest cell of the metrics has enough rows, and the search, too."""
    least, most = SHARES
    shares = [least]
    for constraint in constraints:
        metric = metrics[constraint.metric]
        if not metric.resource:
            ranked = controlled and metric.scored_by == "roc_auc" and of_shares(metric)
            rarest = _rarest_cell(table, metric)
            enough = max(RANKED_MOST, RANKED_CELL / rarest) if ranked else most
            shares.append(min(_cell_rows(metric, constraint) / rarest, enough))
            shares.append(1.0 - ENOUGH_ROWS / len(table.y))
    return min(most, max(shares))


def _cell_rows(metric: PipelineMetric, constraint: Constraint) -> float:
    """Return how many rows the rarest cell should have, so that the bound can be certified at all."""
    if metric.contrast not in ("gap", "ratio") or not metric.unit or constraint.equality:
        return CELL_ROWS
    # A ratio of rates near one half moves twice as far as their difference.
    distance = constraint.bound if metric.contrast == "gap" else (1.0 - constraint.bound) / 2
    # A rate's variance is at most 1/4 by the row.
    return max(CELL_ROWS, (CLEARANCE / (2 * distance)) ** 2) if distance > 0 else math.inf


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

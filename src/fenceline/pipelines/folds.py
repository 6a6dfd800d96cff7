"""Rows cut into folds: stratified by class, and by group as far as groups are large enough."""

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table
from fenceline.pipelines.fold_checks import Folds


def cut(
    table: Table, metrics: Collection[PipelineMetric], folds: Folds, seed: int
) -> list[tuple[Rows, Rows]]:
    """Return the rows to fit on and the rows to measure on, fold by fold.

    Parameters
    ----------
    table : Table
        What is cut.
    metrics : collection of PipelineMetric
        Whose groups every fold should have its share of.
    folds : int, float or list of pairs
        A number of folds, the share of rows held out once, or the folds themselves.
    seed : int
        Of the draw.
    """
    if not isinstance(folds, int | float):
        return list(folds)
    rows = np.arange(len(table.y))
    if table.task == "regression":
        rare, cells = rows[:0], None
    else:
        # A class that cannot be in every fold is learnt from, never measured on.
        parts = folds if isinstance(folds, int) else 2
        sizes = np.bincount(table.target)[table.target]
        rare = rows[sizes < parts]
        rows = rows[sizes >= parts]
        cells = strata(table, metrics, parts)[rows]
    if isinstance(folds, float):
        train, valid = train_test_split(rows, test_size=folds, stratify=cells, random_state=seed)
        return [(np.concatenate([train, rare]), valid)]
    kind = KFold if cells is None else StratifiedKFold
    parted = kind(folds, shuffle=True, random_state=seed).split(rows, cells)
    return [(np.concatenate([rows[train], rare]), rows[valid]) for train, valid in parted]


def strata(table: Table, metrics: Iterable[PipelineMetric], parts: int) -> NDArray[np.intp]:
    """Return classes crossed with groups, so that every part holds its share of both.

    A group is taken in only if every cell can then still be found in every part.
    """
    cells: NDArray[np.intp] = table.target.astype(np.intp)
    for metric in metrics:
        if not metric.groupings:
            continue
        _, codes = table.grouping(*metric.groupings[0])
        finer = np.unique(cells * (codes.max() + 1) + codes, return_inverse=True)[1]
        if np.bincount(finer).min() >= parts:
            cells = finer.astype(np.intp)
    return cells

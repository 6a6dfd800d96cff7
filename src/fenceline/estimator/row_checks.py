"""Checks of rows: folds, unseen rows and groups that are handed in, and what classes are cut into."""

import warnings
from collections.abc import Iterable, Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import PredefinedSplit

from fenceline.errors import DefinitionError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table, as_groups, find_group
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fold_checks import Folds
from fenceline.pipelines.splitting import Splitting, is_splitter


def check_splits(measure: CrossValidation) -> None:
    """Refuse folds that the rows cannot be cut into."""
    try:
        splits = measure.splits
    except ValueError as problem:
        raise DefinitionError(
            f"cv={measure.folds!r} does not suit {len(measure.table.y)} rows: {problem}"
        ) from None
    if isinstance(measure.folds, int | float):
        return
    for metric in measure.metrics.values():
        for grouping in metric.groupings:
            labels, codes = measure.table.grouping(*grouping)
            for number, (_, valid) in enumerate(splits, 1):
                present = np.unique(codes[valid])
                missing = [label for code, label in enumerate(labels) if code not in present]
                if missing:
                    raise DefinitionError(
                        f"cv: fold {number} has no row of the groups {missing!r} of {grouping[0]!r} to "
                        f"measure on, and {metric.name} compares them; split otherwise, or merge groups."
                    )


def check_groups_among(table: Table, search: Rows, metrics: Iterable[PipelineMetric]) -> None:
    """Refuse groups that are compared and are only among rows that the search does not have."""
    for metric in metrics:
        for grouping in metric.groupings:
            labels, codes = table.grouping(*grouping)
            searched = np.isin(np.arange(len(labels)), codes[search])
            missing = [label for label, known in zip(labels, searched, strict=True) if not known]
            if missing:
                raise DefinitionError(
                    f"{metric.name}: group {missing[0]!r} of {grouping[0]!r} is only among the rows to certify "
                    "on; merge it with another group (bins cut numbers), or choose other rows with unseen=."
                )


def check_class_sizes(labels: NDArray[Any], folds: Folds) -> None:
    """Warn of classes too small for every fold, and refuse labels with fewer than two others."""
    classes, sizes = np.unique(labels, return_counts=True)
    least = folds if isinstance(folds, int | np.integer) else 2
    rare = classes[sizes < least].tolist()
    if len(classes) - len(rare) < 2:
        raise DefinitionError(
            f"The classes {rare!r} of y have fewer rows than there are folds ({least}); use a smaller "
            "cv, or give more rows of them."
        )
    if rare:
        warnings.warn(
            f"The classes {rare!r} of y have fewer rows than there are folds ({least}): they are "
            "learnt from, but how well they are predicted is not measured.",
            UserWarning,
            stacklevel=3,
        )


def folds_of(
    estimator: Any, groups: Mapping[str, NDArray[Any]], kept: Rows, rows: int, second: int = 0
) -> Folds | Splitting:
    """Return the user's folds as they are among the rows that are kept.

    Parameters
    ----------
    estimator : FencelineEstimator
        Its settings.
    groups : mapping of str to array
        Those that a splitter may be told to keep together, of the rows that are kept.
    kept : array of int
        Which rows are kept.
    rows : int
        How many there were.
    second : int
        How many of them, the last, are those of a second table.
    """
    cv = estimator.cv
    if isinstance(cv, PredefinedSplit):
        # It knows the rows by number, so it has to be asked before any are put aside.
        if len(cv.test_fold) != rows - second:
            raise DefinitionError(
                f"cv=PredefinedSplit has {len(cv.test_fold)} rows, and the table {rows - second}; give "
                "one fold for each row."
            )
        if estimator.cv_group is not None:
            raise DefinitionError(
                f"cv=PredefinedSplit has its folds, and cv_group={estimator.cv_group!r} would keep groups "
                "together; use GroupKFold, say."
            )
        cv = list(cv.split())
    if not is_splitter(cv):
        return folds_among(cv, kept, rows)
    if estimator.cv_group is None:
        return Splitting(cv)
    name = find_group(estimator.cv_group, groups)
    missing = pd.isna(groups[name])
    if missing.any():
        raise DefinitionError(
            f"cv_group={name!r} is missing in {int(missing.sum())} rows; give those rows a group of their own."
        )
    return Splitting(cv, groups[name])


def folds_among(folds: Folds, kept: Rows, rows: int) -> Folds:
    """Return folds as they are among the rows that are kept: row numbers are counted anew.

    Parameters
    ----------
    folds : int, float or list of pairs
        Numbers are returned as they are.
    kept : array of int
        Which rows are kept.
    rows : int
        How many there were.
    """
    if isinstance(folds, int | np.integer):
        return int(folds)
    if isinstance(folds, float):
        return folds
    place = np.full(rows, -1)
    place[kept] = np.arange(len(kept))
    among = []
    for number, pair in enumerate(folds, 1):
        train, valid = (np.asarray(part) for part in pair)
        for part in (train, valid):
            if part.ndim != 1 or part.dtype.kind not in "iu" or not _within(part, rows):
                raise DefinitionError(
                    f"cv: fold {number} must be two arrays of row numbers from 0 to {rows - 1}. Got {short(pair)}."
                )
        if np.intersect1d(train, valid).size:
            raise DefinitionError(f"cv: fold {number} measures on rows that it was fitted on.")
        train, valid = (place[part][place[part] >= 0] for part in (train, valid))
        if not train.size or not valid.size:
            raise DefinitionError(f"cv: fold {number} has no rows left to fit on or to measure on.")
        among.append((train, valid))
    return among


def unseen_among(unseen: Any, kept: Rows, rows: int) -> float | Rows | None:
    """Return the share to certify on, or the rows to certify on as they are counted among those kept.

    Parameters
    ----------
    unseen : float, sequence of int or None
        As the estimator was given it.
    kept : array of int
        Which rows are kept.
    rows : int
        How many there were.
    """
    if unseen is None:
        return None
    if isinstance(unseen, float | np.floating) and 0 < unseen < 1:
        return float(unseen)
    given = np.asarray(unseen if isinstance(unseen, list | tuple | np.ndarray) else [])
    if (
        not given.size
        or given.ndim != 1
        or given.dtype.kind not in "iu"
        or not _within(given, rows)
    ):
        raise DefinitionError(
            "unseen must be the share of rows to certify on, between 0 and 1, or row numbers from 0 "
            f"to {rows - 1}. Got {short(unseen)}; a second table goes to fit(..., unseen=(X, y))."
        )
    among = np.flatnonzero(np.isin(kept, given))
    if not among.size or among.size == kept.size:
        raise DefinitionError(
            "unseen must leave rows to search with and rows to certify on. "
            f"Got {given.size} of {rows} rows."
        )
    return among


def check_groups(X: Any, given: Any, needed: set[str]) -> dict[str, NDArray[Any]]:
    """Return every group that was given or that a metric needs, one value per row."""
    given = as_groups(given)
    if given is not None and not isinstance(given, Mapping):
        raise DefinitionError(
            f"groups must map names to one value per row, such as {{'age': bands}}, or be a DataFrame. Got a {type(given).__name__}."
        )
    groups: dict[str, NDArray[Any]] = {}
    rows = X.shape[0]
    for name, values in (given or {}).items():
        array = np.asarray(values)
        if array.ndim != 1 or len(array) != rows:
            raise DefinitionError(
                f"groups[{name!r}] must have one value for each of the {rows} rows. Got shape {array.shape}."
            )
        groups[str(name)] = array
    columns = (
        {} if sparse.issparse(X) or not hasattr(X, "columns") else {str(c): c for c in X.columns}
    )
    for name in sorted(needed):
        known = find_group(name, groups | columns)
        if known not in groups:
            groups[known] = X[columns[known]].to_numpy()
    return groups


def _within(part: NDArray[Any], rows: int) -> bool:
    return part.size == 0 or (part.min() >= 0 and part.max() < rows)

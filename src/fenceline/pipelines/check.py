"""Checks of what users hand in: each message names what was given, and the remedy."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from fenceline.errors import DefinitionError
from fenceline.metrics.trial import Task, find_group
from fenceline.pipelines.measure import check_folds
from fenceline.pipelines.prepare import as_table
from fenceline.space import Space


def check_settings(estimator: Any) -> None:
    """Refuse settings that make no sense before any time is spent."""
    check_folds(estimator.cv)
    if estimator.on_infeasible not in ("raise", "warn"):
        raise DefinitionError(
            f"on_infeasible must be 'raise' or 'warn'. Got {estimator.on_infeasible!r}."
        )
    if not isinstance(estimator.space, str | Space):
        raise DefinitionError(
            f"space must be 'default', 'paper', 'small' or a Space. Got {estimator.space!r}."
        )
    if not 0.5 < estimator.confidence < 1:
        raise DefinitionError(
            f"confidence must lie between 0.5 and 1. Got {estimator.confidence!r}."
        )


def seed(random_state: Any) -> int:
    """Return one number for all that is random."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_X(estimator: Any, X: Any, *, reset: bool) -> Any:  # noqa: N802 - X is its name
    """Return the features as pandas, sparse or an array, and remember or compare their columns."""
    X = as_table(X)
    if not isinstance(X, pd.DataFrame):
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype="numeric",
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return X
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    for axis, least, what in ((0, 2 if reset else 1, "sample"), (1, 1, "feature")):
        if X.shape[axis] < least:
            raise DefinitionError(
                f"Found array with {X.shape[axis]} {what}(s) (shape={X.shape}) while a minimum of {least} is required."
            )
    numbers = X.select_dtypes("number")
    if any(np.iscomplexobj(numbers[name]) for name in numbers):
        raise DefinitionError(
            "Complex data not supported: give real and imaginary part a column each."
        )
    infinite = [
        name for name in numbers if np.isinf(numbers[name].to_numpy(np.float64, na_value=0)).any()
    ]
    if infinite:
        raise DefinitionError(
            f"X contains infinity in {infinite!r}; replace it by a number or by a missing value."
        )
    return X


def check_y(estimator: Any, X: Any, y: Any, task: str) -> NDArray[Any]:
    """Return the labels as one column, complete and of the right kind."""
    if y is None:
        raise DefinitionError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    if labels.dtype.kind in "fc":
        assert_all_finite(labels, input_name="y")
    elif pd.isna(labels).any():
        raise DefinitionError("Input y contains NaN; leave out the rows whose label is missing.")
    if task == "regression":
        try:
            return labels.astype(np.float64)
        except (TypeError, ValueError):
            raise DefinitionError(
                f"A regressor needs numbers in y. Got values such as {labels[0]!r}; for classes use FencelineClassifier."
            ) from None
    check_classification_targets(labels)
    return labels


def classification_task(labels: NDArray[Any]) -> Task:
    """Tell whether there are two classes or more."""
    classes = np.unique(labels)
    if len(classes) < 2:
        raise DefinitionError(
            f"y holds one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    return "binary" if len(classes) == 2 else "multiclass"


def check_class_sizes(labels: NDArray[Any], folds: int | float) -> None:
    """Warn of classes too small for every fold, and refuse labels with fewer than two others."""
    classes, sizes = np.unique(labels, return_counts=True)
    least = folds if isinstance(folds, int) else 2
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


def check_groups(
    X: Any, given: Mapping[str, Any] | None, needed: set[str]
) -> dict[str, NDArray[Any]]:
    """Return every group that was given or that a metric needs, one value per row."""
    if given is not None and not isinstance(given, Mapping):
        raise DefinitionError(
            f"groups must map names to one value per row, such as {{'age': bands}}. Got a {type(given).__name__}."
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

"""Checks of what users hand in: each message names what was given, and the remedy."""

from collections.abc import Mapping
from os import PathLike
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from fenceline.errors import DefinitionError, suggestion
from fenceline.metrics.trial import Task
from fenceline.minimize import check_budget
from fenceline.pipelines.ensemble import check_ensemble
from fenceline.pipelines.fitting.prepare import as_table
from fenceline.pipelines.fitting.prepare_columns import to_dense
from fenceline.pipelines.fold_checks import check_folds
from fenceline.pipelines.splitting import is_splitter
from fenceline.problem.space import Space


def check_settings(estimator: Any) -> None:
    """Refuse settings that make no sense before any time is spent."""
    if not is_splitter(estimator.cv):
        check_folds(estimator.cv)
    if estimator.cv_group is not None and not isinstance(estimator.cv_group, str):
        raise DefinitionError(
            f"cv_group must be the name of a group or column. Got {estimator.cv_group!r}."
        )
    if estimator.cv_group is not None and not is_splitter(estimator.cv):
        raise DefinitionError(
            f"cv_group={estimator.cv_group!r} is for a splitter as cv, such as GroupKFold(3). "
            f"Got cv={short(estimator.cv)}."
        )
    check_ensemble(estimator.ensemble)
    if estimator.on_infeasible not in ("raise", "warn"):
        raise DefinitionError(
            f"on_infeasible must be 'raise' or 'warn'. Got {estimator.on_infeasible!r}."
        )
    if not isinstance(estimator.space, str | Space):
        raise DefinitionError(
            f"space must be 'default', 'wide', 'paper', 'small' or a Space. Got {estimator.space!r}."
        )
    confidence = estimator.confidence
    if not isinstance(confidence, int | float | np.floating) or not 0.5 < confidence < 1:
        raise DefinitionError(f"confidence must be a number between 0.5 and 1. Got {confidence!r}.")
    if estimator.prefer not in ("certainty", "objective"):
        raise DefinitionError(
            f"prefer must be 'certainty' or 'objective'. Got {estimator.prefer!r}."
        )
    for name in ("joint", "search_threshold", "search_emphasis", "group_thresholds"):
        given = getattr(estimator, name)
        if not isinstance(given, bool | np.bool_):
            raise DefinitionError(f"{name} must be True or False. Got {given!r}.")

    _check_fold_votes(estimator)
    if not isinstance(estimator.run_dir, str | PathLike | None):
        raise DefinitionError(f"run_dir must be a path. Got {estimator.run_dir!r}.")
    if estimator.evaluations is not None or estimator.seconds is not None:
        check_budget(estimator.evaluations, estimator.seconds)


def _check_fold_votes(estimator: Any) -> None:
    if not isinstance(estimator.fold_votes, bool | np.bool_ | None):
        raise DefinitionError(
            f"fold_votes must be True, False or None. Got {estimator.fold_votes!r}."
        )
    if not estimator.fold_votes:
        return
    if estimator.ensemble:
        raise DefinitionError(
            f"fold_votes=True lets fits of one pipeline vote, and ensemble={estimator.ensemble} several "
            "pipelines; leave out one of the two."
        )
    if not isinstance(estimator.cv, int | np.integer):
        raise DefinitionError(
            f"fold_votes=True needs a number of folds as cv. Got cv={short(estimator.cv)}; use cv=3, say."
        )


def seed(random_state: Any) -> int:
    """Return one number for all that is random."""
    if isinstance(random_state, int | np.integer):
        if not 0 <= random_state < 2**32:
            raise DefinitionError(
                f"random_state must be a whole number from 0 to 2**32 - 1. Got {random_state!r}."
            )
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_X(estimator: Any, X: Any, *, reset: bool) -> Any:  # noqa: N802 - X is its name
    """Return the features as pandas, sparse or an array, and remember or compare their columns."""
    if not reset and _familiar(estimator, X):
        return X
    X = as_table(X)
    if reset:
        estimator._sparse_ = sparse.issparse(X)
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
        # Pipelines fitted on dense tables know nothing of sparse ones.
        return X if estimator._sparse_ else to_dense(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    for axis, least, what in ((0, 2 if reset else 1, "sample"), (1, 1, "feature")):
        if X.shape[axis] < least:
            raise DefinitionError(
                f"Found array with {X.shape[axis]} {what}(s) (shape={X.shape}) while a minimum of {least} is required."
            )
    if not reset:
        return X  # the preparation refuses what it cannot use, in a fraction of the time
    numeric = X.select_dtypes("number")
    if any(np.iscomplexobj(numeric[name]) for name in numeric):
        raise DefinitionError(
            "Complex data not supported: give real and imaginary part a column each."
        )
    infinite = [
        name for name in numeric if np.isinf(numeric[name].to_numpy(np.float64, na_value=0)).any()
    ]
    if infinite:
        raise DefinitionError(
            f"X contains infinity in {infinite!r}; replace it by a number or by a missing value."
        )
    return X


def _familiar(estimator: Any, X: Any) -> bool:
    """Tell whether a table to predict has the very columns of the one fitted on: nothing is left to check."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or not isinstance(X, pd.DataFrame) or X.shape[1] != len(known) or X.empty:
        return False
    return bool(np.array_equal(X.columns.to_numpy(), known))


def check_y(estimator: Any, X: Any, y: Any) -> NDArray[Any]:
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
    if is_regressor(estimator):
        try:
            return labels.astype(np.float64)
        except (TypeError, ValueError):
            raise DefinitionError(
                f"A regressor needs numbers in y. Got values such as {labels[0]!r}; for classes use FencelineClassifier."
            ) from None
    texts = [isinstance(label, str) for label in labels] if labels.dtype == object else []
    if any(texts) and not all(texts):
        text, other = labels[texts.index(True)], labels[texts.index(False)]
        raise DefinitionError(
            f"The labels in y are of several types, such as {text!r} and {other!r}; make them all texts, "
            "or all numbers."
        )
    check_classification_targets(labels)
    return labels


def check_weights(X: Any, given: Any) -> NDArray[np.float64] | None:
    """Return how much each row counts: finite, not negative, and not 0 for all but one."""
    if given is None:
        return None
    rows = X.shape[0]
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DefinitionError("sample_weight must be numbers, one for each row.") from None
    if weights.shape != (rows,):
        raise DefinitionError(
            f"sample_weight must have one value for each of the {rows} rows. Got shape {weights.shape}."
        )
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if wrong.size:
        raise DefinitionError(
            f"sample_weight must be finite and not negative. Got {wrong[0]} in {wrong.size} of {rows} "
            "rows; a weight of 0 leaves a row out."
        )
    counted = np.count_nonzero(weights)
    if counted < 2:
        raise DefinitionError(
            f"All weights in sample_weight but {counted} are zero; at least two rows must count."
        )
    return weights


def task_of(estimator: Any, labels: NDArray[Any]) -> Task:
    """Tell whether numbers, two classes or more are to be predicted."""
    if is_regressor(estimator):
        return "regression"
    classes = np.unique(labels)
    if len(classes) < 2:
        raise DefinitionError(
            f"y holds one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    return "binary" if len(classes) == 2 else "multiclass"


def positive_class(given: Any, labels: NDArray[Any], task: Task) -> Any:
    """Return the label of the positive class as it stands among the labels; None if none was given."""
    if given is None:
        return None
    if task != "binary":
        raise DefinitionError(
            f"positive={given!r} is for two classes, and this task is {task}; leave it out."
        )
    classes = np.unique(labels)
    # A text stands for a number, too: a command line has only texts.
    found = [label for label in classes if label == given] or [
        label for label in classes if str(label) == str(given)
    ]
    if not found:
        raise DefinitionError(
            f"positive={given!r} is none of the classes of y; give one of {classes.tolist()!r}."
        )
    return found[0]


def directions(given: Any, X: Any, task: Task) -> tuple[tuple[int, int], ...]:
    """Return the columns that have a direction, by position, and 1 or -1."""
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not given:
        raise DefinitionError(
            f"monotone must map columns to 1 or -1, such as {{'income': 1}}. Got {given!r}."
        )
    if task == "multiclass" or sparse.issparse(X):
        what = "more than two classes" if task == "multiclass" else "sparse tables"
        raise DefinitionError(f"monotone is not defined for {what}; leave it out.")
    names = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    found = []
    for column, direction in given.items():
        if column not in names:
            raise DefinitionError(
                f"monotone: there is no column {column!r}.{suggestion(str(column), map(str, names))}"
            )
        if isinstance(direction, bool) or direction not in (1, -1):
            raise DefinitionError(
                f"monotone[{column!r}] must be 1 or -1: whether the answer grows or falls with the "
                f"column. Got {direction!r}."
            )
        place = names.index(column)
        if isinstance(X, pd.DataFrame) and not pd.api.types.is_numeric_dtype(X.iloc[:, place]):
            raise DefinitionError(
                f"monotone: the column {column!r} holds no numbers, so it does not grow; leave it out, "
                "or code it in an order of your own."
            )
        found.append((place, int(direction)))
    return tuple(sorted(found))

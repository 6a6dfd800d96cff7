"""Tables of any kind, made numeric inside the pipeline: fitted within folds, so nothing leaks.

Numbers and booleans are imputed by the median; texts and categories one-hot encoded, rare values
together and missing ones apart; dates become numbers. All of it is plain scikit-learn.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from fenceline.errors import DefinitionError

MOST_CATEGORIES = 30
"""Columns that one text column may become; rarer values share the last."""
DENSE_CELLS = 50_000_000
"""A sparse table up to this many cells is made dense, for few algorithms take sparse ones."""
_EPOCH = pd.Timestamp(0, tz="UTC")
_NOTHING = "Every column of X is missing from top to bottom; there is nothing to learn from."
_DATE_PARTS = ("year", "month", "day", "day_of_week", "hour")


def preparation(X: Any) -> Any:
    """Return the unfitted transformer that makes a table numeric.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix
        Only its columns' types are looked at, and whether a column is missing altogether.
    """
    if sparse.issparse(X):
        rows, columns = X.shape  # type: ignore[attr-defined] # the stubs know no common class
        dense = rows * columns <= DENSE_CELLS
        return FunctionTransformer(to_dense if dense else None, accept_sparse=True)
    if not isinstance(X, pd.DataFrame):
        return SimpleImputer(strategy=median, keep_empty_features=True)
    kinds: dict[str, list[Any]] = {"number": [], "date": [], "text": []}
    named = all(isinstance(name, str) for name in X.columns)
    for position, name in enumerate(X.columns):
        kind = _kind(X.iloc[:, position])
        if kind is not None:
            kinds[kind].append(name if named else position)
    impute = SimpleImputer(strategy=median, keep_empty_features=True)
    if len(kinds["number"]) == X.shape[1]:
        return impute  # taking columns apart and together again costs most of the time to predict
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=2,
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
    )
    whole = {
        "number": impute,
        "date": make_pipeline(
            FunctionTransformer(date_numbers, feature_names_out=date_names), impute
        ),
        "text": make_pipeline(
            FunctionTransformer(plain_text, feature_names_out="one-to-one"), encode
        ),
    }
    parts = [(kind, whole[kind], columns) for kind, columns in kinds.items() if columns]
    if not parts:
        raise DefinitionError(_NOTHING)
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def as_table(X: Any) -> Any:
    """Return a table in a form `preparation` knows: pandas, sparse or an array of numbers.

    Polars and other data frames that offer ``to_pandas`` are converted; so is an array of
    objects, whose columns may then be of different kinds.
    """
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas") and hasattr(X, "columns"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        repeated = X.columns[X.columns.duplicated()].tolist()
        if repeated:
            raise DefinitionError(f"X has several columns named {repeated!r}; rename them.")
        return X
    if sparse.issparse(X):
        return X.tocsr()  # type: ignore[attr-defined]
    array = np.asarray(X)
    if array.dtype.kind in "OUS" and array.ndim == 2:
        return pd.DataFrame(array).infer_objects()
    return array


def warn_of_empty_columns(X: Any) -> None:
    """Warn of columns that are missing from top to bottom, and refuse a table that has no others."""
    if sparse.issparse(X):
        return
    missing = pd.isna(X).all(axis=0)
    if np.all(missing):
        raise DefinitionError(_NOTHING)
    if np.any(missing):
        names = X.columns[missing] if isinstance(X, pd.DataFrame) else np.flatnonzero(missing)
        warnings.warn(
            f"X has columns without any value: {list(names)!r}. They are left out; drop them or "
            "mend how the table is read.",
            UserWarning,
            stacklevel=3,
        )


def median(values: NDArray[Any]) -> float:
    """Return the median of a column's values; 0 if there are none.

    scikit-learn's own ``strategy="median"`` sorts the whole table by its indices: many times
    slower, with several copies of it in memory.
    """
    return float(np.median(values)) if values.size else 0.0


def to_dense(X: Any) -> NDArray[Any]:
    """Make a sparse table dense; one that is dense already stays as it is."""
    dense: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else X
    return dense


def date_numbers(X: pd.DataFrame) -> NDArray[np.float64]:
    """Turn date columns into days since 1970 and the parts that repeat: year to hour."""
    parts = []
    for position in range(X.shape[1]):
        dates = pd.to_datetime(X.iloc[:, position], utc=True)
        days = (dates - _EPOCH) / pd.Timedelta(days=1)
        parts += [days, *(getattr(dates.dt, part) for part in _DATE_PARTS)]
    return np.column_stack([part.to_numpy(dtype=np.float64, na_value=np.nan) for part in parts])


def date_names(_: FunctionTransformer, columns: Sequence[str]) -> list[str]:
    """Name what :func:`date_numbers` returns."""
    return [f"{column}_{part}" for column in columns for part in ("days", *_DATE_PARTS)]


def plain_text(X: pd.DataFrame) -> NDArray[np.object_]:
    """Turn any values into text, missing ones of all kinds into NaN."""
    text = X.astype(str).to_numpy(dtype=object, copy=True)
    text[pd.isna(X).to_numpy()] = np.nan
    return text


def _kind(column: "pd.Series[Any]") -> str | None:
    """Tell how a column is prepared; None for one that holds nothing."""
    if column.isna().all():
        return None
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return "number"
    if types.is_datetime64_any_dtype(column):
        return "date"
    return "text"

"""Tables of any kind, made numeric inside the pipeline: fitted within folds, so nothing leaks.

Numbers and booleans are imputed by the median; texts and categories encoded; dates become numbers.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.prepare_columns import arrow_numbers, kind, median, to_dense
from fenceline.pipelines.fitting.prepare_table import TablePreparation

DENSE_CELLS = 50_000_000
"""A sparse table up to this many cells is made dense, for few algorithms take sparse ones."""
_NOTHING = "Every column of X is missing from top to bottom; there is nothing to learn from."


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
    kinds = _kinds(X)
    if not any(kinds.values()):
        raise DefinitionError(_NOTHING)
    return TablePreparation(kinds["number"], kinds["date"], kinds["text"])


def has_categories(X: Any) -> bool:
    """Tell whether a table has texts or categories to encode."""
    return isinstance(X, pd.DataFrame) and bool(_kinds(X)["text"])


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
        return arrow_numbers(X)
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
            stacklevel=4,
        )


def _kinds(X: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of each kind: by name, or by position where not all names are texts."""
    kinds: dict[str, list[Any]] = {"number": [], "date": [], "text": []}
    named = all(isinstance(name, str) for name in X.columns)
    for position, name in enumerate(X.columns):
        found = kind(X.iloc[:, position])
        if found is not None:
            kinds[found].append(name if named else position)
    return kinds

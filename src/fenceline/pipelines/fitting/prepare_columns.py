"""What becomes of a column, by its kind: medians for numbers, parts of dates, texts as codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from sklearn.preprocessing import FunctionTransformer

from fenceline.errors import DefinitionError

_EPOCH = pd.Timestamp(0, tz="UTC").as_unit("s")
"""In seconds: a difference is counted in the finer unit of the two, and nanoseconds end in 2262."""
DATE_PARTS = ("year", "month", "day", "day_of_week", "hour")
INFINITE = "X contains infinity in {!r}; replace it by a number or by a missing value."
PARTS = ("days", *DATE_PARTS)
"""What a date becomes."""


def kind(column: "pd.Series[Any]") -> str | None:
    """Tell how a column is prepared: "number", "date" or "text"; None for one that holds nothing."""
    if column.isna().all():
        return None
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return "number"
    if types.is_datetime64_any_dtype(column):
        return "date"
    return "text"


def median(values: NDArray[Any]) -> float:
    """Return the median of a column's values; 0 if there are none.

    scikit-learn's own ``strategy="median"`` sorts the whole table by its indices: many times
    slower, with several copies of it in memory.
    """
    return float(np.median(values)) if values.size else 0.0


def numbers_of(X: pd.DataFrame) -> NDArray[Any]:
    """Return columns of numbers and booleans as one block; NaN where a value is missing.

    Single precision stays as it is, as in scikit-learn's imputer: medians are taken in it.
    """
    plain = [dtype for dtype in X.dtypes if isinstance(dtype, np.dtype)]
    common = np.result_type(*plain) if len(plain) == X.shape[1] else np.dtype(np.float64)
    block = X.to_numpy(dtype=common if common.kind == "f" else np.float64, na_value=np.nan)
    infinite = np.isinf(block).any(axis=0)
    if infinite.any():
        raise DefinitionError(INFINITE.format(list(X.columns[infinite])))
    return block


def arrow_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """Turn Arrow's decimals and durations, which numpy knows nothing of, into floats."""
    changed = {}
    for name, dtype in X.dtypes.items():
        kind_ = str(dtype.pyarrow_dtype) if isinstance(dtype, pd.ArrowDtype) else ""
        if kind_.startswith(("duration", "decimal")):
            column = X[name].dt.total_seconds() if kind_.startswith("duration") else X[name]
            floats = column.astype("float64[pyarrow]")
            changed[name] = floats.to_numpy(dtype=np.float64, na_value=np.nan)
    if not changed:
        return X
    X = X.copy(deep=False)
    for name, values in changed.items():
        X[name] = values
    return X


def date_numbers(X: pd.DataFrame) -> NDArray[np.float64]:
    """Turn date columns into days since 1970 and the parts that repeat: year to hour."""
    parts: list[Any] = []
    for position in range(X.shape[1]):
        # An index, for each attribute of a Series makes another Series.
        dates = pd.DatetimeIndex(_instants(X.iloc[:, position].array))
        days = (dates - _EPOCH) / pd.Timedelta(days=1)
        parts += [days, *(getattr(dates, part) for part in DATE_PARTS)]
    return np.column_stack([part.to_numpy(dtype=np.float64, na_value=np.nan) for part in parts])


def _instants(values: Any) -> Any:
    try:
        return pd.to_datetime(values, utc=True)
    except pd.errors.OutOfBoundsDatetime:  # pandas 2 reads dates of objects in nanoseconds
        return pd.to_datetime(values, utc=True, errors="coerce")


def date_names(_: FunctionTransformer | None, columns: Sequence[str]) -> list[str]:
    """Name what :func:`date_numbers` returns."""
    return [f"{column}_{part}" for column in columns for part in PARTS]


def text_codes(column: "pd.Series[Any]") -> tuple[NDArray[np.intp], list[str]]:
    """Return the position of each row's text among distinct ones, -1 where it is missing; and the texts.

    Only distinct values are turned into text, which takes most of the time, unless different
    values can have the same. By way of objects, for the text of a value does not depend on its
    neighbours then: a column of whole days has "2 days", and with an hour in it "2 days 00:00:00".
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.intp)
        texts = column.cat.categories.astype(object).astype(str)
        if texts.is_unique:
            return codes, texts.tolist()
    if isinstance(column.dtype, pd.StringDtype) or types.infer_dtype(column) == "string":
        codes, found = pd.factorize(column.array)
        return codes, list(found)
    missing = column.isna().to_numpy()
    codes, found = pd.factorize(column.astype(object).astype(str).to_numpy(dtype=object))
    codes[missing] = -1
    return codes, list(found)


def to_dense(X: Any) -> NDArray[Any]:
    """Make a sparse table dense; one that is dense already stays as it is."""
    dense: NDArray[Any] = X.toarray() if hasattr(X, "toarray") else X
    return dense

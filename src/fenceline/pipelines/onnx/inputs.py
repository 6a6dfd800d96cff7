"""A table as an ONNX runtime takes it."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fenceline.pipelines.fitting.prepare_columns import kind, numbers_of, text_codes
from fenceline.pipelines.onnx.prepare import MISSING

TABLE = "X"
"""The name of the input where the model was fitted on an array."""
_EPOCH = pd.Timestamp(0, tz="UTC").as_unit("s")


def inputs(X: Any, names: Any = None) -> dict[str, NDArray[Any]]:
    """Return the inputs of a converted model for the rows of a table.

    Parameters
    ----------
    X : DataFrame or array
        The rows, in the columns that the model was fitted on.
    names : iterable of str, optional
        The inputs that the file asks for; all columns by default.

    Returns
    -------
    dict
        An array of shape (rows, 1) for each column: doubles for numbers, texts as strings, dates as
        seconds since 1970 in UTC. Missing numbers and dates are NaN, missing texts are empty.
        An array becomes one input ``"X"``.
    """
    if not isinstance(X, pd.DataFrame):
        return {TABLE: np.asarray(X, dtype=np.float64)}
    wanted = None if names is None else set(names)
    columns = {str(name): X.iloc[:, place] for place, name in enumerate(X.columns)}
    if not all(isinstance(name, str) for name in X.columns):
        columns = {f"x{place}": X.iloc[:, place] for place in range(X.shape[1])}
    return {
        name: _column(column).reshape(-1, 1)
        for name, column in columns.items()
        if wanted is None or name in wanted
    }


def _column(column: "pd.Series[Any]") -> NDArray[Any]:
    found = kind(column)
    if found == "date":
        instants = pd.DatetimeIndex(pd.to_datetime(column.array, utc=True))
        seconds = (instants - _EPOCH) / pd.Timedelta(seconds=1)
        return seconds.to_numpy(dtype=np.float64, na_value=np.nan)
    if found == "number":
        return numbers_of(column.to_frame())[:, 0].astype(np.float64)
    codes, texts = text_codes(column)
    return np.array([*texts, MISSING], dtype=object)[codes]

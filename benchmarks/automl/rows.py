"""A table of the comparison, and the quarter of its rows that nobody sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.catalogue import Task

TARGET = "target"
HOLDOUT = 0.25
_MOST_NATIVE = 254
"""Categories of a column that histogram boosting takes as such."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows that measure.

    Parameters
    ----------
    task : str
        What there is to predict.
    X, y : DataFrame, array
        To learn from, raw; classes are numbered in their order.
    unseen, truth : DataFrame, array
        Of the rows kept from everybody.
    rows : array of int
        Which those are.
    """

    task: Task
    X: pd.DataFrame
    y: NDArray[np.float64] | NDArray[np.intp]
    unseen: pd.DataFrame
    truth: NDArray[np.float64] | NDArray[np.intp]
    rows: NDArray[np.intp]

    @property
    def classes(self) -> int:
        """How many there are among the rows to learn from."""
        return len(np.unique(self.y))

    def codes(self) -> tuple[pd.DataFrame, pd.DataFrame, list[bool]]:
        """Return both tables with ordinal codes, and which columns are categories.

        Codes are learnt from the first table; what is new in the second is missing there.
        """
        X, unseen, categories = self.X.copy(), self.unseen.copy(), []
        for column in X:
            text = not pd.api.types.is_numeric_dtype(X[column])
            few = X[column].nunique() <= _MOST_NATIVE
            categories.append(text and few)
            if text:
                known = pd.Index(sorted(X[column].dropna().astype(str).unique()))
                for frame in (X, unseen):
                    found = known.get_indexer(frame[column].astype(str)).astype(float)
                    frame[column] = np.where(frame[column].isna() | (found < 0), np.nan, found)
        return X.astype(float), unseen.astype(float), categories


def load(path: Path, task: Task, seed: int) -> Split:
    """Read a table and part its rows, stratified where there are classes."""
    frame = pd.read_csv(path)
    target = frame.pop(TARGET)
    if task == "regression":
        y = target.to_numpy(dtype=float)
    else:
        y = np.asarray(pd.factorize(target, sort=True)[0])
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=HOLDOUT,
        random_state=seed,
        stratify=None if task == "regression" else y,
    )
    train, test = np.sort(train), np.sort(test)
    parts = [frame.iloc[rows].reset_index(drop=True) for rows in (train, test)]
    return Split(task, parts[0], y[train], parts[1], y[test], test)

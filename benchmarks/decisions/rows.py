"""A table of two classes with its groups, and who may see which of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.decisions.fence import Flags

TARGET = "target"
JUDGING = 1 / 3
"""The share of the rows that nobody sees before the verdict."""
FEWEST_SHARE = 0.05
"""Groups with a smaller share of the rows are joined: a rate of a handful of rows is noise."""
MOST_VALUES = 8
"""Numbers with more values than this are cut at their median."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Decided:
    """A table whose decisions are to be judged.

    Parameters
    ----------
    X : DataFrame
        The features, raw, constant columns left out.
    truth : array of bool
        Whether a row has the last class in order.
    groups : array of str
        The group of each row; all in one where nobody compares.
    """

    X: pd.DataFrame
    truth: Flags
    groups: NDArray[Any]

    def split(self, seed: int) -> tuple[Rows, Rows]:
        """Return the rows for everybody, and those that judge."""
        own, judging = train_test_split(
            np.arange(len(self.truth)), test_size=JUDGING, random_state=seed, stratify=self.truth
        )
        return np.asarray(own), np.asarray(judging)


def load(path: Path, group: str | None = None) -> Decided:
    """Read a table with its classes in the column `target`, else in its last one."""
    frame = pd.read_csv(path)
    codes, classes = pd.factorize(
        frame.pop(TARGET if TARGET in frame else frame.columns[-1]), sort=True
    )
    if len(classes) != 2:
        raise ValueError(f"{path} has {len(classes)} classes; decisions need a table of two.")
    if group is not None and group not in frame:
        raise ValueError(f"{path} has no column {group!r}; there are {', '.join(frame.columns)}.")
    groups = np.zeros(len(frame), dtype=str) if group is None else grouped(frame[group])
    return Decided(frame.loc[:, frame.nunique() > 1], codes == 1, groups)


def grouped(column: pd.Series[Any]) -> NDArray[Any]:
    """Return a text for the group of every row: no missing ones, and none with hardly any rows."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_VALUES:
        edge = column.median()
        return np.where(column > edge, f"above {edge:g}", f"up to {edge:g}")
    labels = column.astype(object).where(column.notna(), "missing").astype(str).to_numpy(object)
    shares = pd.Series(labels).value_counts(normalize=True)
    rare = list(shares.index[shares < FEWEST_SHARE])
    if rare and shares[rare].sum() < FEWEST_SHARE and len(shares) - len(rare) > 2:
        # All rare ones together are rare still: they go with the smallest of the others.
        rare.append(shares.index[shares >= FEWEST_SHARE][-1])
    return (
        np.where(np.isin(labels, rare), "other", labels).astype(str) if rare else labels.astype(str)
    )

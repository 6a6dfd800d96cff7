"""Folds by a splitter of scikit-learn, and certificate rows that are as far apart as its folds are."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, TimeSeriesSplit

from fenceline.errors import DefinitionError
from fenceline.metrics.trial import Rows, Table

DRAWS = 20
"""Of whole groups, from which the one is taken whose share of rows and classes is nearest to what is wanted."""


@dataclass(frozen=True, eq=False)
class Splitting:
    """A splitter, and the groups that it keeps together.

    Parameters
    ----------
    splitter : object with split(X, y, groups)
        Any of scikit-learn's, or your own.
    groups : array, optional
        One for each row; rows of one group are then never on both sides, of the certificate either.
    """

    splitter: Any
    groups: NDArray[Any] | None = None

    @property
    def ordered(self) -> bool:
        """Whether rows are in the order of time: then the last certify."""
        return isinstance(self.splitter, TimeSeriesSplit)

    @property
    def keeps_apart(self) -> bool:
        """Whether rows that certify are the last, or whole groups: not drawn one by one."""
        return self.ordered or self.groups is not None

    def take(self, rows: Rows) -> "Splitting":
        """Return the same for some of the rows."""
        return replace(self, groups=None if self.groups is None else self.groups[rows])

    def apart(self, table: Table, share: float, seed: int) -> tuple[Rows, Rows] | None:
        """Return rows to search with and rows to certify on; None where any rows will do."""
        rows = np.arange(len(table.y))
        if self.ordered:
            last = max(1, round(share * len(rows)))
            # What lies between two folds lies between search and certificate, too.
            end = len(rows) - last - self.splitter.gap
            if end < 1:
                raise DefinitionError(
                    f"cv=TimeSeriesSplit: of {len(rows)} rows the last {last} certify, and a gap of "
                    f"{self.splitter.gap} before them leaves none to search with; use a smaller gap, or "
                    "give more rows."
                )
            return rows[:end], rows[-last:]
        if self.groups is None:
            return None
        if len(np.unique(self.groups)) < 2:
            raise DefinitionError(
                "cv: all rows are of one group, and whole groups are kept for the certificate; give "
                "more groups, or the rows to certify on with unseen=."
            )
        draws = GroupShuffleSplit(DRAWS, test_size=share, random_state=seed)
        found = [(search, kept) for search, kept in draws.split(rows, groups=self.groups)]
        return min(found, key=lambda pair: _unlike(table, pair[1], share))

    def pairs(self, table: Table) -> list[tuple[Rows, Rows]]:
        """Return the folds of a table, or say what the splitter cannot do with it."""
        name = type(self.splitter).__name__
        try:
            found = list(self.splitter.split(table.X, table.y, self.groups))
        except (ValueError, TypeError) as problem:
            remedy = "use fewer folds, or give more rows or groups"
            if self.groups is None and "group" in str(problem).lower():
                remedy = "name a group or column with cv_group="
            raise DefinitionError(
                f"cv={name} cannot split {len(table.y)} rows: {problem}; {remedy}."
            ) from None
        if not found:
            raise DefinitionError(f"cv={name} makes no fold of {len(table.y)} rows; use another.")
        for number, (train, valid) in enumerate(found, 1):
            _check_fold(f"cv={name}: fold {number}", table, np.asarray(train), np.asarray(valid))
        return [(np.asarray(train), np.asarray(valid)) for train, valid in found]


def is_splitter(cv: object) -> bool:
    """Tell whether folds are left to an object that splits."""
    return callable(getattr(cv, "split", None)) and not isinstance(cv, str | bytes)


def _unlike(table: Table, rows: Rows, share: float) -> float:
    """Return how far the rows are from the share that is wanted, and from the classes of all."""
    apart = abs(len(rows) / len(table.y) - share)
    if table.task == "regression":
        return apart
    size = len(table.classes)
    every, own = (np.bincount(y, minlength=size) for y in (table.target, table.target[rows]))
    return float(apart + np.abs(own / max(1, own.sum()) - every / every.sum()).max())


def _check_fold(name: str, table: Table, train: Rows, valid: Rows) -> None:
    for rows, what in ((train, "to fit on"), (valid, "to measure on")):
        if not rows.size:
            raise DefinitionError(f"{name} has no rows {what}; use fewer folds, or give more rows.")
        if rows.min() < 0 or rows.max() >= len(table.y):
            raise DefinitionError(
                f"{name} names row {rows.max() if rows.max() >= len(table.y) else rows.min()}, and there "
                f"are {len(table.y)} rows to search with; give the folds as pairs of row numbers, cv=[...]."
            )
        if table.task == "regression":
            continue
        if len(np.unique(table.target[rows])) < 2:
            raise DefinitionError(
                f"{name} has rows of one class only {what}; use fewer folds, or give more rows."
            )

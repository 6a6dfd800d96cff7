"""A table that grows row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Rows:
    """A table that grows by doubling, so that a row costs the same however many there are."""

    def __init__(self, width: int, dtype: DTypeLike = np.float64) -> None:
        self._table = np.empty((8, width), dtype=dtype)
        self._count = 0

    @property
    def view(self) -> NDArray[Any]:
        """The rows so far; a view, which keeps the whole table alive."""
        return self._table[: self._count]

    def append(self, row: object) -> None:
        """Add a row."""
        if self._count == len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        self._table[self._count] = row
        self._count += 1

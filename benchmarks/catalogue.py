"""Which real tables there are: read from the list beside them, drawn by a seed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

DATA = Path("../shared/data")
REPORTED = ("fairness", "meta")
"""Folders to report on; the others are for tuning."""
Task: TypeAlias = Literal["binary", "multiclass", "regression"]
_PROTECTED = re.compile(r"protected: ([^;]+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A table.

    Parameters
    ----------
    path : str
        Below the data directory, without its ending.
    rows : int
        How many it has.
    task : str
        What there is to predict.
    protected : tuple of str
        Columns whose groups should be treated alike, the usual one first.
    """

    path: str
    rows: int
    task: Task
    protected: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Short, for tables and files."""
        return self.path.rpartition("/")[2]


def catalogue(data: Path) -> list[Entry]:
    """Read the list in ``README.md``, whose columns are file, rows, features, missing, classes, ..."""
    entries = []
    for line in (data / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not cells[0].endswith(".csv.gz"):
            continue
        classes = cells[4]
        task: Task = "multiclass"
        if classes.startswith("regression"):
            task = "regression"
        elif classes.split()[0] == "2":
            task = "binary"
        named = _PROTECTED.search(cells[-1])
        protected = tuple(part.strip() for part in named[1].split(",")) if named else ()
        entries.append(Entry(cells[0].removesuffix(".csv.gz"), int(cells[1]), task, protected))
    return entries


def spread(entries: Sequence[Entry], count: int, rng: np.random.Generator) -> list[Entry]:
    """Draw tables of all sizes: as many slices by rows as are wanted, one table of each."""
    ordered = sorted(entries, key=lambda entry: (entry.rows, entry.name))
    slices = np.array_split(np.arange(len(ordered)), min(count, len(ordered)))
    return [ordered[int(rng.choice(part))] for part in slices]

"""Which real tables there are: read from the list beside them, drawn by a seed.

Run ``python -m benchmarks.catalogue`` to write the list into the documentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.pages import markdown, publish

DATA = Path(os.environ.get("FENCELINE_DATA", "../shared/data"))
"""Where the tables are, a folder for each collection."""
REPORTED = ("fairness", "meta")
"""Folders to report on; the others are for tuning."""
Task: TypeAlias = Literal["binary", "multiclass", "regression"]
_ENDING = ".csv.gz"
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


def listed(data: Path) -> list[list[str]]:
    """Return the lines of the list, a cell for each column."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in (data / "README.md").read_text().splitlines()
    ]
    return [cells for cells in rows if cells[0].endswith(_ENDING)]


def catalogue(data: Path) -> list[Entry]:
    """Read the list in ``README.md``, whose columns are file, rows, features, missing, classes, ..."""
    entries = []
    for cells in listed(data):
        classes = cells[4]
        task: Task = "multiclass"
        if classes.startswith("regression"):
            task = "regression"
        elif classes.split()[0] == "2":
            task = "binary"
        named = _PROTECTED.search(cells[-1])
        protected = tuple(part.strip() for part in named[1].split(",")) if named else ()
        entries.append(Entry(cells[0].removesuffix(_ENDING), int(cells[1]), task, protected))
    return entries


def spread(entries: Sequence[Entry], count: int, rng: np.random.Generator) -> list[Entry]:
    """Draw tables of all sizes: as many slices by rows as are wanted, one table of each."""
    ordered = sorted(entries, key=lambda entry: (entry.rows, entry.name))
    slices = np.array_split(np.arange(len(ordered)), min(count, len(ordered)))
    return [ordered[int(rng.choice(part))] for part in slices]


def main() -> None:
    """Write the list of tables into the documentation."""
    header = ["table", "rows", "columns (categories)", "classes", "from", "licence", "note"]
    rows = [
        [cells[0].removesuffix(_ENDING), *cells[1:3], *cells[4:7], cells[-1]]
        for cells in listed(DATA)
    ]
    publish(Path("docs/benchmarks/data.md"), markdown(header, rows))


if __name__ == "__main__":
    main()

"""Pages of the documentation that hold measured tables between two marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MARKS = "<!-- tables -->", "<!-- end of tables -->"


def published(page: str, tables: str) -> str:
    """Return a page with other tables."""
    before, _, rest = page.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    return f"{before}{MARKS[0]}\n\n{tables}\n{MARKS[1]}{after}"


def publish(path: Path, tables: str) -> None:
    """Write tables into a page."""
    path.write_text(published(path.read_text(), tables))


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target, what was measured, and whether it is enough.

    Parameters
    ----------
    asked, measured : str
        In words.
    met : bool or None
        None where runs are missing, so that nobody can tell.
    """

    asked: str
    measured: str
    met: bool | None

    @property
    def cells(self) -> list[str]:
        """The line of a table."""
        word = "not measured" if self.met is None else "met" if self.met else "missed"
        return [self.asked, self.measured, word]


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Return all verdicts, a line each."""
    return markdown(["target", "measured", "verdict"], [verdict.cells for verdict in verdicts])

"""What a shell offers for the values of options: columns of the table, metrics, spaces.

Nothing here may fail or print: whoever presses the tab key wants a word, or none.
"""

import contextlib
import csv
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

TASKS = ("classification", "regression")
_TEXTS = (".csv", ".tsv")
_LONGEST_HEADER = 1_000_000


def columns(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Offer the columns of the table on the command line, from its first line alone."""
    # An option that still lacks its value ends the parsing before arguments are told apart.
    path = context.params.get("data") or next(iter(context.args), None)
    if path is not None:
        yield from _beginning(_header(Path(path)), incomplete)


def metrics(incomplete: str) -> Iterator[str]:
    """Offer the names of metrics and scores."""
    from fenceline.metrics.registry import known_names

    yield from _beginning(known_names(), incomplete)


def spaces(incomplete: str) -> Iterator[str]:
    """Offer the names of spaces."""
    from fenceline.pipelines.spaces.catalogue import NAMES

    yield from _beginning(NAMES, incomplete)


def tasks(incomplete: str) -> Iterator[str]:
    """Offer the two tasks."""
    yield from _beginning(TASKS, incomplete)


def _beginning(words: Iterable[str], incomplete: str) -> Iterator[str]:
    return (word for word in words if word.startswith(incomplete))


def _header(path: Path) -> list[str]:
    packed = path.suffix.lower() == ".gz"
    kind = path.with_suffix("").suffix if packed else path.suffix
    if kind.lower() not in _TEXTS:
        return []
    with contextlib.suppress(OSError, ValueError, EOFError, csv.Error):
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig") as file:
            line = file.readline(_LONGEST_HEADER)
        separator = max(",;\t|", key=line.count)
        return next(csv.reader([line], delimiter=separator), [])
    return []

"""Tables on the disk: comma-separated values, Parquet and Arrow, told apart by the file's name."""

import gzip
import io
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fenceline.errors import DefinitionError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

KINDS = ".csv, .tsv, .parquet, .feather or .arrow (the first two also with .gz)"
STANDARD_INPUT = "standard input"
_ARROW = (".parquet", ".feather", ".arrow")
_SEPARATORS = ",;\t|"
_LONGEST_HEADER = 10_000_000
MOST_BYTES, MOST_GROWTH = 1 << 30, 100
"""A compressed table may open to this size, or to so many times its own; real ones to a tenth of that."""


def read_table(path: Path) -> "pd.DataFrame":
    """Read a table, or say in one line why it cannot be read."""
    import pandas as pd

    read = _reader(path)
    if path.is_dir():
        raise DefinitionError(f"{path} is a directory; name the file of the table.")
    if not path.exists():
        raise DefinitionError(f"There is no file {path}; check the path of the table.")
    if not path.stat().st_size:
        raise DefinitionError(f"{path} is empty; give a table with a header and rows.")
    try:
        table = read(path)
    except OSError as problem:
        reason = problem.strerror or _first_line(problem)
        raise DefinitionError(
            f"{path} cannot be read ({reason}); check the file and its permissions."
        ) from problem
    except (MissingDependencyError, DefinitionError):
        raise
    except (ValueError, pd.errors.ParserError, EOFError, ImportError) as problem:
        raise DefinitionError(
            f"{path} is not a table that can be read ({_first_line(problem)}); give {KINDS}."
        ) from problem
    return _checked(table, path)


def _checked(table: "pd.DataFrame", path: object) -> "pd.DataFrame":
    """Refuse a table without rows, and one with two columns of one name."""
    if not len(table):
        raise DefinitionError(f"{path} has a header and no rows; give a table with rows.")
    table.columns = table.columns.map(str)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise DefinitionError(f"{path} has two columns {twice[0]!r}; rename one of them.")
    return table


def read_any(path: Path) -> "pd.DataFrame":
    """Read a table from a file, or from standard input if the path is a dash."""
    return read_stream(sys.stdin.buffer) if str(path) == "-" else read_table(path)


def read_stream(stream: BinaryIO) -> "pd.DataFrame":
    """Read comma-separated values, or other text with a header, from standard input."""
    import pandas as pd

    content = stream.read()
    if not content.strip():
        raise DefinitionError("Standard input is empty; give a table with a header and rows.")
    try:
        header = content.split(b"\n", 1)[0].decode("utf-8-sig")
        separator = max(_SEPARATORS, key=header.count)
        table = pd.read_csv(io.BytesIO(content), sep=separator, low_memory=False)
    except (ValueError, pd.errors.ParserError) as problem:
        raise DefinitionError(
            f"Standard input is not a table that can be read ({_first_line(problem)}); give text in "
            "UTF-8, with a header and values between commas."
        ) from problem
    return _checked(table, STANDARD_INPUT)


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table in the form its name asks for."""
    kind = _kind(path)
    try:
        if kind in _ARROW:
            _pyarrow(path)
            (table.to_parquet if kind == ".parquet" else table.to_feather)(path)
        else:
            table.to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    except OSError as problem:
        raise DefinitionError(
            f"{path} cannot be written ({problem.strerror or problem}); choose another --out."
        ) from problem


def check_writable(path: Path) -> None:
    """Refuse a place to write to before time is spent on what should be written there."""
    _kind(path)
    if path.is_dir():
        raise DefinitionError(f"{path} is a directory; name a file, such as {path / 'out.csv'}.")
    if not path.parent.is_dir():
        raise DefinitionError(f"There is no directory {path.parent}; make it, or choose another.")


def _kind(path: Path) -> str:
    """Return the ending that tells the form of a table."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
        if endings and endings[-1] in (".csv", ".tsv"):
            return endings[-1]
    elif endings and endings[-1] in (".csv", ".tsv", *_ARROW):
        return endings[-1]
    raise DefinitionError(f"{path} is no table by its name; give {KINDS}.")


def _reader(path: Path) -> Callable[[Path], "pd.DataFrame"]:
    kind = _kind(path)
    if kind == ".parquet":
        _pyarrow(path)
        return _read_parquet
    if kind in _ARROW:
        _pyarrow(path)
        return _read_arrow
    return _read_text


def _read_text(path: Path) -> "pd.DataFrame":
    import pandas as pd

    packed = path.suffix.lower() == ".gz"
    try:
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig") as file:
            header = file.readline(_LONGEST_HEADER)
        if "\0" in header:
            raise ValueError("it holds binary data")
        # The header tells what stands between columns: semicolons are common where commas are decimal.
        separator = max(_SEPARATORS, key=header.count)
        if not packed:
            return pd.read_csv(path, sep=separator, low_memory=False)
        with gzip.open(path) as content:
            bounded = io.BufferedReader(_Bounded(content, path))
            return pd.read_csv(bounded, sep=separator, low_memory=False)
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None


class _Bounded(io.RawIOBase):
    """A compressed file that may not open to any size."""

    def __init__(self, content: Any, path: Path) -> None:
        self._content, self._path = content, path
        self._most = max(MOST_BYTES, MOST_GROWTH * path.stat().st_size)
        self._read = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read on, unless it has been too much."""
        count: int = self._content.readinto(buffer)
        self._read += count
        if self._read > self._most:
            raise DefinitionError(_too_large(self._path, f"more than {self._most >> 20} MB"))
        return count


def _too_large(path: Path, size: str) -> str:
    return (
        f"{path} has {path.stat().st_size >> 10} KB and opens to {size}: it may be made to fill the "
        "memory. If it is yours, give it uncompressed."
    )


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    about = import_module("pyarrow.parquet").read_metadata(path)
    # A cell takes eight bytes at least; one value, repeated, next to none in the file.
    opened = 8 * about.num_rows * about.num_columns
    if opened > max(MOST_BYTES, MOST_GROWTH * path.stat().st_size):
        raise DefinitionError(_too_large(path, f"{opened >> 20} MB"))
    return pd.read_parquet(path, engine="pyarrow")


def _read_arrow(path: Path) -> "pd.DataFrame":
    import pandas as pd

    pyarrow: Any = import_module("pyarrow")
    try:
        return pd.read_feather(path)
    except pyarrow.ArrowInvalid:
        # Not a file of Arrow's; it may be a stream.
        with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_stream(source) as stream:
            frame: pd.DataFrame = stream.read_pandas()
            return frame


def _pyarrow(path: Path) -> None:
    try:
        import_module("pyarrow")
    except ImportError as missing:
        raise MissingDependencyError(
            f"{path.name} needs pyarrow. Install it with: pip install 'fenceline[parquet]', or give a .csv."
        ) from missing


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0].rstrip(".")

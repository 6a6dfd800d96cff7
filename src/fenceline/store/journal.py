"""An append-only file of JSON lines in which no damage goes unnoticed.

Every line carries its sequence number and a CRC-32 that also covers the CRC of the line before,
so a line that was changed, moved, repeated, dropped or taken from another journal breaks the
chain. A record is on the disk when `append` returns.
"""

import contextlib
import fcntl
import json
import os
import warnings
import weakref
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from fenceline.errors import JournalDamagedError, RunLockedError, StoreError

FORMAT = 1
_CRC = b',"crc":"'
_ZEROS = bytes(8)
_OPEN: "weakref.WeakSet[Journal]" = weakref.WeakSet()


class Journal:
    """One journal, open for writing by this process alone.

    Parameters
    ----------
    path : Path
        The file; made if it does not exist.

    Attributes
    ----------
    records : list of dict
        What the journal held when it was opened, in order. The caller may clear it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as problem:
            raise StoreError(
                f"The journal {path} cannot be opened for writing ({problem.strerror}). "
                "Choose a run directory on a disk that can be written to."
            ) from problem
        _OPEN.add(self)
        try:
            _lock(self._file, path)
            data = _contents(self._file, os.fstat(self._file).st_size)
            self.records, self._end, self._crc = scan(data, path)
            self._count = len(self.records) + (self._end > 0)
            if self._end < len(data):
                torn = len(data) - self._end
                warnings.warn(
                    f"The journal {path} ends in the middle of a record, as after a loss of power: "
                    f"its last {torn} bytes were cut off. Everything before is intact.",
                    stacklevel=3,
                )
                os.ftruncate(self._file, self._end)
                os.fsync(self._file)
        except BaseException:
            self.close()
            raise
        if not self._end:
            self.append("journal", {"format": FORMAT})

    def append(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Add one record and return once it is on the disk."""
        if self._file < 0:
            raise StoreError(f"The journal {self.path} is closed; open the run directory again.")
        if self.removed:
            self.close()
            raise StoreError(
                f"The journal {self.path} was removed while the run was writing to it: nothing that "
                "was measured is kept. Leave run directories alone while they are in use, and "
                "start the run again."
            )
        line, crc = _line(self._count, kind, fields, self._crc)
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as problem:
            self._take_back()
            self.close()
            raise StoreError(
                f"The journal {self.path} cannot be written ({problem.strerror}). Its "
                f"{self._count - 1} records are safe: make room on the disk and start the same "
                "run again."
            ) from problem
        except BaseException:
            # Ctrl-C: the record was not acknowledged, and a later one must not follow half of it.
            self._take_back()
            raise
        self._end, self._crc, self._count = self._end + len(line), crc, self._count + 1

    @property
    def removed(self) -> bool:
        """Whether somebody has deleted the file that is being written."""
        return self._file >= 0 and not os.fstat(self._file).st_nlink

    def close(self) -> None:
        """Let another process write; harmless if closed already."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take_back(self) -> None:
        """Leave the journal as it was before the record that could not be written."""
        with contextlib.suppress(OSError):  # then what is torn is cut at the next opening
            os.ftruncate(self._file, self._end)


def _let_go() -> None:
    """Close journals in a forked copy of the process, which would otherwise hold their locks."""
    for journal in list(_OPEN):
        journal.close()


os.register_at_fork(after_in_child=_let_go)


def scan(data: bytes, path: Path) -> tuple[list[dict[str, Any]], int, int]:
    """Check a journal and return its records, the length of its sound part and the last CRC."""
    if not data:
        return [], 0, 0
    end = data.rfind(b"\n") + 1
    lines = [line + b"\n" for line in data.split(b"\n")[:-1]]
    # Some file systems leave a block of zeros where the last write was lost.
    while lines and _ZEROS in lines[-1]:
        end -= len(lines.pop())
    _check_header(lines[0] if lines else b"", data, path)
    records, crc = [], 0
    for number, line in enumerate(lines):
        record, crc = _parse(line, crc, number, path)
        if (seq := record.pop("seq", None)) != number or isinstance(seq, bool):
            _damaged(path, number, "it is not the record that belongs there")
        if not isinstance(record.get("kind"), str):
            _damaged(path, number, "it is not the record that belongs there")
        records.append(record)
    return records[1:], end, crc


def _line(number: int, kind: str, fields: Mapping[str, Any], crc: int) -> tuple[bytes, int]:
    record = {"seq": number, "kind": kind, **fields}
    body = _ENCODER.encode(record).encode()[:-1]
    crc = zlib.crc32(body, crc)
    return body + _CRC + b'%08x"}\n' % crc, crc


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and arrays into Python's own; other things have no place here."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be kept in a journal; give plain numbers and texts.")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_plain)
_DECODER = json.JSONDecoder()


def _parse(line: bytes, crc: int, number: int, path: Path) -> tuple[dict[str, Any], int]:
    body, _, check = line.rpartition(_CRC)
    crc = zlib.crc32(body, crc)
    if check != b'%08x"}\n' % crc:
        _damaged(path, number, "its checksum does not match")
    try:
        record = _DECODER.decode(body.decode() + "}")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        _damaged(path, number, "it is not a record")
    return record, crc


def _check_header(line: bytes, data: bytes, path: Path) -> None:
    """Refuse what is not a journal, and one from the future, before speaking of damage."""
    try:
        header = json.loads(line)
        format_ = header["format"] if header["kind"] == "journal" else None
    except (ValueError, KeyError, TypeError, RecursionError):
        format_ = None
    if isinstance(format_, int) and format_ > FORMAT:
        raise StoreError(
            f"The journal {path} has format {format_}, and this version of Fenceline reads up to "
            f"{FORMAT}. Install a newer Fenceline to continue this run."
        )
    if format_ != FORMAT:
        start = _line(0, "journal", {"format": FORMAT}, 0)[0]
        if start.startswith(data):
            return  # the very first record was torn
        if not data.startswith(b'{"seq":0,"kind":"journal"'):
            raise StoreError(
                f"{path} is not a journal of Fenceline (it starts with {data[:30]!r}). "
                "Choose another run directory."
            )


def _damaged(path: Path, number: int, reason: str) -> NoReturn:
    raise JournalDamagedError(
        f"Line {number + 1} of the journal {path} is damaged: {reason}. The {max(number - 1, 0)} "
        "records before it are intact. Restore the file from a copy, or keep the lines above "
        f"(head -n {number}) and the run will repeat the rest."
    )


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunLockedError(
            f"Another process is writing to {path}. Wait for that run to end, stop it, or choose "
            "another run directory."
        ) from None
    except OSError as problem:
        raise StoreError(
            f"The file system of {path} has no locks ({problem.strerror}), so a second writer "
            "could not be kept out. Choose a run directory on a local disk."
        ) from problem


def _contents(file: int, size: int) -> bytes:
    data = bytearray()
    while piece := os.pread(file, size - len(data) + 1, len(data)):
        data += piece
    return bytes(data)

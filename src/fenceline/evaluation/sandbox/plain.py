"""What may pass from a guarded child to its run: plain data, checked on both sides, never a pickle.

Only the standard library is used: `guard.py` loads this file by path, before anything else.
"""

import json
import math
import numbers
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

HEAD = struct.Struct("<4sIQ")
"""Before every message of a child: a mark, a CRC-32 and the length of what follows."""
MARK = b"FNC1"
MOST_BYTES = 1 << 28
"""The largest message; longer ones are refused in the child, and nobody waits for them here."""
MOST_TRACEBACK = 20_000
STATUSES = ("ok", "error", "memory")
"""What a child may say of a task; all else is for its run to find out."""


class Garbled(Exception):  # noqa: N818 - what was found, not what went wrong
    """Bytes that no child of ours has sent."""


def encode(value: Any) -> bytes:
    """Return a result as JSON; what is not plain data is refused.

    Numbers, texts, None, lists and mappings pass; so do numpy's numbers and arrays. All of a
    value's own code (`__float__`, `items`, `tolist`) runs here, inside the limits of its task.
    """
    body = json.dumps(value, default=_plain).encode()
    if len(body) > MOST_BYTES // 2:
        raise ValueError(f"The result takes {len(body) >> 20} MB; return less.")
    return body


def _plain(value: Any) -> Any:
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(
        f"A {type(value).__name__} cannot be a result; return numbers, texts, lists and mappings."
    )


def pack(fields: Iterable[Any], value: bytes = b"null") -> bytes:
    """Return a message: its fields, and a value that is encoded already."""
    body = json.dumps(list(fields)).encode() + b"\n" + value
    return HEAD.pack(MARK, zlib.crc32(body), len(body)) + body


def unpack(data: bytes | bytearray) -> tuple[tuple[Any, ...], int] | None:
    """Return the fields of the first message, its value last, and its length; None if it is not whole.

    Raises
    ------
    Garbled
        The data are no message, nor the beginning of one.
    """
    if MARK[: len(data)] != data[: len(MARK)]:
        raise Garbled
    if len(data) < HEAD.size:
        return None
    _, crc, length = HEAD.unpack_from(data)
    if length > MOST_BYTES:
        raise Garbled
    end = HEAD.size + length
    if len(data) < end:
        return None
    body = bytes(data[HEAD.size : end])
    first, _, value = body.partition(b"\n")
    try:
        fields = json.loads(first)
        if zlib.crc32(body) != crc or not isinstance(fields, list):
            raise Garbled
        return (*fields, json.loads(value)), end
    except (ValueError, RecursionError):
        raise Garbled from None


def check_outcome(fields: tuple[Any, ...], statuses: Collection[str] = STATUSES) -> tuple[Any, ...]:
    """Return status, message, traceback, seconds, CPU seconds, megabytes and value, if they are such."""
    if len(fields) != 7:
        raise Garbled
    status, message, trace, *numbers_, value = fields
    if (
        status not in statuses
        or not isinstance(message, str)
        or not isinstance(trace, str)
        or not all(isinstance(n, int | float) and 0 <= n < math.inf for n in numbers_)
    ):
        raise Garbled
    return status, message, trace, *map(float, numbers_), value


def describe(problem: BaseException) -> str:
    """Put an exception into one line, even one whose `__str__` raises."""
    try:
        text = str(problem)
    except BaseException:  # whatever it raises, it is about this exception
        text = "(its message cannot be shown)"
    name = type(problem).__name__
    return (f"{name}: {text[:2000]}".splitlines()[0] if text else name)[:1000]


def shorten(trace: str) -> str:
    """Return the end of a traceback, where the reason stands."""
    return trace[-MOST_TRACEBACK:]

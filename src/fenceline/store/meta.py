"""What a run is about: written once beside its journal, compared when the run is resumed."""

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fenceline.errors import RunMismatchError, StoreError

FORMAT = 1
INFORMATIONAL = ("library",)
"""Keys that may differ between the start of a run and its continuation."""
_SHOWN = 8


def plain(thing: Any) -> Any:
    """Describe a settings record, a space or data in JSON's types; arrays by a digest.

    Two things with the same description are the same to a run. Functions are described by
    name, so a changed body goes unnoticed.
    """
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, np.ndarray):
        return _digest(thing)
    if sparse.issparse(thing):
        return _sparse_digest(thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        # Private fields hold what is derived from the others; fields that do not make two things
        # unequal, such as the size of a cache, do not make two runs unequal either.
        public = [
            f.name for f in dataclasses.fields(thing) if f.compare and not f.name.startswith("_")
        ]
        return {"type": type(thing).__name__} | {n: plain(getattr(thing, n)) for n in public}
    if isinstance(thing, Mapping):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, set | frozenset):
        return sorted((plain(item) for item in thing), key=repr)
    if isinstance(thing, list | tuple):
        return [plain(item) for item in thing]
    if hasattr(thing, "to_numpy"):
        return {"columns": plain(list(getattr(thing, "columns", []))), **_digest(thing.to_numpy())}
    # Not repr: it may hold an address, which is another one in every process.
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def check(found: Mapping[str, Any], meta: Mapping[str, Any], directory: Path) -> None:
    """Refuse to continue a run of something else, and show what differs."""
    if isinstance(found.get("format"), int) and found["format"] > FORMAT:
        raise StoreError(
            f"The run directory {directory} has format {found['format']}, and this version of "
            f"Fenceline reads up to {FORMAT}. Install a newer Fenceline to continue this run."
        )
    lines = list(differences(found, meta))
    if lines:
        shown = "\n".join(f"  {line}" for line in lines[:_SHOWN])
        more = f"\n  ... and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        raise RunMismatchError(
            f"The run directory {directory} holds a run of something else:\n{shown}{more}\n"
            "Give the same settings to continue it, or another run directory to start anew."
        )


def differences(there: Any, here: Any, place: str = "") -> Iterator[str]:
    """Yield one line for each place where two descriptions differ."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        keys = dict.fromkeys((*there, *here))
        for key in keys:
            if place or key not in INFORMATIONAL:
                inner = f"{place}.{key}" if place else str(key)
                yield from differences(there.get(key, _ABSENT), here.get(key, _ABSENT), inner)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for index, (a, b) in enumerate(zip(there, here, strict=True)):
            yield from differences(a, b, f"{place}[{index}]")
    elif there != here:
        yield f"{place}: {_short(there)} there, {_short(here)} here"


def stamped(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Add the versions, and give everything the form it has after a trip through JSON."""
    known: dict[str, Any] = json.loads(json.dumps(plain(meta)))
    return {"format": FORMAT, "library": f"fenceline {version('fenceline')}", **known}


def load(path: Path) -> dict[str, Any] | None:
    """Read the description of a run; None if there is none."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise StoreError(f"{path} cannot be read ({problem.strerror}).") from problem
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or type(found.get("format")) is not int:
        raise StoreError(
            f"{path} is not the description of a Fenceline run. Restore it from a copy, or choose "
            "another run directory."
        )
    return found


def save(path: Path, meta: Mapping[str, Any]) -> None:
    """Write the description so that it is there as a whole or not at all."""
    draft = path.with_suffix(".tmp")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(meta, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as problem:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written ({problem.strerror}). Choose a run directory on a disk with "
            "room that can be written to."
        ) from problem


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, _Absent) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _digest(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Describe data without keeping it."""
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": _sha256(array)}


def _sparse_digest(matrix: Any) -> dict[str, Any]:
    """Describe a sparse matrix by its content: in whatever format it comes, and in whatever order."""
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    places = (part.astype(np.int64, copy=False) for part in (rows.indptr, rows.indices))
    return {
        "sparse": True,
        "shape": list(rows.shape),
        "dtype": str(rows.dtype),
        "sha256": _sha256(*places, rows.data),
    }


def _sha256(*arrays: np.ndarray[Any, Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        if array.dtype == object:
            digest.update("\x1f".join(map(repr, array.ravel())).encode())
        else:
            # Seen as bytes where it lies: a copy would double the memory of a large table.
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]

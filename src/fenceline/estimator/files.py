"""Models in files: what a model's `save` writes and :func:`load` reads, without pickle.

A file is a zip that skops writes, with a header of ours beside it. Loading imports and builds only
types on a list: scikit-learn's own, which skops knows, ours, and what the caller trusts.
"""

import contextlib
import copy
import io
import json
import platform
import re
import warnings
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import skops.io
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from fenceline.errors import StoreError
from fenceline.estimator.base import FencelineEstimator
from fenceline.estimator.portable import ALLOWED, portable, restored

FORMAT = 1
_HEADER = "fenceline.json"
_SAFE_SKOPS = (0, 12)
"""The first version that checks a file's types before it runs any of their code."""
_LARGEST_HEADER = 1 << 16
_LONGEST_REASON = 300
MOST_BYTES, MOST_GROWTH = 1 << 30, 100
"""A file may open to this size, or to so many times its own."""


def write(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file.

    Raises
    ------
    NotFittedError
        There is nothing to save yet.
    StoreError
        The file cannot be written.
    """
    check_is_fitted(model, "best_pipeline_")
    twin = copy.copy(model)
    for name, value in vars(model).items():
        setattr(twin, name, portable(value))
    # Who is told of a search, and where it runs, belongs to this process.
    twin.callbacks = ()
    twin.engine = None
    content = io.BytesIO()
    skops.io.dump(twin, content, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(content, "a") as file:
        file.writestr(_HEADER, json.dumps({"format": FORMAT} | _versions(), indent=2))
    target = Path(path)
    draft = target.with_name(f"{target.name}.tmp")
    try:
        draft.write_bytes(content.getvalue())
        draft.replace(target)  # a file that was there stays whole until the new one is
    except OSError as problem:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(
            f"The model cannot be written to {path} ({problem.strerror}); choose a path in a "
            "directory that exists and can be written to."
        ) from problem


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Read a model that was saved with its `save`.

    Parameters
    ----------
    path : str or Path
        Of the file.
    trusted : iterable of str
        Names of further types the file may hold, such as ``"mypackage.models.MyClassifier"``.
        Their code will be run: give only what you know.

    Returns
    -------
    FencelineClassifier or FencelineRegressor
        Fitted. Its predictions are those of the model that was saved; the data are not there.

    Raises
    ------
    StoreError
        There is no such file, it is not a whole model saved by Fenceline, it was saved by a newer
        format, or it holds types that are not trusted; the message names them.

    Warns
    -----
    UserWarning
        The file was written with another major or minor version of a library the predictions
        depend on.
    """
    _check_skops(path)
    if isinstance(trusted, str):
        trusted = [trusted]
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise StoreError(f"{path} cannot be read ({problem.strerror}).") from problem
    _check_header(path, content)
    try:
        unknown = set(skops.io.get_untrusted_types(data=content))
    except Exception as problem:
        _damaged(path, problem)
    refused = sorted(unknown - ALLOWED - set(trusted))
    if refused:
        raise StoreError(
            f"{path} holds types that Fenceline does not know: {', '.join(refused)}. Loading runs "
            "their code; if you trust the file and them, give fenceline.load(path, "
            f"trusted={refused!r})."
        )
    with warnings.catch_warnings():
        # One warning of our own, above, instead of one for every part of the pipeline.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            model = skops.io.loads(content, trusted=sorted(unknown))
        except ImportError as problem:
            raise StoreError(
                f"{path} needs a package that is not installed: {problem}. Install it and try again."
            ) from problem
        except Exception as problem:
            _damaged(path, problem)
    if not isinstance(model, FencelineEstimator):
        raise StoreError(
            f"{path} holds a {type(model).__name__}, which is not a model of Fenceline; load it with "
            "the library that wrote it."
        )
    try:
        for name, value in vars(model).items():
            setattr(model, name, restored(value))
        # A file may name an address; to connect there is for the caller to say.
        model.engine, model.callbacks, model.run_dir = None, (), None
        check_is_fitted(model, "best_pipeline_")
    except Exception as problem:
        _damaged(path, problem)
    return model


def _check_skops(path: str | Path) -> None:
    found = version("skops")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < _SAFE_SKOPS:
        raise StoreError(
            f"{path} is not read with skops {found}, which runs code of crafted files; install "
            f"skops {'.'.join(map(str, _SAFE_SKOPS))} or newer."
        )


def _versions() -> dict[str, str]:
    """Return the versions that a model's predictions may depend on."""
    libraries = {name: version(name) for name in ("fenceline", "scikit-learn", "numpy")}
    return libraries | {"python": platform.python_version()}


def _check_header(path: str | Path, content: bytes) -> None:
    """Refuse what is not ours, and warn of versions that may predict otherwise."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            opened = sum(entry.file_size for entry in file.infolist())
            if opened > max(MOST_BYTES, MOST_GROWTH * len(content)):
                raise StoreError(
                    f"{path} has {len(content):,} bytes and opens to {opened:,}: that is no model. "
                    "Do not use it."
                )
            if file.getinfo(_HEADER).file_size > _LARGEST_HEADER:
                raise ValueError(f"{_HEADER} is too long")
            header = json.loads(file.read(_HEADER))
        written = header.pop("format")
        if (
            type(written) is not int
            or written < 1
            or not all(isinstance(v, str) for v in header.values())
        ):
            raise ValueError(f"{_HEADER} is not ours")
    except StoreError:
        raise
    except Exception as problem:  # a file made to harm may fail in any way
        _damaged(path, problem)
    if written > FORMAT:
        raise StoreError(
            f"{path} has format {written}, and this version of Fenceline reads up to {FORMAT}. "
            f"Install fenceline {header.get('fenceline')} or newer."
        )
    others = [
        f"{name} {header[name]} (here {here})"
        for name, here in _versions().items()
        if _minor(header.get(name, here)) != _minor(here)
    ]
    if others:
        warnings.warn(
            f"{path} was saved with {', '.join(others)}. Predictions may differ; install those "
            "versions to be sure, or fit again.",
            UserWarning,
            stacklevel=3,
        )


def _minor(text: str) -> list[str]:
    return text.split(".")[:2]


def _damaged(path: str | Path, problem: Exception) -> NoReturn:
    reason = f"{type(problem).__name__}: {problem}"[:_LONGEST_REASON]
    raise StoreError(
        f"{path} is not a whole model saved by Fenceline ({reason}). "
        "Restore it from a copy, or save the model again."
    ) from problem

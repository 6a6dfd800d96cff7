"""Models in files: what a model's `save` writes and :func:`load` reads, without pickle.

A file is a zip that skops writes, with a header of ours beside it. Loading imports and builds only
types on a list: scikit-learn's own, which skops knows, ours, and what the caller trusts.
"""

import contextlib
import copy
import io
import json
import platform
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
from fenceline.estimator.portable import ALLOWED, portable, restored

FORMAT = 1
_HEADER = "fenceline.json"


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
    twin.engine = model.engine if isinstance(model.engine, str) else None
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
    for name, value in vars(model).items():
        setattr(model, name, restored(value))
    return model


def _versions() -> dict[str, str]:
    """Return the versions that a model's predictions may depend on."""
    libraries = {name: version(name) for name in ("fenceline", "scikit-learn", "numpy")}
    return libraries | {"python": platform.python_version()}


def _check_header(path: str | Path, content: bytes) -> None:
    """Refuse what is not ours, and warn of versions that may predict otherwise."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            header = json.loads(file.read(_HEADER))
            written = header.pop("format")
    except (zipfile.BadZipFile, KeyError, ValueError) as problem:
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
    raise StoreError(
        f"{path} is not a whole model saved by Fenceline ({type(problem).__name__}: {problem}). "
        "Restore it from a copy, or save the model again."
    ) from problem

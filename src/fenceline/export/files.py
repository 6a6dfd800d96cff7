"""A model in files that need no Fenceline: one of skops, or a folder for a hub."""

import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import skops.io

from fenceline.errors import DefinitionError, StoreError
from fenceline.export.card import make_card, task_of

ROWS = 1000
"""How many rows are compared before a file is written."""
MODEL, CARD, CONFIG = "model.skops", "README.md", "config.json"


def write_sklearn(model: Any, path: str | Path, X: Any) -> str:
    """Write the pipeline in plain scikit-learn with skops, after comparing predictions of the file.

    Parameters
    ----------
    model : FencelineClassifier or FencelineRegressor
        Fitted, or loaded.
    path : str or Path
        Of the file; one that is there is replaced.
    X : DataFrame or array
        Rows to predict with both, a thousand at most.

    Returns
    -------
    str
        How many rows were compared, and which types a reader of the file has to trust.
    """
    content = skops.io.dumps(model.to_sklearn(), compression=zipfile.ZIP_DEFLATED)
    unknown = skops.io.get_untrusted_types(data=content)
    again = skops.io.loads(content, trusted=unknown)
    rows = X[:ROWS]
    if not np.array_equal(again.predict(rows), model.predict(rows)):
        raise DefinitionError(
            "The plain pipeline predicts otherwise than the model; nothing is written. Save the model with "
            "its save() instead."
        )
    _write(Path(path), content)
    trust = f"; trust {', '.join(unknown)}" if unknown else ""
    return f"{len(rows):,} rows compared: all predictions are equal{trust}"


def write_huggingface(
    model: Any, folder: str | Path, X: Any, *, title: str = "", purpose: str = "", licence: str = ""
) -> list[str]:
    """Write a folder in the layout of Hugging Face: a card, the model, and its configuration.

    Nothing is sent anywhere. No row of `X` is in the folder; it is used to compare predictions.

    Parameters
    ----------
    model : FencelineClassifier or FencelineRegressor
        Fitted, or loaded.
    folder : str or Path
        Made if it is not there; files of these names in it are replaced.
    X : DataFrame or array
        Rows to compare predictions on.
    title, purpose, licence : str
        Of the card, see :func:`make_card`.

    Returns
    -------
    list of str
        The files written.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            f"{folder} cannot be made ({problem.strerror}); choose another folder."
        ) from problem
    write_sklearn(model, target / MODEL, X)
    card = make_card(model, title=title, purpose=purpose, licence=licence)
    _write(target / CARD, card.encode("utf-8", "backslashreplace"))
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    config = {
        "sklearn": {
            "columns": names,
            "environment": [
                f"{name}={version(name)}" for name in ("scikit-learn", "pandas", "numpy")
            ],
            "model": {"file": MODEL},
            "model_format": "skops",
            "task": task_of(model),
            "use_intelex": False,
        }
    }
    _write(target / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
    return [CARD, MODEL, CONFIG]


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as problem:
        raise StoreError(
            f"{path} cannot be written ({problem.strerror}); choose a path in a directory that exists and "
            "can be written to."
        ) from problem

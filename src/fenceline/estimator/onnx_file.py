"""A model as an ONNX file, written only after both have predicted the same rows."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fenceline.errors import DefinitionError, StoreError
from fenceline.estimator import validation as check
from fenceline.pipelines.onnx import compare, convert
from fenceline.pipelines.onnx.compare import Comparison


def write_onnx(model: Any, path: str | Path, X: Any) -> Comparison:
    """Convert a fitted estimator, compare both on rows, and write the file if they agree."""
    check_is_fitted(model, "best_pipeline_")
    rows = check.check_X(model, X, reset=False)
    if model._framed_ and not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(rows)
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if not len(rows):
        raise DefinitionError("There are no rows to compare predictions on; give some.")
    made = convert(model.best_pipeline_, model.n_features_in_, _notes(model))
    comparison = compare(made, model.best_pipeline_, rows)
    try:
        Path(path).write_bytes(made.SerializeToString())
    except OSError as problem:
        raise StoreError(
            f"The ONNX file cannot be written to {path} ({problem.strerror}); choose a path in a "
            "directory that exists and can be written to."
        ) from problem
    return comparison


def _notes(model: Any) -> dict[str, Any]:
    """Return what the file says about itself."""
    notes = {
        "fenceline": version("fenceline"),
        "scikit-learn": version("scikit-learn"),
        "inputs": "numbers as doubles, NaN where missing; texts as strings, empty where missing; dates as "
        "seconds since 1970-01-01 UTC, NaN where missing",
    }
    if model.certificate_ is not None:
        notes["certificate"] = str(model.certificate_)
    return notes

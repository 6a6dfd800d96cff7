"""A converted model beside the pipeline it was made from, on rows of a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.pipelines.onnx.graph import require
from fenceline.pipelines.onnx.inputs import inputs

ROWS = 1000
"""How many rows are compared, at most; spread evenly over the table."""
TOLERANCE = 1e-5
"""Of probabilities, and of numbers relative to their spread. The default space agrees to 4e-15 (23 pipelines
on 1,000 rows), but for neighbours weighted by distance, 5e-7: there scikit-learn's own distances are rounded."""
ROUNDINGS = 64
"""Units in the last place that are allowed a model which adds in single precision, as XGBoost does: 41 were
measured over 1,000 trees, whose sums ONNX has in double precision."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found."""

    rows: int
    largest: float
    """The largest difference of a probability, or of a number in units of their standard deviation."""
    labels: int
    """Rows that are labelled differently."""

    def __str__(self) -> str:
        words = f"{self.rows:,} rows compared: largest difference {self.largest:.1e}"
        return words if self.labels < 0 else f"{words}, {self.labels} labels differ"


def compare(model: Any, pipeline: Any, X: Any) -> Comparison:
    """Predict rows with both, and refuse a file that predicts otherwise.

    Raises
    ------
    DefinitionError
        A label differs, or a probability by more than a hundred-thousandth, or a number by that part
        of their spread and what the model rounds itself.
    """
    runtime = require("onnxruntime")
    at = np.unique(np.linspace(0, X.shape[0] - 1, min(ROWS, X.shape[0])).astype(int))
    rows = X.iloc[at] if hasattr(X, "iloc") else X[at]
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    found = session.run(None, inputs(rows, names))
    tolerance = TOLERANCE
    if len(found) == 1:
        ours = pipeline.predict(rows)
        spread = float(np.std(ours)) or 1.0
        if ours.dtype == np.float32:
            tolerance += ROUNDINGS * float(np.spacing(np.max(np.abs(ours)))) / spread
        result = Comparison(len(at), float(np.max(np.abs(found[0] - ours))) / spread, -1)
    else:
        labels = np.sum(np.asarray(found[0]).astype(str) != pipeline.predict(rows).astype(str))
        shares = np.max(np.abs(found[1] - pipeline.predict_proba(rows)))
        result = Comparison(len(at), float(shares), int(labels))
    if not result.largest <= tolerance or result.labels > 0:
        raise DefinitionError(
            f"The ONNX model predicts otherwise than the pipeline ({result}); it is not written. Ship "
            "model.to_sklearn() instead, or fit without the algorithms that differ."
        )
    return result

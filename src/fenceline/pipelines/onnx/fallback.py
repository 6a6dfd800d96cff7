"""Steps that are converted by skl2onnx: all of scikit-learn that is not in the default space."""

from typing import Any

from sklearn.base import is_classifier

from fenceline.pipelines.onnx.graph import OPSET, Graph, require, unconvertible

_TREES_OPSET = 3
"""The latest that skl2onnx writes trees in; newer ones read it."""


def converted(graph: Graph, value: str, step: Any, *, predicts: bool) -> str:
    """Add a step as skl2onnx has it; the input is in double precision."""
    skl2onnx = require("skl2onnx")
    types = require("skl2onnx.common.data_types")
    width = getattr(step, "n_features_in_", None)
    classifier = predicts and is_classifier(step)
    options = {id(step): {"zipmap": False}} if classifier else None
    try:
        model = skl2onnx.convert_sklearn(
            step,
            initial_types=[("input", types.DoubleTensorType([None, width]))],
            target_opset={"": OPSET, "ai.onnx.ml": _TREES_OPSET},
            options=options,
        )
    except Exception as problem:  # it has many ways to say no
        raise unconvertible(step, " ".join(str(problem).split())[:200].rstrip(".")) from problem
    outputs = [output.name for output in model.graph.output]
    found = graph.include(model, value, outputs[1] if classifier else outputs[0])
    return graph.add("Cast", found, to=11)

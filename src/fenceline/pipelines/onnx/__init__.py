"""Fitted pipelines as ONNX: preparation, steps, model and threshold in one graph, in double precision."""

from fenceline.pipelines.onnx.compare import compare
from fenceline.pipelines.onnx.convert import convert
from fenceline.pipelines.onnx.inputs import inputs

__all__ = ["compare", "convert", "inputs"]

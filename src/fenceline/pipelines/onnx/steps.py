"""Transformers of the named spaces in ONNX, in double precision."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import feature_selection
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from fenceline.pipelines.fitting.prepare_columns import to_dense
from fenceline.pipelines.fitting.prepare_table import TablePreparation
from fenceline.pipelines.onnx.graph import Graph, doubles
from fenceline.pipelines.onnx.prepare import imputed, prepare_table
from fenceline.pipelines.onnx.quantiles import quantiles


def transformed(graph: Graph, value: str, step: Any) -> str | None:
    """Add a fitted transformer, and return what it makes of a value; None if it is not known here."""
    if step == "passthrough" or step is None:
        return value
    if isinstance(step, TablePreparation):
        return prepare_table(graph, step)
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            found = transformed(graph, value, part)
            if found is None:
                return None
            value = found
        return value
    if isinstance(step, FeatureUnion) and not step.transformer_weights:
        parts = [transformed(graph, value, part) for _, part in step.transformer_list]
        known = [part for part in parts if part is not None]
        return graph.add("Concat", *known, axis=1) if len(known) == len(parts) else None
    for kind, convert in _STEPS.items():
        if type(step) is kind:
            return convert(graph, value, step)
    return None


def _imputer(graph: Graph, value: str, step: SimpleImputer) -> str | None:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        return None
    if step.add_indicator or np.isnan(doubles(step.statistics_)).any():
        return None
    return imputed(graph, value, step.statistics_)


def _function(graph: Graph, value: str, step: FunctionTransformer) -> str | None:
    return value if step.func in (to_dense, None) else None


def _standard(graph: Graph, value: str, step: StandardScaler) -> str:
    return _scaled(graph, value, step.mean_ if step.with_mean else None, step.scale_)


def _robust(graph: Graph, value: str, step: RobustScaler) -> str | None:
    if step.unit_variance:
        return None
    return _scaled(graph, value, step.center_, step.scale_)


def _scaled(graph: Graph, value: str, centre: Any, scale: Any) -> str:
    if centre is not None:
        value = graph.numbers("Sub", value, centre)
    return value if scale is None else graph.numbers("Div", value, scale)


def _selected(graph: Graph, value: str, step: Any) -> str:
    columns = np.flatnonzero(step.get_support())
    return graph.add("Gather", value, graph.constant(columns), axis=1)


def _pca(graph: Graph, value: str, step: PCA) -> str | None:
    if step.whiten:
        return None
    centred = graph.numbers("Sub", value, step.mean_)
    return graph.numbers("MatMul", centred, step.components_.T)


def _nystroem(graph: Graph, value: str, step: Nystroem) -> str | None:
    if step.kernel != "rbf" or step.gamma is None:
        return None
    kernel = rbf(graph, value, step.components_, step.gamma)
    return graph.numbers("MatMul", kernel, step.normalization_.T)


def rbf(graph: Graph, value: str, points: Any, gamma: float) -> str:
    """Return exp(-gamma |x - p|^2) for each of some points."""
    squares = graph.add("Mul", value, value)
    own = graph.add("ReduceSum", squares, graph.constant(np.array([1])), keepdims=1)
    cross = graph.numbers("MatMul", value, -2.0 * doubles(points).T)
    distance = graph.numbers(
        "Add", graph.add("Add", own, cross), (doubles(points) ** 2).sum(axis=1)
    )
    distance = graph.numbers("Max", distance, 0.0)
    return graph.add("Exp", graph.numbers("Mul", distance, -gamma))


_STEPS: dict[type, Callable[[Graph, str, Any], str | None]] = {
    SimpleImputer: _imputer,
    FunctionTransformer: _function,
    StandardScaler: _standard,
    RobustScaler: _robust,
    QuantileTransformer: quantiles,
    PCA: _pca,
    Nystroem: _nystroem,
    feature_selection.SelectPercentile: _selected,
    feature_selection.SelectKBest: _selected,
    feature_selection.SelectFpr: _selected,
    feature_selection.SelectFdr: _selected,
    feature_selection.SelectFwe: _selected,
    feature_selection.VarianceThreshold: _selected,
}

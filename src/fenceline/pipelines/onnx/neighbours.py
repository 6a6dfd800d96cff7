"""Nearest neighbours in ONNX, with exact distances.

The usual formula |x|^2 - 2 x.p + |p|^2 loses a distance of zero to rounding, and weights by distance
then miss the row that is equal. Differences column by column keep it.
"""

from typing import Any

import numpy as np

from fenceline.pipelines.onnx.graph import Graph

_MOST_COLUMNS = 500
"""Each column is a few nodes of the graph."""
_METRICS = ("euclidean", "manhattan")


def neighbours(graph: Graph, value: str, model: Any, classes: int) -> str | None:
    """Return probabilities of classes, or numbers, from the rows nearest to each row."""
    metric = model.effective_metric_
    if metric not in _METRICS or model.n_features_in_ > _MOST_COLUMNS:
        return None
    if model.weights not in ("uniform", "distance") or np.ndim(model._y) > 1:
        return None
    distances = _distances(graph, value, np.asarray(model._fit_X), metric)
    least = graph.add("Neg", distances)
    values, places = graph.new("nearest"), graph.new("places")
    k = graph.constant(np.array([model.n_neighbors]))
    graph.add_several("TopK", [least, k], [values, places], axis=1)
    nearest = graph.add("Neg", values)
    known = np.eye(classes)[model._y] if classes else np.asarray(model._y, dtype=float)[:, None]
    answers = graph.add("Gather", graph.constant(known), places, axis=0)
    weights = _weights(graph, nearest, model.weights)
    deep = graph.add("Unsqueeze", weights, graph.constant(np.array([2])))
    total = _summed(graph, graph.add("Mul", answers, deep), keep=False)
    return graph.add("Div", total, _summed(graph, weights, keep=True))


def _distances(graph: Graph, value: str, rows: Any, metric: str) -> str:
    total = None
    for column in range(rows.shape[1]):
        own = graph.add("Gather", value, graph.constant(np.array([column])), axis=1)
        gap = graph.numbers("Sub", own, rows[None, :, column])
        part = graph.add("Mul", gap, gap) if metric == "euclidean" else graph.add("Abs", gap)
        total = part if total is None else graph.add("Add", total, part)
    assert total is not None
    return graph.add("Sqrt", total) if metric == "euclidean" else total


def _weights(graph: Graph, nearest: str, kind: str) -> str:
    """Return what each neighbour counts; if some are equal to the row, they alone do."""
    if kind == "uniform":
        return graph.numbers("Add", graph.numbers("Mul", nearest, 0.0), 1.0)
    equal = graph.add("Cast", graph.numbers("Equal", nearest, 0.0), to=11)
    any_equal = graph.numbers("Greater", _summed(graph, equal, keep=True), 0.0)
    return graph.add("Where", any_equal, equal, graph.add("Reciprocal", nearest))


def _summed(graph: Graph, value: str, *, keep: bool) -> str:
    return graph.add("ReduceSum", value, graph.constant(np.array([1])), keepdims=int(keep))

"""What predicts, in ONNX: probabilities of classes with shape (rows, classes), or numbers with (rows, 1)."""

from typing import Any

import numpy as np
from sklearn import ensemble, linear_model, neighbors, neural_network, tree

from fenceline.pipelines.onnx.boosters import read_booster
from fenceline.pipelines.onnx.graph import Graph
from fenceline.pipelines.onnx.neighbours import neighbours
from fenceline.pipelines.onnx.trees import averaged, boosted

_FORESTS = (
    ensemble.RandomForestClassifier,
    ensemble.RandomForestRegressor,
    ensemble.ExtraTreesClassifier,
    ensemble.ExtraTreesRegressor,
)
_TREES = (tree.DecisionTreeClassifier, tree.DecisionTreeRegressor)
_BOOSTERS = (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor)
_NEIGHBOURS = (neighbors.KNeighborsClassifier, neighbors.KNeighborsRegressor)
_NETWORKS = (neural_network.MLPClassifier, neural_network.MLPRegressor)
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}


def answers(graph: Graph, value: str, model: Any) -> str | None:
    """Add a fitted model, and return its probabilities or numbers; None if it is not known here."""
    kind = type(model)
    classes = len(getattr(model, "classes_", ()))
    if kind in _FORESTS:
        return averaged(graph, value, list(model.estimators_), classes)
    if kind in _TREES:
        return averaged(graph, value, [model], classes)
    if kind in _BOOSTERS:
        return _linked(graph, boosted(graph, value, model), model, classes)
    if kind is linear_model.LogisticRegression:
        return _probabilities(graph, _linear(graph, value, model), classes)
    if kind is linear_model.Ridge:
        return _linear(graph, value, model)
    if kind in _NEIGHBOURS:
        return neighbours(graph, value, model, classes)
    if kind in _NETWORKS:
        return _network(graph, value, model, classes)
    if (booster := read_booster(model)) is not None:
        raw = booster.scores(graph, value)
        if booster.link in ("logistic", "softmax"):
            return _probabilities(graph, raw, classes)
        return graph.add("Exp", raw) if booster.link == "exp" else raw
    return None


def _linear(graph: Graph, value: str, model: Any) -> str:
    weights = np.atleast_2d(model.coef_)
    scores = graph.numbers("MatMul", value, weights.T)
    return graph.numbers("Add", scores, np.reshape(model.intercept_, (1, -1)))


def _linked(graph: Graph, raw: str, model: Any, classes: int) -> str | None:
    if classes:
        return _probabilities(graph, raw, classes)
    identity = model.loss in ("squared_error", "absolute_error", "quantile")
    return raw if identity else graph.add("Exp", raw)


def _probabilities(graph: Graph, scores: str, classes: int) -> str:
    """Turn log-odds of the second class, or scores of several, into probabilities."""
    if classes > 2:
        return graph.add("Softmax", scores, axis=1)
    return _both(graph, graph.add("Sigmoid", scores))


def _both(graph: Graph, second: str) -> str:
    first = graph.numbers("Add", graph.add("Neg", second), 1.0)
    return graph.add("Concat", first, second, axis=1)


def _network(graph: Graph, value: str, model: Any, classes: int) -> str:
    last = len(model.coefs_) - 1
    for layer, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        value = graph.numbers("Add", graph.numbers("MatMul", value, weights), bias.reshape(1, -1))
        if layer < last:
            value = graph.add(_ACTIVATIONS[model.activation], value)
    if not classes:
        return value
    return _probabilities(graph, value, classes)

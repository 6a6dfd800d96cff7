"""From a fitted pipeline to one ONNX model: labels and probabilities, or a number for each row."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.group_thresholds import GroupThresholds
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.prepare_table import TablePreparation
from fenceline.pipelines.onnx.fallback import converted
from fenceline.pipelines.onnx.graph import Graph, doubles, unconvertible
from fenceline.pipelines.onnx.inputs import TABLE
from fenceline.pipelines.onnx.models import answers
from fenceline.pipelines.onnx.steps import transformed

LABEL, PROBABILITIES, NUMBER = "label", "probabilities", "prediction"


def convert(pipeline: Any, columns: int, notes: dict[str, Any] | None = None) -> Any:
    """Return a fitted pipeline as an ONNX model.

    Parameters
    ----------
    pipeline : Pipeline, voter or decider
        Fitted by this package; the last step may decide at a threshold.
    columns : int
        Of the array it was fitted on; a table's columns are known to its preparation.
    notes : dict, optional
        Kept in the file, as JSON, under their names.

    Returns
    -------
    onnx.ModelProto
        Inputs are the columns by name (see :func:`inputs`), or one array ``"X"`` of doubles. A
        classifier has the outputs ``"label"`` and ``"probabilities"``, a regressor ``"prediction"``.

    Raises
    ------
    DefinitionError
        A step has no equal in ONNX; the message names it.
    MissingDependencyError
        The extra ``onnx`` is not installed.
    """
    if isinstance(pipeline, GroupThresholds):
        raise DefinitionError(
            f"The model decides at another threshold for each group of {pipeline.group!r}, and an ONNX file "
            "has no groups; use model.save, or fit without group_thresholds."
        )
    graph = Graph()
    first = "" if _takes_columns(pipeline) else graph.input(TABLE, np.float64, columns)
    found = _predicted(graph, first, pipeline)
    if not is_classifier(pipeline):
        flat = graph.add("Reshape", found, graph.constant(np.array([-1])))
        graph.add_as("Identity", flat, NUMBER)
        return graph.model({NUMBER: (np.float64, [None])}, notes or {})
    classes = np.asarray(pipeline.classes_)
    graph.add_as("Identity", found, PROBABILITIES)
    graph.add_as("Identity", _labels(graph, found, pipeline, classes), LABEL)
    outputs: dict[str, tuple[Any, list[Any]]] = {
        LABEL: (_plain(classes).dtype, [None]),
        PROBABILITIES: (np.float64, [None, len(classes)]),
    }
    return graph.model(outputs, notes or {})


def _takes_columns(pipeline: Any) -> bool:
    """Tell whether the columns of a table are inputs of their own."""
    if isinstance(pipeline, VotingClassifier | VotingRegressor):
        return _takes_columns(pipeline.estimators_[0])
    if isinstance(pipeline, FixedThresholdClassifier):
        return _takes_columns(pipeline.estimator_)
    return isinstance(pipeline, Pipeline) and isinstance(pipeline[0], TablePreparation)


def _predicted(graph: Graph, value: str, model: Any) -> str:
    """Return probabilities or numbers; a threshold changes neither."""
    if isinstance(model, FixedThresholdClassifier):
        if model.response_method == "decision_function":
            raise unconvertible(
                model.estimator_, "it decides by decision values, not by probabilities"
            )
        return _predicted(graph, value, model.estimator_)
    if isinstance(model, Pipeline):
        *before, (_, last) = model.steps
        for _, step in before:
            found = transformed(graph, value, step)
            value = converted(graph, value, step, predicts=False) if found is None else found
        return _predicted(graph, value, last)
    if isinstance(model, VotingClassifier | VotingRegressor):
        return _voted(graph, value, model)
    if isinstance(model, EncodedLabels):
        return _predicted(graph, value, model.estimator_)
    found = answers(graph, value, model)
    return converted(graph, value, model, predicts=True) if found is None else found


def _voted(graph: Graph, value: str, voter: Any) -> str:
    if getattr(voter, "voting", "soft") != "soft":
        raise unconvertible(voter, "its members vote with labels, not with probabilities")
    votes = doubles(voter.weights if voter.weights is not None else np.ones(len(voter.estimators_)))
    parts = [
        graph.numbers("Mul", _predicted(graph, value, member), share)
        for member, share in zip(voter.estimators_, votes / votes.sum(), strict=True)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", total, part)
    return total


def _labels(graph: Graph, probabilities: str, pipeline: Any, classes: Any) -> str:
    """Return the label of each row: the likeliest, or the one that a threshold decides for."""
    decider = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    if not isinstance(decider, FixedThresholdClassifier):
        chosen = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
        return graph.add("Gather", graph.constant(_plain(classes)), chosen)
    positive = classes[-1] if decider.pos_label is None else decider.pos_label
    place = int(np.flatnonzero(classes == positive)[0])
    share = graph.add("Gather", probabilities, graph.constant(np.array(place)), axis=1)
    reached = graph.numbers("GreaterOrEqual", share, decider.threshold)
    inside, outside = (graph.constant(_plain(classes)[[i]]) for i in (place, 1 - place))
    return graph.add("Where", reached, inside, outside)


def _plain(classes: Any) -> Any:
    """Return labels in a type that ONNX has."""
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    return np.array([str(label) for label in classes], dtype=object)

"""Trees in ONNX, with thresholds and leaves in double precision.

Converters to single precision move splits: 0.1 as a float lies beside 0.1 as a double, and a row between
them takes the other branch. Only the operator of opset 5 has doubles throughout.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.pipelines.onnx.graph import TREES, Graph, doubles

_AT_MOST, _MEMBER = 0, 6
_SUM, _AS_IT_IS = 1, 0
_WORD = 32


@dataclass
class Forest:
    """Trees whose leaves add to one of several sums."""

    modes: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    true: list[tuple[int, int]] = field(default_factory=list)
    false: list[tuple[int, int]] = field(default_factory=list)
    """Where a branch goes: the number of a node or of a leaf, and 1 for a leaf."""
    members: list[float] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)

    def node(
        self, feature: int, split: float, missing_left: bool, chosen: Iterable[int] = ()
    ) -> int:
        """Add a node that asks whether a value is at most a threshold, or one of some categories."""
        chosen = list(chosen)
        self.modes.append(_MEMBER if chosen else _AT_MOST)
        if chosen:
            self.members += [*map(float, chosen), np.nan]
        self.features.append(feature)
        self.splits.append(split)
        self.missing.append(int(missing_left))
        self.true.append((0, 0))
        self.false.append((0, 0))
        return len(self.modes) - 1

    def leaf(self, target: int, weight: float) -> tuple[int, int]:
        """Add a leaf."""
        self.targets.append(target)
        self.weights.append(weight)
        return len(self.targets) - 1, 1

    def plant(self, root: tuple[int, int]) -> None:
        """Add a finished tree; one that is a leaf alone gets a node that leads there either way."""
        if root[1]:
            node = self.node(0, 0.0, True)
            self.true[node] = self.false[node] = root
            root = node, 0
        self.roots.append(root[0])

    def sums(self, graph: Graph, value: str, targets: int) -> str:
        """Add the trees to a graph, and return what the leaves of each row sum to."""
        return graph.add(
            "TreeEnsemble",
            value,
            domain=TREES,
            n_targets=targets,
            aggregate_function=_SUM,
            post_transform=_AS_IT_IS,
            tree_roots=self.roots,
            nodes_modes=np.array(self.modes, dtype=np.uint8),
            nodes_featureids=self.features,
            nodes_splits=doubles(self.splits),
            nodes_missing_value_tracks_true=self.missing,
            nodes_truenodeids=[at for at, _ in self.true],
            nodes_trueleafs=[leaf for _, leaf in self.true],
            nodes_falsenodeids=[at for at, _ in self.false],
            nodes_falseleafs=[leaf for _, leaf in self.false],
            leaf_targetids=self.targets,
            leaf_weights=doubles(self.weights),
            **({"membership_values": doubles(self.members)} if self.members else {}),
        )


def averaged(graph: Graph, value: str, trees: list[Any], classes: int) -> str:
    """Return the mean answer of trees: probabilities of classes, or one number if there are none."""
    forest, outputs = Forest(), max(1, classes)
    for tree in (fitted.tree_ for fitted in trees):
        answers = tree.value[:, 0, :]
        if classes:
            answers = answers / answers.sum(axis=1, keepdims=True)
        for target in range(outputs):
            _grow(forest, tree, answers[:, target] / len(trees), target)
    # Such trees compare in single precision with a threshold in double.
    return forest.sums(graph, in_single_precision(graph, value), outputs)


def in_single_precision(graph: Graph, value: str) -> str:
    """Round doubles to single precision, and keep them doubles."""
    return graph.add("Cast", graph.add("Cast", value, to=1), to=11)


def _grow(forest: Forest, tree: Any, answers: NDArray[np.float64], target: int) -> None:
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=bool))
    inner = {
        int(i): forest.node(int(tree.feature[i]), float(tree.threshold[i]), bool(missing[i]))
        for i in np.flatnonzero(tree.children_left >= 0)
    }

    def place(i: int) -> tuple[int, int]:
        return (inner[i], 0) if i in inner else forest.leaf(target, float(answers[i]))

    for i, node in inner.items():
        forest.true[node] = place(int(tree.children_left[i]))
        forest.false[node] = place(int(tree.children_right[i]))
    forest.plant(place(0))


def boosted(graph: Graph, value: str, model: Any) -> str:
    """Return the raw scores of scikit-learn's histogram boosting, one column for each of its sums."""
    forest = Forest()
    sums = model._baseline_prediction.size
    value = _coded(graph, value, model)
    for predictors in model._predictors:
        for target, predictor in enumerate(predictors):
            _grow_boosted(forest, predictor, target, _unknown_codes(model))
    raw = forest.sums(graph, value, sums)
    return graph.numbers("Add", raw, model._baseline_prediction.reshape(1, -1))


def _grow_boosted(forest: Forest, predictor: Any, target: int, unknown: float) -> None:
    nodes = predictor.nodes
    inner = {}
    for i in np.flatnonzero(nodes["is_leaf"] == 0).tolist():
        node, chosen = nodes[i], []
        left = bool(node["missing_go_to_left"])
        if node["is_categorical"]:
            chosen = _set_bits(predictor.raw_left_cat_bitsets[node["bitset_idx"]])
            chosen += [int(unknown)] if left else []
        inner[i] = forest.node(int(node["feature_idx"]), float(node["num_threshold"]), left, chosen)

    def place(i: int) -> tuple[int, int]:
        return (inner[i], 0) if i in inner else forest.leaf(target, float(nodes[i]["value"]))

    for i, node in inner.items():
        forest.true[node] = place(int(nodes[i]["left"]))
        forest.false[node] = place(int(nodes[i]["right"]))
    forest.plant(place(0))


def _set_bits(words: NDArray[np.uint32]) -> list[int]:
    return [
        _WORD * at + bit
        for at, word in enumerate(words.tolist())
        for bit in range(_WORD)
        if word >> bit & 1
    ]


def _unknown_codes(model: Any) -> float:
    """Return a code that no category has: it stands for the unknown, which go where missing values go."""
    encoder = _encoder(model)
    return 0.0 if encoder is None else float(max(map(len, encoder.categories_)))


def _encoder(model: Any) -> Any:
    preprocessor = getattr(model, "_preprocessor", None)
    return None if preprocessor is None else preprocessor.named_transformers_["encoder"]


def _coded(graph: Graph, value: str, model: Any) -> str:
    """Give categories their codes, and put them first, as the model does before it looks at its trees."""
    encoder = _encoder(model)
    if encoder is None:
        return value
    places = np.flatnonzero(_original_categorical(model))
    rest = np.setdiff1d(np.arange(model.n_features_in_), places)
    made = []
    for place, categories in zip(places, encoder.categories_, strict=True):
        column = graph.add("Gather", value, graph.constant(np.array([place])), axis=1)
        known = doubles(categories)
        equal = graph.add("Equal", column, graph.constant(known[None, :]))
        hits = graph.add("Cast", equal, to=11)
        codes = graph.constant((np.arange(len(known)) - _unknown_codes(model))[:, None])
        made.append(graph.numbers("Add", graph.add("MatMul", hits, codes), _unknown_codes(model)))
    if len(rest):
        made.append(graph.add("Gather", value, graph.constant(rest), axis=1))
    return graph.add("Concat", *made, axis=1) if len(made) > 1 else made[0]


def _original_categorical(model: Any) -> NDArray[np.bool_]:
    """Tell which columns of the input are categories."""
    chosen = np.zeros(model.n_features_in_, dtype=bool)
    wanted = np.asarray(model.categorical_features)
    if wanted.dtype == bool:
        return wanted
    chosen[wanted] = True
    return chosen

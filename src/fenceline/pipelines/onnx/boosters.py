"""LightGBM, XGBoost and CatBoost in ONNX, read from what each of them says about its own trees.

onnxmltools, the usual way, has trees in single precision alone, and LightGBM compares doubles. Here every
booster is compared in the precision it compares in itself.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenceline.pipelines.onnx.graph import Graph, doubles, unconvertible
from fenceline.pipelines.onnx.trees import Forest, in_single_precision

Link = Literal["identity", "exp", "logistic", "softmax"]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Booster:
    """Trees that sum to raw scores, and what becomes of those."""

    forest: Forest
    offsets: NDArray[np.float64]
    """One for each score."""
    link: Link
    slope: float = 1.0
    """What log-odds are multiplied by."""
    single: bool = False
    """Whether values are compared in single precision."""

    def scores(self, graph: Graph, value: str) -> str:
        """Add the trees, and return what they and the offsets sum to."""
        if self.single:
            value = in_single_precision(graph, value)
        raw = self.forest.sums(graph, value, len(self.offsets))
        raw = graph.numbers("Add", raw, self.offsets.reshape(1, -1))
        return raw if self.slope == 1.0 else graph.numbers("Mul", raw, self.slope)


def read_booster(model: Any) -> Booster | None:
    """Return a fitted booster's trees; None for a model of other makers."""
    read = _READERS.get(type(model).__module__.partition(".")[0])
    return None if read is None else read(model)


def _lightgbm(model: Any) -> Booster:
    found = model.booster_.dump_model()
    objective, *settings = found["objective"].split()
    link = _link(model, objective, _LIGHTGBM_LINKS)
    if found["average_output"] or "sqrt" in settings:
        raise unconvertible(model, "its trees are averaged, or their sum is squared")
    forest, sums = Forest(), found["num_tree_per_iteration"]
    for at, tree in enumerate(found["tree_info"]):
        forest.plant(_lightgbm_tree(model, forest, tree["tree_structure"], at % sums))
    slopes = [float(s.partition(":")[2]) for s in settings if s.startswith("sigmoid:")]
    return Booster(forest, np.zeros(sums), link, slope=slopes[0] if slopes else 1.0)


def _lightgbm_tree(model: Any, forest: Forest, node: dict[str, Any], target: int) -> Place:
    if "leaf_value" in node:
        if node.get("leaf_features"):
            raise unconvertible(model, "there are linear models in its leaves")
        return forest.leaf(target, node["leaf_value"])
    missing, split = node["missing_type"], node["threshold"]
    if node["decision_type"] != "<=" or missing == "Zero":
        raise unconvertible(model, "it splits by category, or takes zeros as missing")
    # Where none were seen in the fit, a missing value counts as zero.
    left = node["default_left"] if missing == "NaN" else split >= 0
    made = forest.node(node["split_feature"], split, left)
    forest.true[made] = _lightgbm_tree(model, forest, node["left_child"], target)
    forest.false[made] = _lightgbm_tree(model, forest, node["right_child"], target)
    return made, 0


def _xgboost(model: Any) -> Booster:
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    link = _link(model, learner["objective"]["name"], _XGBOOST_LINKS)
    trees = learner["gradient_booster"]
    if trees["name"] != "gbtree":
        raise unconvertible(model, f"its booster is {trees['name']!r}, not 'gbtree'")
    forest = Forest()
    for tree, target in zip(trees["model"]["trees"], trees["model"]["tree_info"], strict=True):
        if any(tree["split_type"]) or int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise unconvertible(model, "it splits by category, or its leaves hold several numbers")
        forest.plant(_xgboost_tree(forest, tree, target))
    about = learner["learner_model_param"]
    # A number before release 3.1, one for each score since.
    start = np.atleast_1d(doubles(json.loads(about["base_score"])))
    if link == "logistic":
        start = np.log(start / (1 - start))
    elif link == "exp":
        start = np.log(start)
    sums = max(1, int(about["num_class"]))
    return Booster(forest, np.broadcast_to(start, sums).copy(), link, single=True)


def _xgboost_tree(forest: Forest, tree: dict[str, Any], target: int) -> Place:
    left, right = tree["left_children"], tree["right_children"]
    splits = np.asarray(tree["split_conditions"], dtype=np.float32)
    # Below a split, not at most: in single precision that is at most the number before it.
    before = doubles(np.nextafter(splits, np.float32(-np.inf)))
    inner = {
        i: forest.node(tree["split_indices"][i], float(before[i]), bool(tree["default_left"][i]))
        for i, child in enumerate(left)
        if child >= 0
    }

    def place(i: int) -> Place:
        return (inner[i], 0) if i in inner else forest.leaf(target, float(splits[i]))

    for i, node in inner.items():
        forest.true[node], forest.false[node] = place(left[i]), place(right[i])
    return place(0)


def _catboost(model: Any) -> Booster:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.json"
        model.save_model(str(path), format="json")
        found = json.loads(path.read_text(encoding="utf-8"))
    link = _link(model, model.get_all_params()["loss_function"].partition(":")[0], _CATBOOST_LINKS)
    trees = found.get("oblivious_trees")
    if trees is None or any(s["split_type"] != "FloatFeature" for t in trees for s in t["splits"]):
        raise unconvertible(model, "its trees are not symmetric, or split by category or text")
    features = found["features_info"]["float_features"]
    places = [feature["flat_feature_index"] for feature in features]
    above = [feature["nan_value_treatment"] == "AsTrue" for feature in features]
    scale, offsets = found["scale_and_bias"]
    forest, sums = Forest(), len(offsets)
    for tree in trees:
        leaves = scale * doubles(tree["leaf_values"]).reshape(-1, sums)
        splits = [
            (places[at], split["border"], not above[at])
            for split in tree["splits"]
            for at in [split["float_feature_index"]]
        ]
        for target in range(sums):
            forest.plant(_symmetric(forest, splits, leaves[:, target], target))
    return Booster(forest, doubles(offsets), link, single=True)


def _symmetric(
    forest: Forest,
    splits: list[tuple[int, float, bool]],
    leaves: NDArray[np.float64],
    target: int,
) -> Place:
    """Grow a tree that asks the same question everywhere at one depth; answers are bits of a leaf's number."""
    if not splits:
        return forest.leaf(target, float(leaves[0]))
    *others, last = splits
    half = len(leaves) // 2
    node = forest.node(*last)
    forest.true[node] = _symmetric(forest, others, leaves[:half], target)
    forest.false[node] = _symmetric(forest, others, leaves[half:], target)
    return node, 0


def _link(model: Any, objective: str, links: dict[Link, str]) -> Link:
    for link, objectives in links.items():
        if objective in objectives.split():
            return link
    raise unconvertible(model, f"what becomes of its scores for {objective!r} is not known")


_LIGHTGBM_LINKS: dict[Link, str] = {
    "identity": "regression regression_l1 huber fair quantile mape",
    "exp": "poisson gamma tweedie",
    "logistic": "binary",
    "softmax": "multiclass",
}
_XGBOOST_LINKS: dict[Link, str] = {
    "identity": "reg:squarederror reg:absoluteerror reg:pseudohubererror",
    "exp": "count:poisson reg:gamma reg:tweedie",
    "logistic": "binary:logistic",
    "softmax": "multi:softprob multi:softmax",
}
_CATBOOST_LINKS: dict[Link, str] = {
    "identity": "RMSE MAE Quantile Huber",
    "exp": "Poisson Tweedie",
    "logistic": "Logloss CrossEntropy",
    "softmax": "MultiClass",
}
_READERS: dict[str, Callable[[Any], Booster]] = {
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
}

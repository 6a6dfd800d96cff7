"""Pipelines that a portfolio is learnt from: starts, what is known to be good, and some around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from fenceline.metrics.trial import Task
from fenceline.pipelines import named_space
from fenceline.problem.parameter import Categorical
from fenceline.problem.space import Space

Pipeline: TypeAlias = dict[str, list[Any]]
"""Module -> [algorithm, params], the encoder of categories among them."""

Params: TypeAlias = Mapping[str, Any]

# Rate, iterations, leaves, rows of a leaf, penalty, columns: the library's own, slower and longer,
# smaller, larger, more regularised, and a few that are so small that they fit behind a fence on time.
_BOOSTING = (
    (0.1, 100, 31, 20, 1e-3, 1.0),
    (0.05, 200, 31, 20, 1e-3, 1.0),
    (0.05, 300, 15, 20, 1.0, 1.0),
    (0.05, 400, 7, 20, 1.0, 0.5),
    (0.2, 50, 15, 20, 1e-3, 1.0),
    (0.3, 20, 8, 20, 1e-3, 1.0),
    (0.3, 30, 3, 20, 1e-3, 1.0),
    (0.1, 300, 3, 20, 1e-3, 0.5),
    (0.02, 600, 15, 20, 10.0, 0.5),
    (0.1, 300, 63, 10, 1e-3, 1.0),
    (0.05, 600, 31, 10, 1.0, 0.5),
    (0.03, 300, 31, 50, 30.0, 0.7),
    (0.1, 100, 31, 5, 1e-3, 0.3),
)
# The same of those that stop by themselves: iterations are no more than a limit.
_STOPPING = (
    (0.05, 300, 15, 20, 1e-3, 0.5),
    (0.1, 1000, 31, 20, 1e-3, 1.0),
    (0.1, 1000, 31, 20, 1e-3, 0.3),
    (0.05, 1000, 15, 20, 1e-3, 0.5),
    (0.05, 1000, 31, 20, 1e-3, 0.5),
    (0.02, 1000, 15, 20, 1e-3, 0.5),
    (0.02, 1000, 31, 20, 1e-3, 0.5),
    (0.05, 1000, 7, 20, 1.0, 0.5),
    (0.1, 1000, 3, 20, 1e-3, 0.5),
    (0.05, 1000, 63, 10, 1.0, 0.5),
    (0.1, 1000, 127, 5, 1e-3, 0.5),
    (0.05, 1000, 31, 50, 30.0, 0.3),
)
_BOOSTING_NAMES = (
    "learning_rate",
    "max_iter",
    "max_leaf_nodes",
    "min_samples_leaf",
    "l2_regularization",
    "max_features",
)
# The same of boosters that are measured where they are installed: rate, trees, leaves, rows of a leaf, columns,
# rows, penalty; and rate, trees, depth, weight of a leaf, rows, columns, penalty.
_LIGHTGBM = (
    (0.1, 100, 31, 20, 1.0, 0.7, 1e-3),
    (0.1, 100, 31, 20, 1.0, 1.0, 1e-3),
    (0.05, 400, 63, 10, 0.75, 0.9, 1e-3),
    (0.02, 1000, 31, 5, 0.6, 0.7, 1e-3),
    (0.02, 400, 31, 5, 0.6, 0.45, 1e-3),
    (0.05, 200, 15, 20, 0.6, 0.6, 1e-3),
    (0.03, 200, 31, 50, 0.5, 0.6, 10.0),
    (0.03, 300, 7, 20, 0.5, 0.6, 1.0),
    (0.05, 100, 7, 50, 0.6, 0.6, 1.0),
    (0.3, 30, 7, 20, 1.0, 1.0, 1e-3),
)
_LIGHTGBM_NAMES = (
    "learning_rate",
    "n_estimators",
    "num_leaves",
    "min_child_samples",
    "colsample_bytree",
    "subsample",
    "reg_lambda",
)
# Rate, leaves, rows of a leaf, columns, rows, penalty; held-out rows tell how many trees.
_LIGHTGBM_STOPPING = (
    (0.05, 31, 20, 0.7, 0.7, 1.0),
    (0.05, 7, 20, 0.6, 0.7, 1.0),
    (0.05, 15, 20, 0.6, 0.7, 1.0),
    (0.05, 63, 10, 0.7, 0.8, 1.0),
    (0.05, 127, 10, 0.7, 0.8, 1.0),
    (0.05, 255, 5, 0.8, 0.9, 1e-3),
    (0.1, 63, 10, 0.7, 0.8, 1.0),
    (0.1, 15, 20, 0.7, 0.8, 1e-3),
    (0.02, 31, 5, 0.6, 0.5, 1.0),
    (0.03, 31, 50, 0.5, 0.6, 10.0),
)
_MOST_TREES = 2000
_XGBOOST = (
    (0.1, 150, 6, 1.0, 1.0, 1.0, 1.0),
    (0.05, 400, 6, 1.0, 0.8, 0.7, 1.0),
    (0.05, 600, 9, 1.0, 0.9, 0.8, 1.0),
    (0.05, 300, 4, 5.0, 0.7, 0.6, 1.0),
    (0.03, 300, 3, 5.0, 0.6, 0.5, 10.0),
    (0.3, 40, 3, 1.0, 1.0, 1.0, 1.0),
)
_XGBOOST_NAMES = (
    "learning_rate",
    "n_estimators",
    "max_depth",
    "min_child_weight",
    "subsample",
    "colsample_bytree",
    "reg_lambda",
)
_EXTRAS = {"LightGBM": (_LIGHTGBM_NAMES, _LIGHTGBM), "XGBoost": (_XGBOOST_NAMES, _XGBOOST)}
_FORESTS: dict[str, tuple[Params, ...]] = {
    "ExtraTrees": (
        {"min_samples_leaf": 2},
        {"max_features": 0.5, "min_samples_leaf": 1, "n_estimators": 200},
        {"max_features": 1.0, "min_samples_leaf": 1},
        {"max_features": 0.7, "min_samples_leaf": 5},
        {"max_features": 0.5, "min_samples_leaf": 15, "n_estimators": 50},
    ),
    "RandomForest": (
        {"min_samples_leaf": 2},
        {"max_features": 0.4, "min_samples_leaf": 5, "n_estimators": 200},
        {"max_features": 0.5, "min_samples_leaf": 10, "max_leaf_nodes": 64, "n_estimators": 50},
    ),
}
_NETWORKS: tuple[tuple[str, Params], ...] = (
    ("StandardScaler", {}),
    ("QuantileTransformer", {}),
    ("StandardScaler", {"depth": 2, "nodes": 64, "learning_rate_init": 3e-3, "alpha": 1e-2}),
    ("QuantileTransformer", {"depth": 2, "nodes": 128, "alpha": 1e-2}),
)
_NEIGHBOURS: tuple[tuple[str, Params], ...] = (("StandardScaler", {}),)
_LINEAR = {
    "LogisticRegression": (
        ("StandardScaler", 1.0),
        ("StandardScaler", 0.1),
        ("QuantileTransformer", 1.0),
    ),
    "Ridge": (("StandardScaler", 1.0), ("StandardScaler", 10.0), ("QuantileTransformer", 1.0)),
}
_KERNELS: tuple[tuple[str, float, float], ...] = (
    ("StandardScaler", 1.0, 1.0),
    ("QuantileTransformer", 1.0, 1.0),
)
_AROUND = {"HistGradientBoosting": 4}
"""How many pipelines around the start of an algorithm."""
_STEP = 0.25
"""How far from it, in the unit cube."""


def strong(pipeline: Pipeline) -> bool:
    """Tell whether a pipeline is worth measuring on many rows: neighbours and kernels are not."""
    model = pipeline["estimator"][0]
    return model not in ("KNeighbors", "KernelLogisticRegression", "KernelRidge", "DecisionTree")


def candidates(task: Task) -> list[Pipeline]:
    """Return the pipelines to learn from, each once."""
    found = {str(pipeline): pipeline for pipeline in _candidates(named_space("default", task))}
    return list(found.values())


def _candidates(space: Space) -> Iterator[Pipeline]:
    names = [a.name for a in space.modules[-1].algorithms]
    linear = "Ridge" if "Ridge" in names else "LogisticRegression"
    strength = "alpha" if linear == "Ridge" else "C"
    # Spelt out: a start that moves must not make all that was measured another pipeline.
    columns = 0.5 if linear == "Ridge" else 0.25
    forest = {"n_estimators": 100, "max_leaf_nodes": 4096, "max_features": columns}

    def made(encoder: str, scaler: str, model: str, params: Params | None = None) -> Pipeline:
        settings = {
            "scaler": [scaler, dict(_start(space, "scaler", scaler))],
            "selector": ["none", {}],
            "estimator": [model, {**_start(space, "estimator", model), **(params or {})}],
        }
        return {"encoder": [encoder, {}], **settings}

    for scaler, value in _LINEAR[linear]:
        yield made("onehot", scaler, linear, {strength: value})
    yield made("target", "StandardScaler", linear)
    for encoder in ("ordinal", "onehot", "target"):
        yield made(encoder, "none", "HistGradientBoosting")
    for stops, settings in ((True, _STOPPING), (False, _BOOSTING)):
        for values in settings:
            named = dict(zip(_BOOSTING_NAMES, values, strict=True))
            params = named | {"early_stopping": stops}
            yield made("ordinal", "none", "HistGradientBoosting", params)
    for model, (parameters, settings) in _EXTRAS.items():
        if model not in names:
            continue
        for values in settings:
            params = dict(zip(parameters, values, strict=True))
            fixed = {"early_stopping": False} if model == "LightGBM" else {}
            yield made("ordinal", "none", model, params | fixed)
    if "LightGBM" in names:
        for rate, *values in _LIGHTGBM_STOPPING:
            params = dict(zip(_LIGHTGBM_NAMES, (rate, _MOST_TREES, *values), strict=True))
            yield made("ordinal", "none", "LightGBM", params | {"early_stopping": True})
    for model, settings in _FORESTS.items():
        for params in settings:
            yield made("ordinal", "none", model, {**forest, **params})
    yield made("onehot", "none", "ExtraTrees", forest | {"min_samples_leaf": 2})
    for scaler, params in _NETWORKS:
        yield made("onehot", scaler, "MLP", params)
    for scaler, params in _NEIGHBOURS:
        yield made("onehot", scaler, "KNeighbors", params)
    yield made("target", "QuantileTransformer", "KNeighbors")
    for scaler, width, value in _KERNELS:
        # A penalty of ridge regression is the inverse of logistic regression's strength.
        given = 0.1 / value if strength == "alpha" else value
        yield made("onehot", scaler, f"Kernel{linear}", {"width": width, strength: given})
    yield made("ordinal", "none", "DecisionTree")
    if linear == "LogisticRegression":
        yield made("onehot", "StandardScaler", linear, {"class_weight": "balanced"})
    for model, count in _AROUND.items():
        scaler, encoder = ("StandardScaler", "onehot") if model == "MLP" else ("none", "ordinal")
        for params in _around(space, model, count):
            yield made(encoder, scaler, model, params)


def _start(space: Space, module: str, algorithm: str) -> Params:
    found = next(m for m in space.modules if m.name == module)
    return next(a for a in found.algorithms if a.name == algorithm).start or {}


def _around(space: Space, model: str, count: int) -> Iterator[Params]:
    """Yield settings at random around the start of a model; numbers are rounded to be read."""
    rng = np.random.default_rng(0)
    algorithm = next(a for a in space.modules[-1].algorithms if a.name == model)
    for _ in range(count):
        params: dict[str, Any] = {}
        for name, parameter in algorithm.params.items():
            begun = (algorithm.start or {})[name]
            if isinstance(parameter, Categorical):
                params[name] = begun
                continue
            moved = parameter.to_unit(begun) + _STEP * rng.standard_normal()
            # What would leave the range turns back: many starts lie at an end of it.
            value = parameter.from_unit(1 - abs(1 - abs(moved)))
            params[name] = float(f"{value:.3g}") if isinstance(value, float) else value
        yield params

"""The space of the artificial objective: the shape of the paper's scikit-learn space.

Operators, and the number and kind of their hyper-parameters, are those of the 6776 pipelines of
the paper; the ranges are reduced to what the formula needs.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from fenceline.problem.parameter import Categorical, Integer, Parameter, Real, Value
from fenceline.problem.space import Algorithm, Module, Space

LOWEST, HIGHEST = 0.1, 1.0
"""Range of every real hyper-parameter.

The formula divides by the sum of the thetas. A range that starts at 0 would need a guard there,
and a guard creates a false optimum in the very corner that optimisers like to try.
"""

Scale: TypeAlias = Mapping[Value, float] | None
"""From value to theta in (0, 1]; None for a real, which is its own theta."""

# One character per hyper-parameter: r real, i integer, a digit for that many categories.
_KINDS: dict[str, dict[str, str]] = {
    "scaler": {
        "none": "",
        "Normalizer": "",
        "MinMaxScaler": "",
        "StandardScaler": "",
        "Binarizer": "",
        "QuantileTransformer": "i2",
        "RobustScaler": "rr22",
        "KBinsDiscretizer": "i3",
    },
    "transformer": {
        "none": "",
        "SparseRandomProjection": "ri",
        "GaussianRandomProjection": "i",
        "RBFSampler": "ri",
        "Nystroem": "rr4ii",
        "TruncatedSVD": "ii",
        "KernelPCA": "rr4ii2",
        "FastICA": "i223i",
        "FactorAnalysis": "ii2",
        "PCA": "r2",
        "PolynomialFeatures": "i22",
    },
    "selector": {
        "none": "",
        "SelectPercentile": "i",
        "SelectFpr": "r",
        "SelectFdr": "r",
        "SelectFwe": "r",
        "VarianceThreshold": "r",
        "SelectKBest": "i",
    },
    "estimator": {
        "GaussianNB": "",
        "QuadraticDiscriminantAnalysis": "r",
        "GradientBoosting": "rrriiii2i",
        "KNeighbors": "i22",
        "RandomForest": "ri2ii2",
        "ExtraTrees": "ri2ii2",
        "AdaBoost": "rii",
        "DecisionTree": "rrr2ii",
        "GaussianProcess": "ii",
        "LogisticRegression": "rr223",
        "MLP": "rrii222",
    },
}


@cache
def artificial_space() -> Space:
    """Return the space of 8 x 11 x 7 x 11 algorithms; the same object every time."""
    return Space(
        [
            Module(
                module,
                [
                    Algorithm(name, {f"h{n}": _parameter(kind) for n, kind in enumerate(kinds, 1)})
                    for name, kinds in algorithms.items()
                ],
            )
            for module, algorithms in _KINDS.items()
        ]
    )


def scale(parameter: Parameter) -> Scale:
    """Return the theta of every value of a hyper-parameter."""
    if isinstance(parameter, Real):
        return None
    if isinstance(parameter, Integer):
        return {n: n / parameter.high for n in range(parameter.low, parameter.high + 1)}
    return {c: (n + 1) / len(parameter.choices) for n, c in enumerate(parameter.choices)}


def _parameter(kind: str) -> Parameter:
    if kind == "r":
        return Real(LOWEST, HIGHEST)
    if kind == "i":
        return Integer(1, 10)
    return Categorical(list("abcd"[: int(kind)]))

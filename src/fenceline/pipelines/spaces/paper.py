"""The seed paper's scikit-learn spaces: 8 x 11 x 7 x 11 = 6,776 pipelines, and the small one of 108.

Names and counts are the paper's; ranges follow auto-sklearn where it has them. In each module the
cheapest and safest algorithm stands first, for every search starts there.
"""

from collections.abc import Mapping

from fenceline.metrics.trial import Task
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real, Value
from fenceline.problem.space import Algorithm, Module, Space

_YES_NO = Categorical([False, True])
_GAMMA = Real(2**-15, 8.0, log=True)
_KERNEL: Mapping[str, Parameter] = {
    "gamma": _GAMMA,
    "coef0": Real(-1.0, 1.0),
    "kernel": Categorical(["poly", "rbf", "sigmoid", "cosine"]),
    "degree": Integer(2, 5),
}
_CRITERION = Categorical(["gini", "entropy"])
_LEAVES: Mapping[str, Parameter] = {
    "min_samples_split": Integer(2, 20),
    "min_samples_leaf": Integer(1, 20),
}
_FOREST: Mapping[str, Parameter] = {
    "exponent": Real(0.0, 1.0),
    "n_estimators": Integer(50, 500),
    "criterion": _CRITERION,
    **_LEAVES,
    "bootstrap": _YES_NO,
}

_SCALERS: dict[str, Mapping[str, Parameter]] = {
    "none": {},
    "Normalizer": {},
    "MinMaxScaler": {},
    "StandardScaler": {},
    "Binarizer": {},
    "QuantileTransformer": {
        "n_quantiles": Integer(10, 2000),
        "output_distribution": Categorical(["uniform", "normal"]),
    },
    "RobustScaler": {
        "q_min": Real(0.001, 0.3),
        "q_max": Real(0.7, 0.999),
        "with_centering": _YES_NO,
        "with_scaling": _YES_NO,
    },
    "KBinsDiscretizer": {
        "n_bins": Integer(2, 20),
        "strategy": Categorical(["uniform", "quantile", "kmeans"]),
    },
}
_TRANSFORMERS: dict[str, Mapping[str, Parameter]] = {
    "none": {},
    "SparseRandomProjection": {"density": Real(0.01, 1.0), "n_components": Integer(1, 100)},
    "GaussianRandomProjection": {"n_components": Integer(1, 100)},
    "RBFSampler": {"gamma": _GAMMA, "n_components": Integer(50, 1000, log=True)},
    "Nystroem": {**_KERNEL, "n_components": Integer(50, 1000, log=True)},
    "TruncatedSVD": {"n_components": Integer(2, 256), "n_iter": Integer(2, 10)},
    "KernelPCA": {**_KERNEL, "n_components": Integer(2, 200), "remove_zero_eig": _YES_NO},
    "FastICA": {
        "n_components": Integer(2, 200),
        "algorithm": Categorical(["parallel", "deflation"]),
        "whiten": Categorical(["unit-variance", "arbitrary-variance"]),
        "fun": Categorical(["logcosh", "exp", "cube"]),
        "max_iter": Integer(100, 500),
    },
    "FactorAnalysis": {
        "n_components": Integer(2, 200),
        "max_iter": Integer(100, 1000),
        "svd_method": Categorical(["lapack", "randomized"]),
    },
    "PCA": {"n_components": Real(0.5, 0.9999), "whiten": _YES_NO},
    "PolynomialFeatures": {
        "degree": Integer(2, 3),
        "interaction_only": _YES_NO,
        "include_bias": _YES_NO,
    },
}
_SELECTORS: dict[str, Mapping[str, Parameter]] = {
    "none": {},
    "SelectPercentile": {"percentile": Integer(1, 99)},
    "SelectFpr": {"alpha": Real(0.01, 0.5)},
    "SelectFdr": {"alpha": Real(0.01, 0.5)},
    "SelectFwe": {"alpha": Real(0.01, 0.5)},
    "VarianceThreshold": {"threshold": Real(0.0, 0.2)},
    "SelectKBest": {"k": Integer(1, 100)},
}
# Where a search begins: scikit-learn's defaults or, where they depend on the data, are out of reach
# or known to be poor (five neighbours, leaves of one row in a forest), what is usual.
_KERNEL_START: Mapping[str, Value] = {"gamma": 0.1, "coef0": 0.0, "kernel": "rbf", "degree": 3}
_LEAVES_START: Mapping[str, Value] = {"min_samples_split": 2, "min_samples_leaf": 1}
_FOREST_START: Mapping[str, Value] = {
    "exponent": 0.5,
    "n_estimators": 100,
    "criterion": "gini",
    "min_samples_split": 2,
    "min_samples_leaf": 2,
}
_STARTS: Mapping[str, Mapping[str, Value]] = {
    "QuantileTransformer": {"n_quantiles": 1000, "output_distribution": "normal"},
    "RobustScaler": {
        "q_min": 0.25,
        "q_max": 0.75,
        "with_centering": True,
        "with_scaling": True,
    },
    "KBinsDiscretizer": {"n_bins": 5, "strategy": "quantile"},
    "SparseRandomProjection": {"density": 0.1, "n_components": 50},
    "GaussianRandomProjection": {"n_components": 50},
    "RBFSampler": {"gamma": 0.1, "n_components": 100},
    "Nystroem": {**_KERNEL_START, "n_components": 100},
    "TruncatedSVD": {"n_components": 20, "n_iter": 5},
    "KernelPCA": {**_KERNEL_START, "n_components": 20, "remove_zero_eig": False},
    "FastICA": {
        "n_components": 20,
        "algorithm": "parallel",
        "whiten": "unit-variance",
        "fun": "logcosh",
        "max_iter": 200,
    },
    "FactorAnalysis": {"n_components": 20, "max_iter": 1000, "svd_method": "randomized"},
    "PCA": {"n_components": 0.99, "whiten": False},
    "PolynomialFeatures": {"degree": 2, "interaction_only": False, "include_bias": False},
    "SelectPercentile": {"percentile": 50},
    "SelectFpr": {"alpha": 0.05},
    "SelectFdr": {"alpha": 0.05},
    "SelectFwe": {"alpha": 0.05},
    "VarianceThreshold": {"threshold": 0.0},
    "SelectKBest": {"k": 10},
    "GaussianNB": {},
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.01},
    "GradientBoosting": {
        "learning_rate": 0.1,
        "subsample": 1.0,
        "max_features": 1.0,
        "n_estimators": 100,
        "max_depth": 3,
        **_LEAVES_START,
        "loss": "log_loss",
        "max_leaf_nodes": 1000,
    },
    "KNeighbors": {"n_neighbors": 15, "weights": "distance", "p": 2},
    "RandomForest": {**_FOREST_START, "bootstrap": True},
    "ExtraTrees": {**_FOREST_START, "bootstrap": False},
    "AdaBoost": {"learning_rate": 1.0, "n_estimators": 50, "max_depth": 1},
    "DecisionTree": {
        "max_features": 1.0,
        "min_weight_fraction_leaf": 0.01,
        "min_impurity_decrease": 0.0,
        "criterion": "gini",
        **_LEAVES_START,
    },
    # No Gaussian process: its time grows with the cube of the rows, and a search begins with starts.
    "LogisticRegression": {
        "C": 1.0,
        "tol": 1e-4,
        "fit_intercept": True,
        "class_weight": None,
        "solver": "lbfgs",
    },
    "MLP": {
        "alpha": 1e-4,
        "learning_rate_init": 1e-3,
        "depth": 1,
        "nodes": 100,
        "activation": "relu",
        "solver": "adam",
        "early_stopping": False,
    },
}


def _estimators(task: Task) -> dict[str, Mapping[str, Parameter]]:
    binary = task == "binary"
    return {
        "GaussianNB": {},
        "QuadraticDiscriminantAnalysis": {"reg_param": Real(0.0, 1.0)},
        "GradientBoosting": {
            "learning_rate": Real(0.01, 1.0, log=True),
            "subsample": Real(0.01, 1.0),
            "max_features": Real(0.1, 1.0),
            "n_estimators": Integer(50, 500),
            "max_depth": Integer(1, 10),
            **_LEAVES,
            # The exponential loss and liblinear know two classes only.
            "loss": Categorical(["log_loss", "exponential"] if binary else ["log_loss"]),
            "max_leaf_nodes": Integer(3, 1000, log=True),
        },
        "KNeighbors": {
            "n_neighbors": Integer(1, 100, log=True),
            "weights": Categorical(["uniform", "distance"]),
            "p": Categorical([1, 2]),
        },
        "RandomForest": _FOREST,
        "ExtraTrees": _FOREST,
        "AdaBoost": {
            "learning_rate": Real(0.01, 2.0, log=True),
            "n_estimators": Integer(50, 500),
            "max_depth": Integer(1, 10),
        },
        "DecisionTree": {
            "max_features": Real(0.1, 1.0),
            "min_weight_fraction_leaf": Real(0.0, 0.3),
            "min_impurity_decrease": Real(0.0, 0.1),
            "criterion": _CRITERION,
            **_LEAVES,
        },
        "GaussianProcess": {
            "n_restarts_optimizer": Integer(0, 3),
            "max_iter_predict": Integer(50, 200),
        },
        "LogisticRegression": {
            "C": Real(2**-10, 2**10, log=True),
            "tol": Real(1e-5, 0.1, log=True),
            "fit_intercept": Categorical([True, False]),
            "class_weight": Categorical([None, "balanced"]),
            "solver": Categorical(["lbfgs", "newton-cg"] + ["liblinear"] * binary),
        },
        "MLP": {
            "alpha": Real(1e-7, 0.1, log=True),
            "learning_rate_init": Real(1e-4, 0.5, log=True),
            "depth": Integer(1, 3),
            "nodes": Integer(16, 264, log=True),
            "activation": Categorical(["tanh", "relu"]),
            "solver": Categorical(["adam", "sgd"]),
            "early_stopping": _YES_NO,
        },
    }


def paper_space(task: Task) -> Space:
    """Return the 6,776 pipelines of the paper, for a classification task."""
    return Space(
        [
            _module("scaler", _SCALERS),
            _module("transformer", _TRANSFORMERS),
            _module("selector", _SELECTORS),
            _module("estimator", _estimators(task)),
        ]
    )


def small_space(task: Task) -> Space:
    """Return the paper's small space of 6 x 3 x 6 = 108 pipelines, for a classification task."""
    scalers = (
        "none",
        "Normalizer",
        "QuantileTransformer",
        "MinMaxScaler",
        "StandardScaler",
        "RobustScaler",
    )
    estimators = (
        "GaussianNB",
        "QuadraticDiscriminantAnalysis",
        "GradientBoosting",
        "KNeighbors",
        "RandomForest",
        "ExtraTrees",
    )
    known = _estimators(task)
    return Space(
        [
            _module("scaler", {name: _SCALERS[name] for name in scalers}),
            _module(
                "transformer",
                {name: _TRANSFORMERS[name] for name in ("none", "PCA", "PolynomialFeatures")},
            ),
            _module("estimator", {name: known[name] for name in estimators}),
        ]
    )


def _module(name: str, algorithms: Mapping[str, Mapping[str, Parameter]]) -> Module:
    return Module(
        name, [Algorithm(found, params, _STARTS.get(found)) for found, params in algorithms.items()]
    )

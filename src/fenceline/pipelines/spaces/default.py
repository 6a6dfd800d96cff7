"""The default spaces: what wins on tables today, for classification and regression."""

from fenceline.metrics.trial import Task
from fenceline.pipelines.spaces.operators import EXTRAS, installed
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real, Value
from fenceline.problem.space import Algorithm, Module, Space

_FOREST: dict[str, Parameter] = {
    "n_estimators": Integer(10, 300, log=True),
    "max_features": Real(0.1, 1.0),
    "min_samples_leaf": Integer(1, 50, log=True),
    "max_leaf_nodes": Integer(8, 4096, log=True),
}
_BOOSTING: dict[str, Parameter] = {
    "learning_rate": Real(0.01, 0.5, log=True),
    "max_iter": Integer(10, 1000, log=True),
    "max_leaf_nodes": Integer(3, 127, log=True),
    "min_samples_leaf": Integer(3, 100, log=True),
    "l2_regularization": Real(1e-3, 100.0, log=True),
    "max_features": Real(0.2, 1.0),
    "early_stopping": Categorical([True, False]),
}
# Few and small trees stay in reach everywhere, for a fence may ask for a fast model.
_EXTRA: dict[str, dict[str, Parameter]] = {
    "LightGBM": {
        "learning_rate": Real(0.01, 0.5, log=True),
        "n_estimators": Integer(10, 2000, log=True),
        "num_leaves": Integer(3, 255, log=True),
        "min_child_samples": Integer(3, 100, log=True),
        "colsample_bytree": Real(0.3, 1.0),
        "subsample": Real(0.4, 1.0),
        "reg_lambda": Real(1e-3, 100.0, log=True),
        "early_stopping": Categorical([True, False]),
    },
    "XGBoost": {
        "learning_rate": Real(0.01, 0.5, log=True),
        "n_estimators": Integer(10, 1000, log=True),
        "max_depth": Integer(2, 10),
        "min_child_weight": Real(0.01, 100.0, log=True),
        "subsample": Real(0.5, 1.0),
        "colsample_bytree": Real(0.3, 1.0),
        "reg_lambda": Real(1e-3, 100.0, log=True),
    },
    "CatBoost": {
        "learning_rate": Real(0.01, 0.5, log=True),
        "n_estimators": Integer(10, 400, log=True),
        "max_depth": Integer(2, 8),
        "reg_lambda": Real(0.1, 100.0, log=True),
    },
}
_MLP: dict[str, Parameter] = {
    "alpha": Real(1e-7, 0.1, log=True),
    "learning_rate_init": Real(1e-4, 0.05, log=True),
    "depth": Integer(1, 3),
    "nodes": Integer(16, 256, log=True),
    "activation": Categorical(["relu", "tanh"]),
}

# Where a search begins: what the libraries set by default or, where that is out of reach or known to
# be poor (a forest's leaves of one row, five neighbours, boosting at a rate of .3), what is usual.
# Small trees of half the columns that stop by themselves were better than the library's own booster on
# 13 of 18 tables, for once or twice its time (docs/decisions/0022).
_BOOSTING_START: dict[str, Value] = {
    "learning_rate": 0.05,
    "max_iter": 300,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1e-3,
    "max_features": 0.5,
    "early_stopping": True,
}
# Numbers gain from more trees than classes do, and have one tree a round whatever there is to predict.
_BOOSTING_START_NUMBERS: dict[str, Value] = _BOOSTING_START | {"max_iter": 1000}
_EXTRA_STARTS: dict[str, dict[str, Value]] = {
    "LightGBM": {
        "learning_rate": 0.05,
        "n_estimators": 2000,
        "num_leaves": 31,
        "min_child_samples": 20,
        "colsample_bytree": 0.7,
        # Better than all rows on 13 of 17 tables, and far better with more than two classes.
        "subsample": 0.7,
        "reg_lambda": 1.0,
        "early_stopping": True,
    },
    "XGBoost": {
        "learning_rate": 0.1,
        "n_estimators": 150,
        "max_depth": 6,
        "min_child_weight": 1.0,
        "subsample": 1.0,
        "colsample_bytree": 1.0,
        "reg_lambda": 1.0,
    },
    "CatBoost": {"learning_rate": 0.1, "n_estimators": 200, "max_depth": 6, "reg_lambda": 3.0},
}
_MLP_START: dict[str, Value] = {
    "alpha": 1e-4,
    "learning_rate_init": 1e-3,
    "depth": 1,
    "nodes": 100,
    "activation": "relu",
}


def default_space(task: Task) -> Space:
    """Return the default space of a task; XGBoost and CatBoost are in it when installed."""
    return Space(
        [
            Module("scaler", scalers()),
            Module("selector", selectors()),
            Module("estimator", models(task)),
        ]
    )


def models(task: Task) -> list[Algorithm]:
    """Return what predicts, the safest first."""
    regression = task == "regression"
    balance: dict[str, Parameter] = (
        {} if regression else {"class_weight": Categorical([None, "balanced"])}
    )
    strength: dict[str, Parameter] = (
        {"alpha": Real(1e-4, 1e4, log=True)} if regression else {"C": Real(1e-4, 1e4, log=True)}
    )
    unweighted: dict[str, Value] = {} if regression else {"class_weight": None}
    moderate: dict[str, Value] = {"alpha": 1.0} if regression else {"C": 1.0}
    # Probabilities need leaves of many rows: on 8,000 rows of four tables leaves of 10 to 15 had the
    # smallest regret of all forests (.13 to .14, leaves of 2 .25 to .27) in half the time.
    forest = unweighted | {
        "n_estimators": 50,
        "max_features": 0.5,
        "min_samples_leaf": 2 if regression else 10,
        "max_leaf_nodes": 4096,
    }
    boosting = _BOOSTING_START_NUMBERS if regression else _BOOSTING_START
    linear = "Ridge" if regression else "LogisticRegression"
    found = [
        Algorithm(linear, strength | balance, start=moderate | unweighted),
        Algorithm(
            "DecisionTree",
            {"max_depth": Integer(1, 12), "min_samples_leaf": Integer(1, 200, log=True)},
            start={"max_depth": 6, "min_samples_leaf": 20},
        ),
        Algorithm("HistGradientBoosting", _BOOSTING | balance, start=boosting | unweighted),
        Algorithm("ExtraTrees", _FOREST | balance, start=forest),
        Algorithm("RandomForest", _FOREST | balance, start=forest),
        Algorithm(
            "KNeighbors",
            {
                "n_neighbors": Integer(1, 100, log=True),
                "weights": Categorical(["uniform", "distance"]),
                "p": Categorical([1, 2]),
            },
            start={"n_neighbors": 15, "weights": "distance", "p": 2},
        ),
        Algorithm(
            f"Kernel{linear}",
            {
                "width": Real(0.03, 30.0, log=True),
                "n_components": Integer(20, 500, log=True),
                **strength,
            },
            start={"width": 1.0, "n_components": 300} | moderate,
        ),
        Algorithm("MLP", _MLP, start=_MLP_START),
    ]
    found += [
        Algorithm(name, _EXTRA[name], start=_EXTRA_STARTS[name])
        for name, package in EXTRAS.items()
        if installed(package)
    ]
    return found


def scalers() -> list[Algorithm]:
    """Return how columns are scaled; standardised first: linear models, the first of the models, count on it."""
    return [
        Algorithm("StandardScaler"),
        Algorithm("none"),
        Algorithm(
            "RobustScaler",
            {"q_min": Real(0.001, 0.3), "q_max": Real(0.7, 0.999)},
            start={"q_min": 0.25, "q_max": 0.75},
        ),
        Algorithm(
            "QuantileTransformer",
            {
                "n_quantiles": Integer(10, 1000, log=True),
                "output_distribution": Categorical(["uniform", "normal"]),
            },
            start={"n_quantiles": 1000, "output_distribution": "normal"},
        ),
    ]


def selectors() -> list[Algorithm]:
    """Return how columns become fewer."""
    return [
        Algorithm("none"),
        Algorithm("SelectPercentile", {"percentile": Integer(10, 90)}, start={"percentile": 50}),
        Algorithm("PCA", {"n_components": Real(0.5, 0.9999)}, start={"n_components": 0.99}),
    ]

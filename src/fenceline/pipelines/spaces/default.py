"""The default spaces: what wins on tables today, for classification and regression."""

from importlib.util import find_spec

from fenceline.metrics.trial import Task
from fenceline.pipelines.spaces.operators import EXTRAS
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real
from fenceline.problem.space import Algorithm, Module, Space

_FOREST: dict[str, Parameter] = {
    "n_estimators": Integer(10, 300, log=True),
    "max_features": Real(0.1, 1.0),
    "min_samples_leaf": Integer(1, 50, log=True),
    "max_leaf_nodes": Integer(8, 4096, log=True),
}
_BOOSTING: dict[str, Parameter] = {
    "learning_rate": Real(0.01, 0.5, log=True),
    "max_iter": Integer(10, 600, log=True),
    "max_leaf_nodes": Integer(3, 127, log=True),
    "min_samples_leaf": Integer(3, 100, log=True),
    "l2_regularization": Real(1e-3, 100.0, log=True),
    "max_features": Real(0.2, 1.0),
}
# Few and small trees stay in reach everywhere, for a fence may ask for a fast model.
_EXTRA: dict[str, dict[str, Parameter]] = {
    "LightGBM": {
        "learning_rate": Real(0.01, 0.5, log=True),
        "n_estimators": Integer(10, 1000, log=True),
        "num_leaves": Integer(3, 127, log=True),
        "min_child_samples": Integer(3, 100, log=True),
        "colsample_bytree": Real(0.3, 1.0),
        "reg_lambda": Real(1e-3, 100.0, log=True),
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


def default_space(task: Task) -> Space:
    """Return the default space of a task; LightGBM, XGBoost and CatBoost are in it when installed."""
    regression = task == "regression"
    balance: dict[str, Parameter] = (
        {} if regression else {"class_weight": Categorical([None, "balanced"])}
    )
    strength: dict[str, Parameter] = (
        {"alpha": Real(1e-4, 1e4, log=True)} if regression else {"C": Real(1e-4, 1e4, log=True)}
    )
    linear = "Ridge" if regression else "LogisticRegression"
    models = [
        Algorithm(linear, strength | balance),
        Algorithm(
            "DecisionTree",
            {"max_depth": Integer(1, 12), "min_samples_leaf": Integer(1, 200, log=True)},
        ),
        Algorithm("HistGradientBoosting", _BOOSTING | balance),
        Algorithm("ExtraTrees", _FOREST | balance),
        Algorithm("RandomForest", _FOREST | balance),
        Algorithm(
            "KNeighbors",
            {
                "n_neighbors": Integer(1, 100, log=True),
                "weights": Categorical(["uniform", "distance"]),
                "p": Categorical([1, 2]),
            },
        ),
        Algorithm(
            f"Kernel{linear}",
            {
                "width": Real(0.03, 30.0, log=True),
                "n_components": Integer(20, 500, log=True),
                **strength,
            },
        ),
        Algorithm("MLP", _MLP),
    ]
    models += [
        Algorithm(name, _EXTRA[name]) for name, package in EXTRAS.items() if find_spec(package)
    ]
    return Space(
        [
            Module(
                "scaler",
                [
                    # Standardised first: linear models, the first of the models, count on it.
                    Algorithm("StandardScaler"),
                    Algorithm("none"),
                    Algorithm(
                        "RobustScaler", {"q_min": Real(0.001, 0.3), "q_max": Real(0.7, 0.999)}
                    ),
                    Algorithm(
                        "QuantileTransformer",
                        {
                            "n_quantiles": Integer(10, 1000, log=True),
                            "output_distribution": Categorical(["uniform", "normal"]),
                        },
                    ),
                ],
            ),
            Module(
                "selector",
                [
                    Algorithm("none"),
                    Algorithm("SelectPercentile", {"percentile": Integer(10, 90)}),
                    Algorithm("PCA", {"n_components": Real(0.5, 0.9999)}),
                ],
            ),
            Module("estimator", models),
        ]
    )

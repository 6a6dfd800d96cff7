"""The demo's search space, and the scikit-learn pipeline that a configuration stands for."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from fenceline.configuration import Configuration
from fenceline.parameter import Categorical, Integer, Parameter, Real
from fenceline.space import Algorithm, Module, Space

_FOREST: Mapping[str, Parameter] = {
    "n_estimators": Integer(10, 100, log=True),
    "max_features": Real(0.1, 1.0),
    "min_samples_leaf": Integer(1, 20),
    "criterion": Categorical(["gini", "entropy"]),
}

SPACE = Space(
    [
        Module(
            "scaler",
            [
                Algorithm("none"),
                Algorithm("standard"),
                Algorithm("minmax"),
                Algorithm("robust", {"q_min": Real(0.001, 0.3), "q_max": Real(0.7, 0.999)}),
                Algorithm(
                    "quantile",
                    {
                        "n_quantiles": Integer(10, 1000, log=True),
                        "output_distribution": Categorical(["uniform", "normal"]),
                    },
                ),
            ],
        ),
        Module(
            "model",
            [
                Algorithm("naive_bayes"),
                Algorithm(
                    "logistic",
                    {
                        "C": Real(2**-10, 2**10, log=True),
                        "class_weight": Categorical([None, "balanced"]),
                    },
                ),
                Algorithm(
                    "neighbours",
                    {
                        "n_neighbors": Integer(1, 100, log=True),
                        "weights": Categorical(["uniform", "distance"]),
                        "p": Categorical([1, 2]),
                    },
                ),
                Algorithm(
                    "tree",
                    {
                        "max_depth": Integer(2, 12),
                        "min_samples_leaf": Integer(1, 100, log=True),
                        "criterion": Categorical(["gini", "entropy"]),
                    },
                ),
                Algorithm("random_forest", _FOREST),
                Algorithm("extra_trees", _FOREST),
                Algorithm(
                    "boosting",
                    {
                        "learning_rate": Real(0.02, 0.5, log=True),
                        "max_iter": Integer(10, 300, log=True),
                        "max_leaf_nodes": Integer(3, 63, log=True),
                        "min_samples_leaf": Integer(5, 100, log=True),
                        "l2_regularization": Real(1e-3, 100.0, log=True),
                    },
                ),
            ],
        ),
    ]
)
"""5 scalers and 7 models; the first of each is cheap and safe, for every search starts there."""

_MAKERS: dict[str, Callable[..., Any]] = {
    "none": lambda: "passthrough",
    "standard": StandardScaler,
    "minmax": MinMaxScaler,
    "robust": lambda q_min, q_max: RobustScaler(quantile_range=(100 * q_min, 100 * q_max)),
    "quantile": lambda **params: QuantileTransformer(random_state=0, **params),
    "naive_bayes": GaussianNB,
    "logistic": lambda **params: LogisticRegression(max_iter=500, **params),
    "neighbours": KNeighborsClassifier,
    "tree": lambda **params: DecisionTreeClassifier(random_state=0, **params),
    "random_forest": lambda **params: RandomForestClassifier(random_state=0, **params),
    "extra_trees": lambda **params: ExtraTreesClassifier(random_state=0, **params),
    "boosting": lambda **params: HistGradientBoostingClassifier(
        random_state=0, early_stopping=False, **params
    ),
}


def preparation() -> ColumnTransformer:
    """Return what comes before every pipeline: imputation and one-hot encoding, unfitted."""
    numeric = make_column_selector(dtype_include="number")
    text = make_column_selector(dtype_exclude="number")
    # A missing category becomes a category of its own; one met for the first time becomes zeros.
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [("impute", SimpleImputer(strategy="median"), numeric), ("encode", encode, text)]
    )


def steps(configuration: Configuration) -> Pipeline:
    """Return the chosen scaler and model, unfitted."""
    return Pipeline(
        [
            (module, _MAKERS[choice.algorithm](**choice.params))
            for module, choice in configuration.items()
        ]
    )

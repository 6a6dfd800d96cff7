"""What each algorithm of the catalogue stands for: a scikit-learn estimator, made to measure.

A name with a dot that the catalogue does not know, such as ``"sklearn.svm.LinearSVC"``, is
imported, so that a space can hold any class that follows scikit-learn's conventions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from sklearn import (
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    kernel_approximation,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    random_projection,
    tree,
)
from sklearn.pipeline import make_pipeline

from fenceline.errors import SpaceError, suggestion
from fenceline.metrics.trial import Task
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.problem.module import Algorithm

EXTRAS = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost"}
"""Algorithms of other packages, which a machine may lack or be unable to load."""


@cache
def installed(package: str) -> bool:
    """Tell whether a package is there and loads: boosters need OpenMP, which a bare system may not have."""
    try:
        import_module(package)
    except (ImportError, OSError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step is made for: the task, and the shape of the data that will reach it."""

    task: Task
    rows: int
    columns: int
    sparse: bool = False
    random_state: int = 0
    positive: Any = None
    """The label of the positive class, where there are two."""
    categories: tuple[int, ...] = ()
    """Columns that hold codes of categories, in no meaningful order."""
    directions: tuple[int, ...] = ()
    """For each column of the table, 1 or -1 if answers must grow or fall with it; empty for none."""
    spare_rows: bool = False
    """Whether there are so many rows that models keep some aside to know when to stop."""
    rare_class: bool = False
    """Whether a class has so few rows that none can be kept aside."""
    trees: float | None = None
    """How many trees the model had on other rows, where it stopped by itself or had no time for more."""
    seconds: float | None = None
    """How long the model may take; what grows by trees has fewer of them, if need be."""
    held_out: bool = False
    """Whether rows are held out by which a booster may know when to stop: in the folds of a search alone."""
    outputs: int = 1
    """How many numbers are predicted: one for each class, where there are more than two."""
    votes: int = 1
    """How many fits of the model vote, each without another part of the rows."""

    def kind(self, module: Any, stem: str) -> Any:
        """Return the classifier or the regressor of a pair, as the task needs."""
        return getattr(module, stem + ("Regressor" if self.task == "regression" else "Classifier"))

    @property
    def scores(self) -> Any:
        """The test by which single columns are selected."""
        univariate = feature_selection
        return univariate.f_regression if self.task == "regression" else univariate.f_classif


Maker: TypeAlias = Callable[..., Any]


def make(algorithm: str, params: Mapping[str, Any], setting: Setting) -> Any:
    """Return the unfitted estimator of one choice, or ``"passthrough"``."""
    maker = _MAKERS.get(algorithm)
    if maker is None and "." not in algorithm:
        raise SpaceError(
            f"There is no algorithm {algorithm!r} in the catalogue.{suggestion(algorithm, _MAKERS)} "
            "Any other class is named by its import path, such as 'sklearn.svm.LinearSVC'."
        )
    path, _, name = algorithm.rpartition(".")
    try:
        if maker is not None:
            return maker(setting, **params)
        return _seed(getattr(import_module(path), name)(**params), setting)
    except (ImportError, AttributeError, OSError, TypeError) as problem:
        raise SpaceError(f"Algorithm {algorithm!r} cannot be made: {problem}.") from problem


def make_middle(algorithm: Algorithm, setting: Setting) -> Any:
    """Return the estimator of an algorithm in the middle of its ranges."""
    middle = {name: parameter.from_unit(0.5) for name, parameter in algorithm.params.items()}
    return make(algorithm.name, middle, setting)


def _seed(estimator: Any, s: Setting) -> Any:
    """Fix the random numbers of an estimator that uses any."""
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=s.random_state)
    return estimator


def _plain(made: Any, **fixed: Any) -> Maker:
    """Make an estimator whose hyper-parameters are those of the space."""
    return lambda s, **params: _seed(made(**fixed, **params), s)


def _paired(module: Any, stem: str, **fixed: Any) -> Maker:
    """Make the classifier or the regressor of a pair."""
    return lambda s, **params: _seed(s.kind(module, stem)(**fixed, **params), s)


def _components(made: Any, limit: Callable[[Setting], int]) -> Maker:
    """Make a transformer that cannot yield more components than the data allow."""

    def maker(s: Setting, n_components: int, **params: Any) -> Any:
        return _seed(made(n_components=max(1, min(n_components, limit(s))), **params), s)

    return maker


def _robust(
    s: Setting, q_min: float, q_max: float, with_centering: bool = True, **rest: Any
) -> Any:
    return preprocessing.RobustScaler(
        quantile_range=(100 * q_min, 100 * q_max),
        with_centering=with_centering and not s.sparse,
        **rest,
    )


def _quantile(s: Setting, n_quantiles: int, **params: Any) -> Any:
    return preprocessing.QuantileTransformer(
        n_quantiles=min(n_quantiles, s.rows), random_state=s.random_state, **params
    )


def _bins(s: Setting, **params: Any) -> Any:
    quantile = {"quantile_method": "averaged_inverted_cdf"} if _BINS_HAVE_METHOD else {}
    return preprocessing.KBinsDiscretizer(
        encode="ordinal", random_state=s.random_state, **quantile, **params
    )


_BINS_HAVE_METHOD = "quantile_method" in preprocessing.KBinsDiscretizer().get_params()


def _select(made: Any) -> Maker:
    return lambda s, **params: made(s.scores, **params)


def _k_best(s: Setting, k: int) -> Any:
    return feature_selection.SelectKBest(s.scores, k=min(k, s.columns))


def _neighbours(s: Setting, n_neighbors: int, **params: Any) -> Any:
    return s.kind(neighbors, "KNeighbors")(n_neighbors=min(n_neighbors, s.rows), **params)


def _forest(stem: str) -> Maker:
    def maker(s: Setting, exponent: float | None = None, **params: Any) -> Any:
        if exponent is not None:
            params["max_features"] = max(1, int(s.columns**exponent))
        return s.kind(ensemble, stem)(random_state=s.random_state, **params)

    return maker


def _ada(s: Setting, max_depth: int, **params: Any) -> Any:
    base = s.kind(tree, "DecisionTree")(max_depth=max_depth, random_state=s.random_state)
    return s.kind(ensemble, "AdaBoost")(base, random_state=s.random_state, **params)


def _mlp(s: Setting, depth: int, nodes: int, **params: Any) -> Any:
    # Of many rows a tenth tells when to stop, several times sooner than the loss does.
    params = {"early_stopping": s.spare_rows} | params
    return s.kind(neural_network, "MLP")(
        hidden_layer_sizes=(nodes,) * depth, random_state=s.random_state, **params
    )


def _kernel(linear: Any) -> Maker:
    """Make a kernel model by Nystroem's approximation: linear in the rows, with probabilities."""

    def maker(s: Setting, width: float, n_components: int, **params: Any) -> Any:
        features = kernel_approximation.Nystroem(
            # Relative to the columns, so that the same width fits tables of any breadth.
            gamma=width / max(1, s.columns),
            n_components=min(n_components, s.rows),
            random_state=s.random_state,
        )
        return make_pipeline(features, _seed(linear(**params), s))

    return maker


def _extra(
    algorithm: str,
    prefix: str,
    rename: Mapping[str, str],
    *,
    encode: bool = False,
    **fixed: Any,
) -> Maker:
    """Make a model of an optional package, on one thread and silent."""

    def maker(s: Setting, **params: Any) -> Any:
        made = s.kind(import_module(EXTRAS[algorithm]), prefix)
        named = {rename.get(name, name): value for name, value in params.items()}
        model = made(random_state=s.random_state, **fixed, **named)
        return EncodedLabels(model) if encode and s.task != "regression" else model

    return maker


_lightgbm = _extra(
    # Without a frequency the library ignores which share of the rows a tree is to see.
    "LightGBM",
    "LGBM",
    {"patience": "early_stopping_round"},
    n_jobs=1,
    verbosity=-1,
    subsample_freq=1,
)


def _stopping(s: Setting, early_stopping: bool = False, **params: Any) -> Any:
    """Make a booster that stops as soon as held-out rows gain nothing from further trees."""
    if early_stopping and s.held_out:
        params["patience"] = round(_PATIENCE + _PATIENCE_RATE / params.get("learning_rate", 0.1))
    return _lightgbm(s, **params)


_PATIENCE_RATE = 1.5
"""Slow rates are waited for longer: 40 trees at a rate of .05."""
_NEWTON_COLUMNS, _NEWTON_ROWS = 200, 10
"""Up to so many columns, and with so many rows for each, Newton's method is quicker."""


def _logistic(**params: Any) -> Any:
    return linear_model.LogisticRegression(max_iter=500, **params)


def _logistic_regression(s: Setting, **params: Any) -> Any:
    # Five steps whatever the scale of the columns: .03 s on 20,000 rows of 23 columns, where lbfgs
    # takes .05 s if they are standardised, and .6 s for a worse model if they are not. Its matrix
    # grows with the square of columns times classes, hence two classes only.
    few = s.columns <= min(_NEWTON_COLUMNS, s.rows / _NEWTON_ROWS)
    newton = few and s.task == "binary" and not s.sparse and "solver" not in params
    solver = {"solver": "newton-cholesky"} if newton else {}
    return _seed(_logistic(**solver, **params), s)


_PATIENCE, _PATIENCE_NUMBERS = 10, 20
"""Trees without a gain after which boosting stops. Numbers gain for longer: with 20 instead of 10, 1 - R2 fell
from .164 to .163, .101 to .100 and .196 to .195; with classes losses fell by .0006 at most, and rose by up to .003."""


def _boosting(s: Setting, early_stopping: bool | None = None, **params: Any) -> Any:
    stops = s.spare_rows if early_stopping is None else early_stopping
    stops = stops and not s.rare_class
    if stops and s.task == "regression":
        # scikit-learn's tolerance is absolute, and numbers to predict have no natural scale.
        params = {"tol": 0.0, "n_iter_no_change": _PATIENCE_NUMBERS} | params
    elif stops:
        params = {"n_iter_no_change": _PATIENCE} | params
    return s.kind(ensemble, "HistGradientBoosting")(
        random_state=s.random_state,
        categorical_features=list(s.categories) or None,
        early_stopping=stops,
        **params,
    )


_MAKERS: dict[str, Maker] = {
    "none": lambda s: "passthrough",
    "Identity": _plain(preprocessing.FunctionTransformer, feature_names_out="one-to-one"),
    "Normalizer": _plain(preprocessing.Normalizer),
    "MinMaxScaler": _plain(preprocessing.MinMaxScaler),
    "StandardScaler": lambda s: preprocessing.StandardScaler(with_mean=not s.sparse),
    "Binarizer": _plain(preprocessing.Binarizer),
    "QuantileTransformer": _quantile,
    "RobustScaler": _robust,
    "PowerTransformer": _plain(preprocessing.PowerTransformer),
    "KBinsDiscretizer": _bins,
    "SparseRandomProjection": _plain(random_projection.SparseRandomProjection),
    "GaussianRandomProjection": _plain(random_projection.GaussianRandomProjection),
    "RBFSampler": _plain(kernel_approximation.RBFSampler),
    "Nystroem": _components(kernel_approximation.Nystroem, lambda s: s.rows),
    "TruncatedSVD": _components(decomposition.TruncatedSVD, lambda s: s.columns),
    "KernelPCA": _components(decomposition.KernelPCA, lambda s: s.rows),
    "FastICA": _components(decomposition.FastICA, lambda s: min(s.rows, s.columns)),
    "FactorAnalysis": _components(decomposition.FactorAnalysis, lambda s: s.columns),
    "PCA": _plain(decomposition.PCA, svd_solver="full"),
    "PolynomialFeatures": _plain(preprocessing.PolynomialFeatures),
    "SelectPercentile": _select(feature_selection.SelectPercentile),
    "SelectFpr": _select(feature_selection.SelectFpr),
    "SelectFdr": _select(feature_selection.SelectFdr),
    "SelectFwe": _select(feature_selection.SelectFwe),
    "VarianceThreshold": _plain(feature_selection.VarianceThreshold),
    "SelectKBest": _k_best,
    "GaussianNB": _plain(naive_bayes.GaussianNB),
    "QuadraticDiscriminantAnalysis": _plain(discriminant_analysis.QuadraticDiscriminantAnalysis),
    "GradientBoosting": _paired(ensemble, "GradientBoosting"),
    "HistGradientBoosting": _boosting,
    "KNeighbors": _neighbours,
    "RandomForest": _forest("RandomForest"),
    "ExtraTrees": _forest("ExtraTrees"),
    "AdaBoost": _ada,
    "DecisionTree": _paired(tree, "DecisionTree"),
    "GaussianProcess": _paired(gaussian_process, "GaussianProcess"),
    "LogisticRegression": _logistic_regression,
    "Ridge": _plain(linear_model.Ridge),
    "KernelLogisticRegression": _kernel(_logistic),
    "KernelRidge": _kernel(linear_model.Ridge),
    "MLP": _mlp,
    "LightGBM": _stopping,
    "XGBoost": _extra("XGBoost", "XGB", {}, encode=True, n_jobs=1, verbosity=0),
    "CatBoost": _extra(
        "CatBoost",
        "CatBoost",
        {"reg_lambda": "l2_leaf_reg", "max_depth": "depth"},
        encode=True,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ),
}

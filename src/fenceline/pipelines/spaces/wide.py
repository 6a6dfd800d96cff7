"""The wide space: the default's models behind preprocessing in any order, some of it doubled."""

from fenceline.metrics.trial import Task
from fenceline.pipelines.spaces.default import models, scalers, selectors
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.space import Algorithm, Module, Space


def wide_space(task: Task) -> Space:
    """Return the wide space of a task: over 10^5 pipelines, hyper-parameters apart.

    One or two transformers side by side, a chain of up to two selectors, and these and the scaler in
    any order. Its first algorithms are those of the default space, so that what was learnt of that
    one is where a search begins.
    """
    return Space(
        [
            Module(
                "scaler", [*scalers(), Algorithm("MinMaxScaler"), Algorithm("PowerTransformer")]
            ),
            Module("transformer", _transformers(), most=2, join="union"),
            Module("selector", [*selectors(), *_more_selectors()], most=2, join="chain"),
            Module("estimator", models(task)),
        ],
        reorder=("scaler", "transformer", "selector"),
    )


def _transformers() -> list[Algorithm]:
    """Return what makes new columns; beside the identity, they are added to the old ones."""
    return [
        Algorithm("none"),
        Algorithm("Identity"),
        Algorithm("PCA", {"n_components": Real(0.5, 0.9999)}, start={"n_components": 0.99}),
        Algorithm("TruncatedSVD", {"n_components": Integer(2, 50, log=True)}),
        Algorithm("Nystroem", {"n_components": Integer(20, 300, log=True)}),
        Algorithm(
            "RBFSampler",
            {"gamma": Real(1e-3, 1.0, log=True), "n_components": Integer(20, 300, log=True)},
        ),
        Algorithm(
            "KBinsDiscretizer",
            {"n_bins": Integer(3, 32, log=True), "strategy": Categorical(["quantile", "uniform"])},
        ),
        Algorithm("SplineTransformer", {"n_knots": Integer(3, 10)}),
        Algorithm("Normalizer"),
    ]


def _more_selectors() -> list[Algorithm]:
    return [
        Algorithm("SelectFpr", {"alpha": Real(1e-4, 0.2, log=True)}),
        Algorithm("VarianceThreshold", {"threshold": Real(1e-6, 0.1, log=True)}),
    ]

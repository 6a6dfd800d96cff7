"""Models of expensive functions, and the choice of the next point from them."""

from fenceline.search.surrogates.gaussian_process import (
    GaussianProcess,
    Hyperparameters,
    fit,
    posterior,
)
from fenceline.search.surrogates.improvement import (
    log_expected_improvement,
    log_expected_improvement_with_gradient,
    log_probability_below,
    probability_below,
)
from fenceline.search.surrogates.maximise import Surrogate, maximise

__all__ = [
    "GaussianProcess",
    "Hyperparameters",
    "Surrogate",
    "fit",
    "log_expected_improvement",
    "log_expected_improvement_with_gradient",
    "log_probability_below",
    "maximise",
    "posterior",
    "probability_below",
]

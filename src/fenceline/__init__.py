"""Fenceline finds the best machine-learning pipeline inside the fence."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fenceline.admm import ADMM
from fenceline.configuration import Choice, Configuration
from fenceline.constraint import Constraint, metric
from fenceline.evaluation.limits import Limits
from fenceline.parameter import Categorical, Integer, Real
from fenceline.precision import Adaptive, Fixed
from fenceline.problem import Evaluation, Problem
from fenceline.result import Result
from fenceline.rules import forbid, order
from fenceline.run import minimize
from fenceline.space import Algorithm, Module, Space

if TYPE_CHECKING:
    from fenceline import metrics, pipelines
    from fenceline.estimator import FencelineClassifier, FencelineRegressor
    from fenceline.saving import load

__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "Adaptive",
    "Algorithm",
    "Categorical",
    "Choice",
    "Configuration",
    "Constraint",
    "Evaluation",
    "FencelineClassifier",
    "FencelineRegressor",
    "Fixed",
    "Integer",
    "Limits",
    "Module",
    "Problem",
    "Real",
    "Result",
    "Space",
    "forbid",
    "load",
    "metric",
    "metrics",
    "minimize",
    "order",
    "pipelines",
]

_LATER = {
    "FencelineClassifier": "fenceline.estimator",
    "FencelineRegressor": "fenceline.estimator",
    "load": "fenceline.saving",
}


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn when it is first asked for; black boxes never wait for it."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in ("metrics", "pipelines"):
        return import_module(f"fenceline.{name}")
    raise AttributeError(f"module 'fenceline' has no attribute {name!r}")

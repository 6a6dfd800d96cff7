"""Fenceline finds the best machine-learning pipeline inside the fence."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fenceline.evaluation.limits import Limits
from fenceline.minimize import minimize
from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.constraint import Constraint, metric
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.grammar import Grammar
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.problem import Problem
from fenceline.problem.rules import forbid, order
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.result.result import Result
from fenceline.search.admm.admm import ADMM
from fenceline.search.precision import Adaptive, Fixed
from fenceline.search.structured.search import StructuredBO

if TYPE_CHECKING:
    from fenceline import baselines, data, metrics, pipelines, plots, problems, report, solvers
    from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor
    from fenceline.estimator.files import load

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
    "Grammar",
    "Integer",
    "Limits",
    "Module",
    "Problem",
    "Real",
    "Result",
    "Space",
    "StructuredBO",
    "baselines",
    "data",
    "forbid",
    "load",
    "metric",
    "metrics",
    "minimize",
    "order",
    "pipelines",
    "plots",
    "problems",
    "report",
    "solvers",
]

_LATER = {
    "FencelineClassifier": "fenceline.estimator",
    "FencelineRegressor": "fenceline.estimator",
    "load": "fenceline.estimator.files",
}

_ROOMS = ("baselines", "data", "metrics", "pipelines", "plots", "problems", "report", "solvers")


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn when it is first asked for; black boxes never wait for it."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _ROOMS:
        return import_module(f"fenceline.{name}")
    raise AttributeError(f"module 'fenceline' has no attribute {name!r}")

"""Fenceline finds the best machine-learning pipeline inside the fence."""

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
    "Fixed",
    "Integer",
    "Limits",
    "Module",
    "Problem",
    "Real",
    "Result",
    "Space",
    "forbid",
    "metric",
    "minimize",
    "order",
]

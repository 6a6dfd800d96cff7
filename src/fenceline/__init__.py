"""Fenceline finds the best machine-learning pipeline inside the fence."""

from fenceline.configuration import Choice, Configuration
from fenceline.constraint import Constraint, metric
from fenceline.parameter import Categorical, Integer, Real
from fenceline.problem import Evaluation, Problem
from fenceline.space import Algorithm, Module, Space

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "Categorical",
    "Choice",
    "Configuration",
    "Constraint",
    "Evaluation",
    "Integer",
    "Module",
    "Problem",
    "Real",
    "Space",
    "metric",
]

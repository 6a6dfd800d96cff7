"""What may be chosen, and what must hold: spaces, constraints, rules, and the problem they make."""

from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.constraint import Constraint, metric, parse_constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.grammar import Grammar
from fenceline.problem.measurement import Measurement, Spread
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real
from fenceline.problem.problem import Problem
from fenceline.problem.rules import forbid, order
from fenceline.problem.space import Space

__all__ = [
    "Algorithm",
    "Categorical",
    "Choice",
    "Configuration",
    "Constraint",
    "Evaluation",
    "Grammar",
    "Integer",
    "Measurement",
    "Module",
    "Parameter",
    "Problem",
    "Real",
    "Space",
    "Spread",
    "forbid",
    "metric",
    "order",
    "parse_constraint",
]

"""Solvers for the sub-problems of ADMM; each proposes points of a unit cube and never imports another."""

from fenceline.solvers.bandit import Bandit
from fenceline.solvers.bayesian import Bayesian
from fenceline.solvers.protocol import Solver, Subproblem
from fenceline.solvers.random import Random

__all__ = ["Bandit", "Bayesian", "Random", "Solver", "Subproblem"]

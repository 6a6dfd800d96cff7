"""Solvers for the sub-problems of ADMM; each proposes points of a unit cube and never imports another."""

from fenceline.search.admm.solvers.bandit import Bandit
from fenceline.search.admm.solvers.bayesian import Bayesian
from fenceline.search.admm.solvers.derivations import Derivations
from fenceline.search.admm.solvers.protocol import Solver, Subproblem
from fenceline.search.admm.solvers.random import Random

__all__ = ["Bandit", "Bayesian", "Derivations", "Random", "Solver", "Subproblem"]

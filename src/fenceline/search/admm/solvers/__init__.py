"""Solvers for the sub-problems of ADMM; each proposes points of a unit cube and never imports another."""

from fenceline.search.admm.solvers.bandit import Bandit
from fenceline.search.admm.solvers.bayesian import Bayesian
from fenceline.search.admm.solvers.bohb import BOHB
from fenceline.search.admm.solvers.derivations import Derivations
from fenceline.search.admm.solvers.direct_search import DirectSearch
from fenceline.search.admm.solvers.hyperband import Hyperband
from fenceline.search.admm.solvers.incremental_allocation import IncrementalAllocation
from fenceline.search.admm.solvers.planning import Planning
from fenceline.search.admm.solvers.protocol import Look, Solver, Subproblem
from fenceline.search.admm.solvers.random import Random
from fenceline.search.admm.solvers.successive_halving import SuccessiveHalving
from fenceline.search.admm.solvers.tree_search import TreeSearch
from fenceline.search.admm.solvers.trust_region import TrustRegion

__all__ = [
    "BOHB",
    "Bandit",
    "Bayesian",
    "Derivations",
    "DirectSearch",
    "Hyperband",
    "IncrementalAllocation",
    "Look",
    "Planning",
    "Random",
    "Solver",
    "Subproblem",
    "SuccessiveHalving",
    "TreeSearch",
    "TrustRegion",
]

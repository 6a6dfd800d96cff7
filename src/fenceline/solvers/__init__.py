"""Solvers for the sub-problems of :class:`fenceline.ADMM`: ``fl.ADMM(theta=..., z=...)``."""

from fenceline.search.admm.solvers import (
    BOHB,
    Bandit,
    Bayesian,
    Derivations,
    DirectSearch,
    Hyperband,
    IncrementalAllocation,
    Look,
    Planning,
    Random,
    Solver,
    Subproblem,
    SuccessiveHalving,
    TreeSearch,
    TrustRegion,
)

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

"""Solvers for the sub-problems of :class:`fenceline.ADMM`: ``fl.ADMM(theta=..., z=...)``."""

from fenceline.search.admm.solvers import *  # noqa: F403 - one list of names, where the solvers are
from fenceline.search.admm.solvers import __all__ as __all__

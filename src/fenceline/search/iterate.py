"""The state of ADMM after an iteration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.space import Choices, Theta


@dataclass(frozen=True, slots=True)
class Iterate:
    """What ADMM holds after iteration t; the symbols are those of :mod:`fenceline.search.admm.admm`."""

    t: int
    z: Choices
    theta: Theta
    delta: NDArray[np.float64]
    lam: NDArray[np.float64]
    u: NDArray[np.float64]
    mu: NDArray[np.float64]
    rho: float
    """The penalty; 0 where a search has none."""
    primal_residual: float
    """How far theta_d is from delta, and g + u from eps."""
    dual_residual: float
    """How far delta moved, times rho."""
    evaluations: int
    prices: dict[str, float]

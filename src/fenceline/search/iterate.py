"""The state of a search after an iteration."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.space import Choices, Theta


@dataclass(frozen=True, slots=True)
class Iterate:
    """What a search holds after iteration t; the symbols are those of :mod:`fenceline.search.admm.admm`."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return what a reader is shown, in JSON's types; where the iterate lies is not among it."""
        return {
            "t": int(self.t),
            "mu": [_written(value) for value in self.mu],
            "rho": _written(self.rho),
            "primal": _written(self.primal_residual),
            "dual": _written(self.dual_residual),
            "evaluations": int(self.evaluations),
            "prices": {name: _written(price) for name, price in self.prices.items()},
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote; where the iterate lay is empty."""
        nowhere = np.empty(0)
        return cls(
            int(found["t"]),
            (),
            nowhere,
            nowhere,
            nowhere,
            nowhere,
            np.array([_read(value) for value in found["mu"]], dtype=np.float64),
            _read(found["rho"]),
            _read(found["primal"]),
            _read(found["dual"]),
            int(found["evaluations"]),
            {str(name): _read(price) for name, price in found["prices"].items()},
        )


def _written(value: float) -> float | None:
    """Return a number that JSON has a word for."""
    return float(value) if math.isfinite(value) else None


def _read(value: float | None) -> float:
    return math.nan if value is None else float(value)

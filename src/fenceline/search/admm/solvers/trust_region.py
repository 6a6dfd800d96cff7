"""Trust-region search without derivatives: scipy's COBYQA (Ragonneau and Zhang 2023) on the unit cube."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.protocol import Merits, Points, Subproblem
from fenceline.search.admm.solvers.replaying import Function, Optimiser, replayed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrustRegion:
    """Minimise quadratic models of the merit inside a region that grows and shrinks with their success.

    The first region lies around the best point known, and is as wide as the best points lie apart.
    When a region has shrunk to nothing, the next one starts from a random point.

    Parameters
    ----------
    radius : float
        The first region's, where nothing says how wide it should be; the unit cube has side 1.
    precision : float
        The radius at which a region is given up.
    """

    radius: float = 0.2
    precision: float = 1e-4

    blocks: ClassVar[tuple[str, ...]] = ("theta",)

    def __post_init__(self) -> None:
        if not 0.0 < self.precision < self.radius <= 0.5:
            raise DefinitionError(
                "TrustRegion: 0 < precision < radius <= 0.5 must hold. "
                f"Got precision={self.precision!r} and radius={self.radius!r}."
            )

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the points that one region after another asks for."""
        dimension = len(task.parameters)
        regions = 0

        def start(points: Points, merits: Merits) -> Optimiser:
            nonlocal regions
            regions += 1
            if regions == 1 and len(merits):
                return self._around(*self._best(points, merits))
            return self._around(rng.random(dimension), self.radius)

        yield from replayed(task, rng, start)

    def _best(self, points: Points, merits: Merits) -> tuple[Array, float]:
        """Return the best point, and how far from it the next best ones lie."""
        order = np.argsort(merits, kind="stable")
        best = points[order[0]]
        # As many as a linear model has coefficients: fewer say nothing of a direction.
        near = points[order[1 : len(best) + 2]]
        if len(near) <= len(best):
            return best, self.radius
        apart = float(np.median(np.abs(near - best).max(axis=1)))
        return best, min(max(apart, 10.0 * self.precision), self.radius)

    def _around(self, centre: Array, radius: float) -> Optimiser:
        dimension = len(centre)

        def optimise(function: Function) -> None:
            minimize(
                function,
                np.array(centre),
                method="COBYQA",
                bounds=Bounds(np.zeros(dimension), np.ones(dimension)),
                options={
                    "initial_tr_radius": radius,
                    "final_tr_radius": min(self.precision, radius / 2.0),
                    # On a lattice most calls may be known: a region ends before they add up.
                    "maxfev": 20 * (dimension + 2),
                    "maxiter": 40 * (dimension + 2),
                },
            )

        return optimise

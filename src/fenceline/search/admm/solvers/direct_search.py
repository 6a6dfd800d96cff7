"""Direct search: scipy's DIRECT divides the cube, then bounded Nelder-Mead refines the best point."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, direct, minimize

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.protocol import Merits, Points, Subproblem
from fenceline.search.admm.solvers.replaying import Function, Optimiser, replayed

Array = NDArray[np.float64]

_ADAPTIVE = 5
"""Beyond so many dimensions Nelder-Mead's steps depend on their number (Gao and Han 2012)."""


@dataclass(frozen=True, slots=True)
class DirectSearch:
    """Divide the cube into ever smaller boxes, then let a simplex walk downhill from the best.

    Parameters
    ----------
    divisions : int
        Points of DIRECT, for each dimension.
    most_dimensions : int
        DIRECT is left out beyond; boxes are too many there.
    edge : float
        Of the first simplex.
    precision : float
        The edge at which a simplex is given up; the next one starts from a random point.
    """

    divisions: int = 6
    most_dimensions: int = 8
    edge: float = 0.1
    precision: float = 1e-4

    blocks: ClassVar[tuple[str, ...]] = ("theta",)

    def __post_init__(self) -> None:
        if self.divisions < 1:
            raise DefinitionError(
                f"DirectSearch: divisions must be at least 1. Got {self.divisions!r}."
            )
        if not 0.0 < self.precision < self.edge <= 0.5:
            raise DefinitionError(
                "DirectSearch: 0 < precision < edge <= 0.5 must hold. "
                f"Got precision={self.precision!r} and edge={self.edge!r}."
            )

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the points that DIRECT asks for, then those of one simplex after another."""
        dimension = len(task.parameters)
        stage = 0

        def start(points: Points, merits: Merits) -> Optimiser:
            nonlocal stage
            stage += 1
            if stage == 1 and dimension <= self.most_dimensions and self._unknown(points):
                # The order of the axes is all that DIRECT leaves to chance.
                return self._divide(rng.permutation(dimension))
            if stage <= 2 and len(merits):
                return self._walk(points[np.argmin(merits)], rng)
            return self._walk(rng.random(dimension), rng)

        yield from replayed(task, rng, start)

    def _unknown(self, points: Points) -> bool:
        """Tell whether the cube is still to be divided: a warm start knows as much already."""
        return bool(len(points) < self.divisions * points.shape[1])

    def _divide(self, axes: NDArray[np.intp]) -> Optimiser:
        dimension = len(axes)

        def optimise(function: Function) -> None:
            def permuted(point: Array) -> float:
                return function(np.asarray(point)[axes])

            direct(
                permuted,
                Bounds(np.zeros(dimension), np.ones(dimension)),
                maxfun=self.divisions * dimension,
                maxiter=1000,
                locally_biased=True,
            )

        return optimise

    def _walk(self, centre: Array, rng: np.random.Generator) -> Optimiser:
        dimension = len(centre)
        # Towards the farther wall, so that the simplex is never flat.
        steps = np.where(centre > 0.5, -self.edge, self.edge)
        simplex = np.vstack([centre, centre + np.diag(steps)])

        def optimise(function: Function) -> None:
            minimize(
                function,
                centre,
                method="Nelder-Mead",
                bounds=Bounds(np.zeros(dimension), np.ones(dimension)),
                options={
                    "initial_simplex": simplex,
                    "xatol": self.precision,
                    "fatol": np.inf,
                    "adaptive": dimension > _ADAPTIVE,
                    "maxfev": 100 * (dimension + 2),
                },
            )

        return optimise

"""Two kernel densities, of good and of bad points, whose ratio says where to look (as in TPE and BOHB)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Merits, Points

Array = NDArray[np.float64]

_FLOOR = 1e-3
"""The smallest bandwidth, BOHB's: equal coordinates must not make a density infinite."""


@dataclass(frozen=True)
class Density:
    """A product kernel at every point: normal, cut to the unit interval, or a switch of category."""

    points: Points
    cube: Cube

    @property
    def bandwidths(self) -> Array:
        """The normal reference rule, one per coordinate."""
        count, dimension = self.points.shape
        rule = 1.06 * self.points.std(axis=0) * count ** (-1.0 / (4.0 + dimension))
        return np.asarray(np.maximum(rule, _FLOOR))

    def log(self, points: Points) -> Array:
        """Return the logarithm of the density at points, up to a constant."""
        total = np.zeros((len(points), len(self.points)))
        for k, (parameter, width) in enumerate(
            zip(self.cube.parameters, self.bandwidths, strict=True)
        ):
            at, centre = points[:, [k]], self.points[:, k][None]
            if parameter.ordered:
                cut = _mass(centre, width)
                total += -0.5 * ((at - centre) / width) ** 2 - np.log(width * cut)
            else:
                switch = _switch(width, parameter.size)
                same = np.isclose(at, centre)
                others = max(1, (parameter.size or 2) - 1)
                total += np.where(same, np.log1p(-switch), np.log(switch / others))
        return np.asarray(logsumexp(total, axis=1) - np.log(len(self.points)))

    def draw(self, rng: np.random.Generator, count: int, widen: float) -> Points:
        """Draw points near those of the density, from kernels so many times as wide."""
        centres = self.points[rng.integers(len(self.points), size=count)]
        drawn = centres.copy()
        for k, (parameter, width) in enumerate(
            zip(self.cube.parameters, self.bandwidths, strict=True)
        ):
            wide = widen * width
            if parameter.ordered:
                # A centre lies within the interval, so that its kernel is never cut in a tail.
                low, high = ndtr(-centres[:, k] / wide), ndtr((1.0 - centres[:, k]) / wide)
                drawn[:, k] += wide * ndtri(rng.uniform(low, high))
            else:
                fresh = [parameter.to_unit(parameter.sample(rng)) for _ in range(count)]
                moved = rng.random(count) < _switch(wide, parameter.size)
                drawn[:, k] = np.where(moved, fresh, drawn[:, k])
        return self.cube.project(np.clip(drawn, 0.0, 1.0))


def split(points: Points, merits: Merits, share: float, cube: Cube) -> tuple[Density, Density]:
    """Return the densities of the best share of some points, and of the rest."""
    order = np.argsort(merits, kind="stable")
    # A density of fewer points than dimensions would be a line.
    least = min(cube.dimension + 1, len(order) - 1)
    good = max(least, int(share * len(order)))
    bad = max(least, len(order) - good)
    return Density(points[order[:good]], cube), Density(points[order[-bad:]], cube)


def _mass(centre: Array, width: float) -> Array:
    """Return how much of a normal kernel lies inside the unit interval."""
    return np.asarray(ndtr((1.0 - centre) / width) - ndtr(-centre / width))


def _switch(width: float, size: int | None) -> float:
    """Return the chance of another category; at most that of a uniform draw."""
    return min(width, 1.0 - 1.0 / max(2, size or 2))

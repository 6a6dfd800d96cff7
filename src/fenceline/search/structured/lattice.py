"""All hyper-parameters of a space at once: projection, random draws and small steps, vectorised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.parameter import Categorical, Integer, Parameter, Real
from fenceline.problem.space import Space
from fenceline.search.surrogates.rescaling import Rescaling

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """Rows of unit-cube coordinates, one column per hyper-parameter of the space."""

    space: Space
    rescaling: Rescaling = Rescaling()  # noqa: RUF009 - frozen
    """The scales that values are drawn and moved on."""

    def project(self, theta: Array) -> Array:
        """Return the nearest admissible rows; NaN (inactive) stays."""
        out = np.clip(theta, 0.0, 1.0)
        out[:, self._regular] = np.rint(out[:, self._regular] * self._steps) / np.maximum(
            self._steps, 1.0
        )
        for k in self._curved:
            known = ~np.isnan(out[:, k])
            out[known, k] = self.space.parameters[k].project(out[known, k])
        return out

    def sample(self, rng: np.random.Generator, rows: int) -> Array:
        """Draw rows; every lattice value is equally likely, the ends included."""
        theta = rng.random((rows, len(self.space.parameters)))
        drawn = theta.copy()
        cells = np.floor(theta[:, self._discrete] * self._sizes)
        theta[:, self._discrete] = cells / np.maximum(self._sizes - 1.0, 1.0)
        bent = self.rescaling.columns
        theta[:, bent] = self.rescaling.inverse(drawn[:, bent], bent)
        return self.project(theta)

    def perturb(self, rng: np.random.Generator, theta: Array, size: Array) -> Array:
        """Take a step of about the given size (one per row) in some of each row's coordinates.

        A discrete coordinate that moves goes to another value: at least one lattice step, and a
        category to any other.
        """
        step = size[:, None] * rng.standard_normal(theta.shape)
        known = ~np.isnan(theta)
        few = 1.5 / np.maximum(1, known.sum(axis=1, keepdims=True))
        moves = rng.random(theta.shape) < np.maximum(few, 0.4)
        least = self._least_step
        bent = self.rescaling.columns
        there = _reflect(self.rescaling(theta[:, bent], bent) + step[:, bent])
        step[:, bent] = self.rescaling.inverse(there, bent) - theta[:, bent]
        step = np.where(np.abs(step) < least, np.where(step < 0, -least, least), step)
        redrawn = self._categories & (rng.random(theta.shape) < 0.5)
        moved = np.where(redrawn, rng.random(theta.shape), _reflect(theta + step))
        return self.project(np.where(moves & known, moved, theta))

    @cached_property
    def _sizes(self) -> Array:
        return np.array([float(self.space.parameters[k].size or 1) for k in self._discrete])

    @cached_property
    def _discrete(self) -> NDArray[np.intp]:
        return self._where(lambda p: not isinstance(p, Real))

    @cached_property
    def _curved(self) -> NDArray[np.intp]:
        """Whole numbers on a log scale: their lattice is not even."""
        return self._where(lambda p: isinstance(p, Integer) and p.log)

    @cached_property
    def _regular(self) -> NDArray[np.intp]:
        return self._where(
            lambda p: isinstance(p, Categorical) or (isinstance(p, Integer) and not p.log)
        )

    @cached_property
    def _steps(self) -> Array:
        return np.array(
            [
                float(self.space.parameters[k].high - self.space.parameters[k].low)
                for k in self._regular
            ]
        )

    @cached_property
    def _categories(self) -> NDArray[np.bool_]:
        return np.array([isinstance(p, Categorical) for p in self.space.parameters], dtype=np.bool_)

    @cached_property
    def _least_step(self) -> Array:
        steps = [
            0.0 if isinstance(p, Real) else 1.0 / max(1, (p.size or 1) - 1)
            for p in self.space.parameters
        ]
        return np.array(steps)

    def _where(self, test: Callable[[Parameter], bool]) -> NDArray[np.intp]:
        return np.array([k for k, p in enumerate(self.space.parameters) if test(p)], dtype=np.intp)


def _reflect(theta: Array) -> Array:
    """Fold what stepped over an end back into the cube, so that ends do not collect the steps."""
    return 1.0 - np.abs(1.0 - np.abs(np.mod(theta, 2.0)))

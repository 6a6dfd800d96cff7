"""The unit cube of a sub-problem: its lattice, random points, and features for a surrogate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.parameter import Parameter, Real
from fenceline.search.admm.solvers.protocol import Points


@dataclass(frozen=True)
class Cube:
    """Geometry of a tuple of parameters."""

    parameters: Sequence[Parameter]

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.parameters)

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """Which coordinates may be moved by a gradient."""
        return np.array([isinstance(p, Real) for p in self.parameters], dtype=np.bool_)

    def project(self, points: Points) -> Points:
        """Return the nearest lattice points."""
        if not self.parameters:
            return points
        return np.stack([p.project(points[..., k]) for k, p in enumerate(self.parameters)], axis=-1)

    def sample(self, rng: np.random.Generator) -> Points:
        """Draw one point as the parameters would draw it."""
        return np.array([p.to_unit(p.sample(rng)) for p in self.parameters])

    def features(self, points: Points) -> Points:
        """Return what a surrogate sees: continuous coordinates, then integers, then one-hot categories."""
        ordered = points[..., self._ordered]
        blocks = [
            (np.rint(points[..., [k]] * p.high) == np.arange(p.high + 1)) / np.sqrt(2.0)
            for k, p in enumerate(self.parameters)
            if not p.ordered
        ]
        return np.concatenate([ordered, *blocks], axis=-1)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """For each feature, the length scale it shares: one per parameter."""
        groups = list(range(len(self._ordered)))
        for p in self.parameters:
            if not p.ordered:
                groups += [max(groups, default=-1) + 1] * (int(p.high) + 1)
        return tuple(groups)

    @cached_property
    def _ordered(self) -> NDArray[np.intp]:
        # Continuous ones first, where `maximise` looks for the columns that gradients may move.
        ordered = [k for k, p in enumerate(self.parameters) if p.ordered]
        return np.array(sorted(ordered, key=lambda k: not self.continuous[k]), dtype=np.intp)

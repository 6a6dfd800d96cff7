"""What the rules of a problem leave to be tried, asked thousands of times for each proposal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.problem import Problem
from fenceline.problem.rules import Forbid
from fenceline.problem.space import Choices


class Permission:
    """Tells whether the rules of a problem allow a pipeline.

    Where rules are about algorithms alone, every combination of these is asked about once.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.by_algorithms = all(
            isinstance(rule, Forbid) and not any(part.values for part in rule.parts)
            for rule in problem.rules
        )
        self._known: dict[Choices, bool] = {}

    @classmethod
    def of(cls, problem: Problem) -> Permission | None:
        """Return the permission of a problem that has rules; None for one without."""
        return cls(problem) if problem.rules else None

    def __call__(self, z: Choices, theta: NDArray[np.float64]) -> bool:
        """Tell whether one pipeline is allowed."""
        if not self.by_algorithms:
            return self._problem.allows(self._problem.space.decode(z, theta))
        if z not in self._known:
            space = self._problem.space
            self._known[z] = self._problem.allows(space.decode(z, space.start))
        return self._known[z]

    def algorithms(self, z: Sequence[int], i: int) -> NDArray[np.bool_]:
        """Return which algorithms module i may take beside those of the others."""
        start = self._problem.space.start
        count = len(self._problem.space.modules[i].algorithms)
        return np.array([self((*z[:i], j, *z[i + 1 :]), start) for j in range(count)])

"""Random search: the solver every other one has to beat."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Subproblem


@dataclass(frozen=True, slots=True)
class Random:
    """Points drawn independently, whatever has been observed."""

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield random points."""
        cube = Cube(task.parameters)
        while True:
            yield cube.sample(rng)

"""Hyperband (Li et al. 2018): successive halving at several rates of cheap looks to full measurements."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.halving import (
    check_fidelities,
    check_halving,
    draw_new,
    hyperband_brackets,
    raced,
)
from fenceline.search.admm.solvers.protocol import Look, Points, Subproblem


@dataclass(frozen=True, slots=True)
class Hyperband:
    """Look at many random points with few rows, and give more rows to the best third, again and again.

    Nobody knows how much a cheap look says; so one bracket begins with many looks at the smallest
    share, the next with fewer at a larger one, and the last measures in full.

    Parameters
    ----------
    eta : float
        One in so many is promoted, to so many times the rows.
    """

    eta: float = 3.0

    needs_fidelity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_halving("Hyperband", self.eta)

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Points | Look]:
        """Yield looks and full measurements, bracket by bracket."""
        check_fidelities("Hyperband", task)
        cube = Cube(task.parameters)

        def draw(count: int) -> list[Points]:
            return draw_new(task, lambda: cube.sample(rng), count)

        yield from raced(task, rng, hyperband_brackets(task.fidelities, self.eta, draw))

"""Successive halving over a set of candidates: all of them where they are few, else random ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.search.admm.solvers.halving import (
    Bracket,
    candidates,
    check_candidates,
    check_fidelities,
    check_halving,
    ladder,
    raced,
)
from fenceline.search.admm.solvers.protocol import Look, Points, Subproblem


@dataclass(frozen=True, slots=True)
class SuccessiveHalving:
    """Look at every candidate with few rows; the best third gets three times as many, and so on.

    Parameters
    ----------
    candidates : int
        At most so many at a time; where there are no more in all, every one.
    eta : float
        One in so many is promoted, to so many times the rows.
    """

    candidates: int = 32
    eta: float = 3.0

    needs_fidelity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_halving("SuccessiveHalving", self.eta)
        check_candidates("SuccessiveHalving", self.candidates)

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Points | Look]:
        """Yield looks and full measurements, one tournament after another."""
        check_fidelities("SuccessiveHalving", task)
        rungs = ladder(task.fidelities, self.eta)

        def brackets() -> Iterator[Bracket]:
            while True:
                yield Bracket(candidates(task, rng, self.candidates), rungs, self.eta)

        yield from raced(task, rng, brackets())

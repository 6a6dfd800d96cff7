"""BOHB (Falkner et al. 2018): Hyperband whose candidates come from a model of what was good so far."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.densities import split
from fenceline.search.admm.solvers.halving import (
    check_fidelities,
    check_halving,
    draw_new,
    hyperband_brackets,
    raced,
)
from fenceline.search.admm.solvers.protocol import Look, Merits, Points, Subproblem


@dataclass(frozen=True, slots=True)
class BOHB:
    """Hyperband's brackets, filled from the ratio of two kernel densities.

    Parameters
    ----------
    eta : float
        As in :class:`Hyperband`.
    random : float
        The share of candidates that are drawn at random.
    good : float
        The share of the points that count as good.
    draws : int
        From the density of the good ones; the one with the best ratio is taken.
    widen : float
        How much wider than the density the kernels are that it is drawn from.
    """

    eta: float = 3.0
    random: float = 1.0 / 3.0
    good: float = 0.15
    draws: int = 64
    widen: float = 3.0

    needs_fidelity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_halving("BOHB", self.eta)
        for name in ("random", "good"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise DefinitionError(
                    f"BOHB: {name} must lie in [0, 1]. Got {getattr(self, name)!r}."
                )
        if self.draws < 1 or not self.widen > 0:
            raise DefinitionError(
                "BOHB: draws must be at least 1 and widen positive. "
                f"Got draws={self.draws!r} and widen={self.widen!r}."
            )

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Points | Look]:
        """Yield looks and full measurements, bracket by bracket."""
        check_fidelities("BOHB", task)
        cube = Cube(task.parameters)

        def draw(count: int) -> list[Points]:
            evidence = self._evidence(task)
            if evidence is None:
                return draw_new(task, lambda: cube.sample(rng), count)
            good, bad = split(*evidence, self.good, cube)

            def sample() -> Points:
                if rng.random() < self.random:
                    return cube.sample(rng)
                drawn = good.draw(rng, self.draws, self.widen)
                return np.asarray(drawn[np.argmax(good.log(drawn) - bad.log(drawn))])

            return draw_new(task, sample, count)

        yield from raced(task, rng, hyperband_brackets(task.fidelities, self.eta, draw))

    def _evidence(self, task: Subproblem) -> tuple[Points, Merits] | None:
        """Return what was seen at the largest share that is known of enough points."""
        dimension = len(task.parameters)
        if dimension == 0:
            return None
        enough = dimension + 2
        points, merits = task.observed()
        if len(merits) >= enough:
            return points, merits
        points, merits, shares = task.looks()
        for share in sorted(set(shares.tolist()), reverse=True):
            here = shares == share
            if here.sum() >= enough:
                return points[here], merits[here]
        return None

"""Thompson sampling for the combinatorial bandit (Liu et al. 2020, appendix 4): one arm per algorithm."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.choices import Choices
from fenceline.search.admm.solvers.protocol import Merits, Points, Subproblem


@dataclass(frozen=True, slots=True)
class Bandit:
    """Draw every arm's success rate from its posterior; play the best arm of each module.

    Parameters
    ----------
    prior : float
        Both parameters of every arm's Beta prior.
    bound : float or None
        A merit of 0 earns reward 1, a merit of `bound` or more earns 0 (the paper's f_hat).
        None moves both ends with what was seen, from the best merit to the median: under
        constraints merits leave every fixed range.
    remember : bool
        Whether arms keep what they earned in earlier iterations, at other hyper-parameters.
    """

    prior: float = 10.0
    bound: float | None = None
    remember: bool = False

    blocks: ClassVar[tuple[str, ...]] = ("z",)

    def __post_init__(self) -> None:
        if not self.prior > 0:
            raise DefinitionError(f"Bandit: prior must be positive. Got {self.prior!r}.")
        if self.bound is not None and not self.bound > 0:
            raise DefinitionError(f"Bandit: bound must be positive or None. Got {self.bound!r}.")

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield one choice per module."""
        choices = Choices("Bandit", task.parameters)
        coins: list[float] = []
        while True:
            points, merits = self._evidence(task)
            # One coin per observation, tossed once: rewards are Bernoulli as in the paper, yet
            # follow the moving bound without being drawn anew.
            coins += list(rng.random(len(merits) - len(coins)))
            success = np.array(coins[: len(merits)]) < self._rewards(merits)
            played, chosen = choices.indices(points), []
            for k, arms in enumerate(choices.sizes):
                pulls = np.bincount(played[:, k], minlength=arms)
                wins = np.bincount(played[:, k], success.astype(np.float64), minlength=arms)
                draw = rng.beta(self.prior + wins, self.prior + pulls - wins)
                chosen.append(int(np.argmax(draw)))
            yield choices.point(chosen)

    def _evidence(self, task: Subproblem) -> tuple[Points, Merits]:
        points, merits = task.observed()
        if self.remember:
            past_points, past_merits = task.elsewhere()
            return np.vstack([past_points, points]), np.concatenate([past_merits, merits])
        return points, merits

    def _rewards(self, merits: Merits) -> Merits:
        if len(merits) == 0:
            return merits
        low, high = (
            (0.0, self.bound) if self.bound is not None else (merits.min(), np.median(merits))
        )
        if high == low:
            return (merits <= low).astype(np.float64)
        # Clipped before it is divided, so that no huge merit overflows.
        return 1.0 - np.clip(merits - low, 0.0, high - low) / (high - low)

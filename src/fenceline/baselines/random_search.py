"""Random search over the whole space: the rival nobody may lose to."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.iterate import Iterate


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Configurations drawn independently."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Submit random configurations until the budget is spent."""
        while True:
            evaluator.submit(problem.sample(rng))
        yield  # makes this a generator, as every algorithm is

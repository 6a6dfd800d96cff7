"""The seed's UCST: search without the constraints, and keep what happens to satisfy them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.iterate import Iterate
from fenceline.search.structured.search import StructuredBO


class Unaware(Protocol):
    """Any algorithm that can be kept from knowing the constraints."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search."""


@dataclass(frozen=True, slots=True)
class UCST:
    """Unconstrained search, filtered: evaluations are judged with the constraints it never saw.

    Parameters
    ----------
    algorithm : Algorithm
        What searches; the default algorithm unless given.
    """

    algorithm: Unaware = field(default_factory=StructuredBO)

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search the problem without its fence; its multipliers would say nothing, so none are told."""
        for _ in self.algorithm.iterates(replace(problem, constraints=()), evaluator, rng):
            pass
        yield from ()

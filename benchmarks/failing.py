"""The artificial problem with a region in which most pipelines fail."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.problem import Measure, Problem
from fenceline.problems import artificial, artificial_optimum

MODULE = "estimator"
ALGORITHMS, PROBABILITY = 3, 0.75
"""No algorithm is met by a fifth of random pipelines, so the region is three of the eleven
estimators; three quarters of what lies in it fails: 20 % of all."""


@dataclass(frozen=True, slots=True)
class FailingMeasure:
    """A measurement that raises for most pipelines with one of these algorithms.

    Whether a pipeline fails follows from a hash of it: at random as far as any model can see, and
    the same whenever it is tried.
    """

    measure: Measure
    module: str
    algorithms: frozenset[str]
    probability: float

    @property
    def metrics(self) -> Any:
        """What is measured where nothing fails."""
        return self.measure.metrics  # type: ignore[attr-defined]

    def __call__(self, configuration: Mapping[str, Choice], fidelity: float = 1.0) -> Any:
        """Measure, or fail."""
        assert isinstance(configuration, Configuration)
        if configuration[self.module].algorithm in self.algorithms:
            digest = hashlib.blake2b(configuration.key.encode(), digest_size=8).digest()
            if int.from_bytes(digest, "big") < self.probability * 2**64:
                raise RuntimeError("this pipeline fails")
        return self.measure(configuration, fidelity=fidelity)


def failing(seed: int) -> Problem:
    """Return ``artificial(seed)`` with 20 % of random pipelines failing, its optimum untouched."""
    problem, best = artificial(seed), artificial_optimum(seed)[1][MODULE].algorithm
    (module,) = (m for m in problem.space.modules if m.name == MODULE)
    others = [a.name for a in module.algorithms if a.name != best]
    drawn = np.random.default_rng([seed, ALGORITHMS]).permutation(len(others))[:ALGORITHMS]
    region = frozenset(others[int(k)] for k in drawn)
    return replace(problem, measure=FailingMeasure(problem.measure, MODULE, region, PROBABILITY))

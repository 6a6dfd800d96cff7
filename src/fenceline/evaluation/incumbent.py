"""The best pipeline so far, told to measurements that stop short of what cannot beat it."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluation, Measure


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The best feasible evaluation when a measurement begins."""

    objective: str
    """Name of the metric that is minimised."""
    metrics: Mapping[str, float]
    """All that was measured of it."""

    @classmethod
    def of(cls, best: Evaluation | None, objective: str) -> "Incumbent | None":
        """Return what a measurement needs to know; None as long as nothing feasible is known."""
        return None if best is None else cls(objective, best.metrics)


@dataclass(frozen=True, slots=True)
class Comparing:
    """Calls a measure with a configuration and its incumbent, which engines carry as one argument."""

    measure: Measure

    def __call__(self, task: tuple[Configuration, Incumbent | None]) -> Mapping[str, Any]:
        """Measure."""
        configuration, incumbent = task
        return self.measure(configuration, incumbent=incumbent)


def wants_incumbent(measure: Measure) -> bool:
    """Tell whether a measure has a parameter ``incumbent``."""
    try:
        return "incumbent" in inspect.signature(measure).parameters
    except (TypeError, ValueError):
        return False  # a built-in without a signature

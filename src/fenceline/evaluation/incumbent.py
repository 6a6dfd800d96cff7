"""The best pipeline so far, told to measurements that stop short of what cannot beat it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.measurement import Spread
from fenceline.problem.problem import Measure

BLOCKS = "blocks"
"""Where the details of an evaluation have its objective in small parts, to be compared with others' part by part."""


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The best feasible evaluation when a measurement begins."""

    objective: str
    """Name of the metric that is minimised."""
    metrics: Mapping[str, float]
    """All that was measured of it."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """How they differ between the parts that they were measured in."""
    blocks: Sequence[Sequence[float]] = ()
    """The objective in parts of each of these, where that was read."""

    @classmethod
    def of(cls, best: Evaluation | None, objective: str) -> "Incumbent | None":
        """Return what a measurement needs to know; None as long as nothing feasible is known."""
        if best is None:
            return None
        return cls(objective, best.metrics, best.spreads, best.details.get(BLOCKS, ()))


@dataclass(frozen=True, slots=True)
class WithKeywords:
    """Calls a measure with a configuration and keywords, which engines carry as one argument."""

    measure: Measure

    def __call__(self, task: tuple[Configuration, Mapping[str, Any]]) -> Mapping[str, Any]:
        """Measure."""
        configuration, keywords = task
        return self.measure(configuration, **keywords)

"""One configuration, measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from fenceline.problem.configuration import Configuration
from fenceline.problem.measurement import SOFT_ERROR, Spread

Status: TypeAlias = Literal[
    "ok", "error", "timeout", "memory", "crashed", "cancelled", "lost", "forbidden"
]
"""How the measurement of one configuration ended; a forbidden one was never started."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One configuration, measured. Only raw measurements are kept; every penalty is derived."""

    configuration: Configuration
    metrics: Mapping[str, float]
    objective: float
    """Value of the objective; infinite when the measurement failed."""
    violation: float
    """Sum of scaled constraint violations; 0 inside the fence, infinite when the measurement failed."""
    status: Status = "ok"
    seconds: float = 0.0
    message: str = ""
    """Why the measurement failed, in one line."""
    traceback: str = ""
    cpu_seconds: float = 0.0
    megabytes: float = 0.0
    """Peak memory of the measurement, where the engine knows it."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of those metrics that were measured with one."""
    fidelity: float = 1.0
    """The share of the rows it was measured with; below 1 it is a look, never an answer."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the measurement brought beside its numbers, in JSON's types: curves, say."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """How metrics differ between the parts that they were measured in."""

    @property
    def columns(self) -> dict[str, float]:
        """Every number under its name in a table: beside a metric its error and its parts."""
        beside: dict[str, float] = {}
        for name, spread in self.spreads.items():
            beside |= {} if spread.error is None else {f"{name}{SOFT_ERROR}": spread.error}
            beside |= {f"{name}/fold{i}": part for i, part in enumerate(spread.parts, 1)}
        return {**self.metrics, **beside}

    @property
    def look(self) -> bool:
        """Whether this is a cheap look, with a part of the rows."""
        return self.fidelity < 1.0

    @property
    def ok(self) -> bool:
        """Whether everything was measured."""
        return self.status == "ok"

    @property
    def failed(self) -> bool:
        """Whether measuring went wrong; what the end of the budget cut short has not failed."""
        return self.status not in ("ok", "cancelled")

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds, by a full measurement: a look cannot tell."""
        return self.violation == 0.0 and not self.look


class Ended(Protocol):
    """How a measurement ended: an outcome that an engine reports, or one that a journal holds."""

    @property
    def status(self) -> Status:
        """In one word."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def message(self) -> str:
        """Why it failed, in one line."""

    @property
    def traceback(self) -> str:
        """Where it failed."""

    @property
    def cpu_seconds(self) -> float:
        """Of processor time."""

    @property
    def megabytes(self) -> float:
        """The most memory it needed."""

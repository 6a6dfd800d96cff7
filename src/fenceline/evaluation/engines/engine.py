"""The small interface behind which every way to run measurements hides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fenceline.problem.evaluation import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one task ended."""

    status: Status
    value: Any = None
    """What the function returned, when the status is ``"ok"``."""
    message: str = ""
    """Why it did not, in one line."""
    traceback: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    megabytes: float = 0.0
    """Peak memory, where it is known."""


class Engine(Protocol):
    """Runs one function on many arguments, some at a time; a task that dies is an Outcome."""

    @property
    def workers(self) -> int:
        """How many tasks run at once; on a cluster this may change."""

    def put(self, function: Callable[[Any], Any]) -> None:
        """Place the function, and the data it holds, where tasks run. Once, before any submit."""

    def submit(self, ticket: int, argument: Any) -> None:
        """Start ``function(argument)``, or queue it; never blocks for its result."""

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the next finished task; None after `timeout` seconds or if nothing is pending."""

    def cancel(self, ticket: int) -> None:
        """Stop a task; it is still reported, as cancelled unless it finished before."""

    def close(self) -> None:
        """Stop everything and leave no process behind."""

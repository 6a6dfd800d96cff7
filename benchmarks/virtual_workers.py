"""Several workers in virtual time: evaluations finish in random order, and nobody waits."""

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.engines.serial import call

_UNIT_SECONDS = 1e9
"""What tasks report to have taken in the mean. The evaluator has a configuration wait where a suggestion,
which it times by a real clock, is slow beside a task: that must never depend on the machine."""


class VirtualWorkers:
    """An engine whose tasks take random virtual time.

    The measurement itself happens at once; its result is handed out when the virtual clock has
    reached its end. So a search meets just what it would meet with real workers: results that are
    missing while it proposes, and that come in another order.

    Parameters
    ----------
    workers : int
        Tasks at a time.
    seed : int
        Draws the durations, exponential around one: some tasks are overtaken by many others.
    """

    def __init__(self, workers: int, seed: int) -> None:
        self.workers = workers
        self.now = 0.0
        self._rng = np.random.default_rng([seed, workers])
        self._function: Callable[[Any], Any] | None = None
        self._running: list[tuple[float, int, Outcome]] = []

    def put(self, function: Callable[[Any], Any]) -> None:
        """Remember the function."""
        self._function = function

    def submit(self, ticket: int, argument: Any) -> None:
        """Start a task now, in virtual time."""
        assert self._function is not None, "put() comes first"
        assert len(self._running) < self.workers, "a desk submits to free workers only"
        duration = self._rng.exponential()
        outcome = replace(call(self._function, argument), seconds=_UNIT_SECONDS * duration)
        heapq.heappush(self._running, (self.now + duration, ticket, outcome))

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Move the clock on to the end of the next task; it stands still for who will not wait."""
        if not self._running or timeout == 0.0:
            return None
        self.now, ticket, outcome = heapq.heappop(self._running)
        return ticket, outcome

    def cancel(self, ticket: int) -> None:
        """Do nothing: every task ends by itself."""

    def close(self) -> None:
        """Forget what is running."""
        self._running.clear()

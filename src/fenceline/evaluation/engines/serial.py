"""Measurements in this very process, one after the other: no limits, nothing to set up."""

import os
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.sandbox.plain import describe, shorten
from fenceline.problem.printable import printable


class Serial:
    """The engine of a run without workers or limits."""

    workers = 1

    def __init__(self) -> None:
        self._function: Callable[[Any], Any] | None = None
        self._finished: deque[tuple[int, Outcome]] = deque()

    def put(self, function: Callable[[Any], Any]) -> None:
        """Remember the function."""
        self._function = function

    def submit(self, ticket: int, argument: Any) -> None:
        """Run the task now."""
        assert self._function is not None, "put() comes first"
        self._finished.append((ticket, call(self._function, argument)))

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the oldest finished task."""
        return self._finished.popleft() if self._finished else None

    def cancel(self, ticket: int) -> None:
        """Do nothing: whatever was submitted has finished."""

    def close(self) -> None:
        """Forget the function."""
        self._function = None


def call(function: Callable[[Any], Any], argument: Any) -> Outcome:
    """Call a function; whatever it raises becomes an outcome. Ctrl-C passes."""
    wall, cpu, pid = time.perf_counter(), time.process_time(), os.getpid()
    try:
        value, status, message, trace = function(argument), "ok", "", ""
    except Exception as problem:
        value, status = None, "error"
        message = printable(describe(problem))
        trace = printable(shorten(traceback.format_exc()))
    if os.getpid() != pid:
        os._exit(0)  # the function forked, and this is the copy: there is one run, not two
    spent = (time.perf_counter() - wall, time.process_time() - cpu)
    return Outcome(status, value, message, trace, *spent)  # type: ignore[arg-type]

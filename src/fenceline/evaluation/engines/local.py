"""Guarded children on this machine: parallel, limited, and none the worse for a crash."""

import math
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from fenceline.errors import DefinitionError, EngineError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.child import Child, cause, outcome, sweep
from fenceline.evaluation.sandbox.payload import Parcel, dumps
from fenceline.problem.problem import Status

START_SECONDS = 300.0
"""How long a child may take to import what the function needs."""
_STARTS = 3
_TICK_SECONDS = 0.1


class Local:
    """An engine of guarded child processes on this machine.

    Parameters
    ----------
    workers : int, optional
        How many tasks run at once; by default one for each processor this process may use.
    limits : Limits
        What one task may use.

    Notes
    -----
    A child is started when the first task needs it and kept between tasks, so libraries are
    imported once. It is replaced when it dies, when it has grown, and when a task left processes
    behind. There is no helper thread: everything happens inside `submit` and `next`.
    """

    def __init__(self, workers: int | None = None, limits: Limits | None = None) -> None:
        if workers is None:
            workers = processors()
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise DefinitionError(
                f"Local: workers must be a whole number of at least 1. Got {workers!r}."
            )
        self.workers = workers
        self.limits = limits or Limits()
        self._parcel: Parcel | None = None
        self._own_parcel: Parcel | None = None
        self._children: list[Child] = []
        self._idle: list[Child] = []
        self._queue: dict[int, bytes] = {}
        self._finished: deque[tuple[int, Outcome]] = deque()
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0

    def put(self, function: Callable[[Any], Any]) -> None:
        """Pickle the function and its data, once, for all children."""
        self.place(Parcel.pack(function))
        self._own_parcel = self._parcel

    def place(self, parcel: Parcel) -> None:
        """Use a function that is pickled already; the parcel stays the caller's to close."""
        self._forget()
        self._parcel = parcel

    def submit(self, ticket: int, argument: Any) -> None:
        """Give the task to an idle child, or queue it."""
        self.submit_pickled(ticket, dumps(argument))

    def submit_pickled(self, ticket: int, argument: bytes) -> None:
        """Do the same with an argument that is pickled already."""
        assert self._parcel is not None, "put() comes first"
        self._queue[ticket] = argument
        self._dispatch()

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the next finished task; None after `timeout` seconds or if nothing is pending."""
        until = None if timeout is None else time.monotonic() + timeout
        self._dispatch()
        while self._finished or self._occupied():
            # Even if there is something to return: the caller may not be back for a while, and a
            # child that is done meanwhile can have the next task.
            wait = 0.0 if self._finished else self._patience(until)
            for key, _ in self._selector.select(wait):
                if key.data in self._children:
                    self._attend(key.data)
            self._enforce()
            self._dispatch()
            if self._finished:
                return self._finished.popleft()
            if until is not None and time.monotonic() >= until:
                break
        return None

    def cancel(self, ticket: int) -> None:
        """Drop a queued task or kill a running one; either is reported as cancelled."""
        if self._queue.pop(ticket, None) is not None:
            self._finished.append((ticket, Outcome("cancelled", message="Cancelled.")))
        for child in self._children:
            if child.ticket == ticket:
                self._stop(child, "cancelled", "Cancelled.")
                break

    def close(self) -> None:
        """Kill every child with all it started; what was queued is forgotten."""
        self._forget()
        self._selector.close()

    def _occupied(self) -> bool:
        return any(child.ticket is not None or not child.ready for child in self._children)

    def _dispatch(self) -> None:
        """Give queued tasks to idle children, and start children while there are too few."""
        while self._queue and self._idle:
            child = self._idle.pop()
            if not child.alive:
                self._remove(child)
                continue
            ticket = next(iter(self._queue))
            child.send(ticket, self._queue.pop(ticket))
            if child.sending:
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                self._selector.modify(child.channel, both, child)
        starting = sum(not child.ready for child in self._children)
        while len(self._queue) > starting and len(self._children) < self.workers:
            self._start()
            starting += 1

    def _start(self) -> None:
        assert self._parcel is not None
        try:
            child = Child(self._parcel, self.limits)
        except OSError as problem:
            raise EngineError(
                f"The system refuses to start worker process {len(self._children) + 1} of "
                f"{self.workers} ({problem}); ask for fewer workers or raise its limits (ulimit -a)."
            ) from problem
        self._children.append(child)
        self._selector.register(child.channel, selectors.EVENT_READ, child)
        if child.pidfd is not None:
            self._selector.register(child.pidfd, selectors.EVENT_READ, child)

    def _attend(self, child: Child) -> None:
        """Take a child's message, or its death."""
        if child.sending:
            child.flush()
            if not child.sending:
                self._selector.modify(child.channel, selectors.EVENT_READ, child)
        # Asked before reading: whatever a dead child has said is then in the channel.
        alive = child.alive
        message = child.receive()
        if message is None:
            if not alive or child.hung_up:
                self._mourn(child)
        elif not child.ready:
            self._greet(child, message)
        else:
            result, replace = outcome(message)
            if result.seconds > (self.limits.seconds or math.inf):
                # Finished while nobody could stop it: the limit is the same for all.
                result = Outcome("timeout", message=self._overdue(), seconds=result.seconds)
            assert child.ticket is not None
            self._finished.append((child.ticket, result))
            child.ticket = None
            if replace or not alive:
                self._remove(child)
            else:
                self._idle.append(child)

    def _greet(self, child: Child, message: tuple[Any, ...]) -> None:
        """Take the first message of a child: it has loaded the function, or cannot."""
        kind, problem, trace = message
        if kind == "failed":
            self._remove(child)
            raise EngineError(
                f"A worker process cannot load the function to measure with. {problem}\n"
                "Install what it imports where it runs: in this Python, and on a cluster in that of "
                f"every worker.\n\n{trace}"
            )
        child.ready = True
        self._failed_starts = 0
        self._idle.append(child)

    def _mourn(self, child: Child) -> None:
        """Report the task of a child that died, or a child that could not even start."""
        returncode = child.end()
        reason = "It wrote into its channel." if child.garbled else cause(returncode)
        report = child.report()
        if child.ready:
            if child.ticket is not None and returncode == -signal.SIGALRM:
                self._report(child, "timeout", self._overdue())
            elif child.ticket is not None:
                self._report(child, "crashed", reason, report)
            self._remove(child)
            return
        self._remove(child)
        self._failed_starts += 1
        if self._failed_starts >= _STARTS:
            raise EngineError(
                f"Worker processes do not start: {_STARTS} in a row ended while they loaded the "
                f"function. {reason}\n{report}".rstrip()
            )

    def _enforce(self) -> None:
        """Stop what has run for too long."""
        now = time.monotonic()
        for child in list(self._children):
            if now < self._deadline(child):
                # Only where deaths cannot be waited for (no pidfd) is there something to find.
                if child.pidfd is None and not child.alive:
                    self._attend(child)
            elif child.ready:
                self._stop(child, "timeout", self._overdue())
            else:
                self._mourn(child)

    def _overdue(self) -> str:
        return f"Stopped after the limit of {self.limits.seconds:g} seconds."

    def _deadline(self, child: Child) -> float:
        if not child.ready:
            return child.started + START_SECONDS
        if child.ticket is None or self.limits.seconds is None:
            return math.inf
        return child.started + self.limits.seconds

    def _patience(self, until: float | None) -> float | None:
        """Return how long to wait for an event; None for as long as it takes."""
        ends = [self._deadline(child) for child in self._children]
        if until is not None:
            ends.append(until)
        seconds = max(0.0, min(ends) - time.monotonic())
        if any(child.pidfd is None for child in self._children):
            seconds = min(seconds, _TICK_SECONDS)
        return None if seconds == math.inf else seconds

    def _stop(self, child: Child, status: Status, message: str) -> None:
        self._report(child, status, message)
        self._remove(child)

    def _report(self, child: Child, status: Status, message: str, trace: str = "") -> None:
        assert child.ticket is not None
        seconds = time.monotonic() - child.started
        result = Outcome(status, message=message, traceback=trace, seconds=seconds)
        self._finished.append((child.ticket, result))

    def _remove(self, *children: Child) -> None:
        """End children and all they started; others take their place when tasks need them."""
        for child in children:
            child.kill()
        for child in children:
            self._children.remove(child)
            if child in self._idle:
                self._idle.remove(child)
            self._selector.unregister(child.channel)
            if child.pidfd is not None:
                self._selector.unregister(child.pidfd)
            child.close()
        sweep([child.mark for child in children])

    def _forget(self) -> None:
        """End everything that concerns the present function."""
        self._queue.clear()
        self._finished.clear()
        self._remove(*self._children)
        if self._own_parcel is not None:
            self._own_parcel.close()
        self._parcel = self._own_parcel = None


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

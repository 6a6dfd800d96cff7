"""Guarded children on this machine: parallel, limited, and none the worse for a crash."""

import math
import os
import selectors
import signal
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from fenceline.errors import DefinitionError, EngineError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.child import Child, outcome, overdue, sweep
from fenceline.evaluation.sandbox.payload import Parcel, dumps
from fenceline.problem.evaluation import Status

START_SECONDS = 300.0
"""How long a child may take to import what the function needs."""
BEGIN_SECONDS = 60.0
"""How long an idle child may take to begin a task before another one gets it."""
_STARTS = 3
_TICK_SECONDS = 0.1
_LONGEST_WAIT = 3600.0
"""The system's own calls take no more than 24 days at once."""


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
    imported once, before any clock runs. It is replaced when it dies, when it has grown, and when
    a task left processes behind; where a task comes near its limit of time, the next child is
    started beforehand. There is no helper thread: everything happens inside `submit` and `next`.
    """

    outbox: Callable[[int], str] | None = None
    """Names the file in which a child leaves the outcome of a task before it reports it."""

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
        self._refused: Counter[int] = Counter()
        self._example = b""
        self._start_seconds = 0.0
        self._most = 0

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
        self._queue[ticket] = self._example = argument
        self._most = max(self._most, min(self.workers, len(self._queue) + self._running()))
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

    def _running(self) -> int:
        return sum(child.ticket is not None for child in self._children)

    def _dispatch(self) -> None:
        """Give queued tasks to idle children, and start children while there are too few."""
        while self._queue and self._idle and self._running() < self.workers:
            child = self._idle.pop()
            if not child.alive:
                self._remove(child)
                continue
            ticket = next(iter(self._queue))
            outbox = "" if self.outbox is None else self.outbox(ticket)
            child.send(ticket, self._queue.pop(ticket), outbox)
            self._watch_sending(child)
        # As many as tasks have run at once, so that one that died is replaced ahead of need. And
        # one more for each task that will soon have used up its time, within bounds: it is kept.
        late = sum(map(self._late, self._children))
        while len(self._children) < self._most + min(late, (self._most + 1) // 2):
            self._start()

    def _late(self, child: Child) -> bool:
        """Tell whether a task may be over its limit before another child could be ready."""
        return child.ready and self._deadline(child) - time.monotonic() < 2 * self._start_seconds

    def _start(self) -> None:
        assert self._parcel is not None
        try:
            child = Child(self._parcel, self.limits, self._example)
        except OSError as problem:
            raise EngineError(
                f"The system refuses to start worker process {len(self._children) + 1} of "
                f"{self.workers} ({problem}); ask for fewer workers or raise its limits (ulimit -a)."
            ) from problem
        self._children.append(child)
        self._selector.register(child.channel, selectors.EVENT_READ, child)
        if child.pidfd is not None:
            self._selector.register(child.pidfd, selectors.EVENT_READ, child)
        self._watch_sending(child)

    def _watch_sending(self, child: Child) -> None:
        """Wait also for room in the channel, as long as there is something to send."""
        write = selectors.EVENT_WRITE if child.sending else 0
        self._selector.modify(child.channel, selectors.EVENT_READ | write, child)

    def _attend(self, child: Child) -> None:
        """Take a child's messages, or its death."""
        if child.sending:
            child.flush()
            self._watch_sending(child)
        # Asked before reading: whatever a dead child has said is then in the channel.
        alive = child.alive
        child.listen()
        while (message := child.message()) is not None:
            if not child.ready:
                self._greet(child, message)
            elif message[0] == "done":
                self._take(child, message)
        if child not in self._children:
            return
        if not alive or child.hung_up:
            self._mourn(child)

    def _take(self, child: Child, message: tuple[Any, ...]) -> None:
        """File the outcome of a task; its child is kept for the next one, unless it is spoilt."""
        assert child.ticket is not None
        result, replace = outcome(message, self.limits.seconds)
        self._finished.append((child.ticket, result))
        self._refused.pop(child.ticket, None)
        child.ticket = None
        if replace:
            self._remove(child)
        else:
            self._idle.append(child)

    def _greet(self, child: Child, message: tuple[Any, ...]) -> None:
        """Take the first message of a child: it has loaded the function, or cannot."""
        if message[0] == "failed":
            _, problem, trace, _ = message
            self._remove(child)
            raise EngineError(
                f"A worker process cannot load the function to measure with. {problem}\n"
                "Install what it imports where it runs: in this Python, and on a cluster in that of "
                f"every worker.\n\n{trace}"
            )
        child.ready = True
        self._start_seconds = time.monotonic() - child.started
        self._failed_starts = 0
        self._idle.append(child)

    def _mourn(self, child: Child) -> None:
        """Report the task of a child that died, or a child that could not even start."""
        child.await_end()
        returncode = child.end()
        reason, report = child.cause(), child.report()
        if child.ready:
            if child.ticket is not None and not child.begun:
                self._refuse(child, reason)
            elif child.ticket is not None and returncode == -signal.SIGALRM:
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

    def _refuse(self, child: Child, reason: str) -> None:
        """Give a task to another child: what befell this one was the work of an earlier task."""
        assert child.ticket is not None
        self._refused[child.ticket] += 1
        if self._refused[child.ticket] < _STARTS:
            self._queue = {child.ticket: child.argument, **self._queue}
        else:
            self._report(child, "crashed", f"No process would begin with it. {reason}")

    def _enforce(self) -> None:
        """Stop what has run for too long."""
        now = time.monotonic()
        for child in list(self._children):
            if now < self._deadline(child):
                # Only where deaths cannot be waited for (no pidfd) is there something to find.
                if child.pidfd is None and not child.alive:
                    self._attend(child)
            elif child.ready and child.begun:
                self._stop(child, "timeout", self._overdue())
            else:
                self._mourn(child)

    def _overdue(self) -> str:
        return overdue(self.limits.seconds or math.inf)

    def _deadline(self, child: Child) -> float:
        if not child.ready:
            return child.started + START_SECONDS
        if child.ticket is None:
            return math.inf
        if not child.begun:
            return child.started + BEGIN_SECONDS
        return child.started + (self.limits.seconds or math.inf)

    def _patience(self, until: float | None) -> float | None:
        """Return how long to wait for an event; None for as long as it takes."""
        now = time.monotonic()
        ends = [self._deadline(child) for child in self._children]
        # When the next child should be on its way, unless that has been seen to.
        ends += [e for end in ends if (e := end - 2 * self._start_seconds) > now]
        if until is not None:
            ends.append(until)
        seconds = min(_LONGEST_WAIT, max(0.0, min(ends) - now))
        if any(child.pidfd is None for child in self._children):
            seconds = min(seconds, _TICK_SECONDS)
        return seconds

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
        self._refused.clear()
        self._most, self._example, self.outbox = 0, b"", None
        self._remove(*self._children)
        if self._own_parcel is not None:
            self._own_parcel.close()
        self._parcel = self._own_parcel = None


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Guarded children on a Ray cluster: one actor on each machine, one child for each processor."""

import contextlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from fenceline.errors import EngineError, MissingDependencyError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.payload import Parcel, dumps
from fenceline.evaluation.sandbox.worker import Station, unpack

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as problem:
    raise MissingDependencyError(
        "The Ray engine needs Ray. Install it with: pip install fenceline[ray]"
    ) from problem

_ATTEMPTS = 3
_TICK_SECONDS = 0.25
_CENSUS_SECONDS = 2.0


class Ray:
    """An engine that measures on a Ray cluster.

    Parameters
    ----------
    address : str, optional
        Address of a cluster, such as ``"ray://127.0.0.1:10001"`` or ``"auto"``; None starts a
        cluster on this machine, unless the process is connected to one already.
    limits : Limits
        What one task may use; Ray itself has no such limits.

    Notes
    -----
    A cluster that wants a token is given the one in ``RAY_AUTH_TOKEN`` if ``RAY_AUTH_MODE`` is
    ``token``; both are read by Ray, when the process starts. Machines may join and leave: what ran on one that vanished is run again elsewhere, at most
    three times.
    """

    outbox: Callable[[int], str] | None = None
    """Names the file in which a child that sees the directory leaves the outcome of a task."""

    def __init__(self, address: str | None = None, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._own = not ray.is_initialized()
        if self._own:
            try:
                _connect(address)
            except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as problem:
                # Ray says "timeout" also to a client that a cluster has turned away.
                raise EngineError(
                    f"No Ray cluster answers at {address!r} ({problem}). Start one with "
                    "'ray start --head', or use engine='ray' for one on this machine. If one runs "
                    "there, it wants a token, as clusters may since Ray 2.52: set RAY_AUTH_MODE=token "
                    "and RAY_AUTH_TOKEN to what 'ray get-auth-token' prints there, before Python starts."
                ) from problem
        self._parcel: Any = None
        self._nodes: dict[str, _Node] = {}
        self._census = -1e9
        self._slots = 0
        self._queue: dict[int, bytes] = {}
        self._running: dict[Any, tuple[int, bytes, _Node]] = {}
        self._attempts: dict[int, int] = {}
        self._finished: deque[tuple[int, Outcome]] = deque()

    @property
    def workers(self) -> int:
        """How many processors the cluster has, at present; at least 1."""
        self._count_nodes()
        return max(1, self._slots)

    def put(self, function: Callable[[Any], Any]) -> None:
        """Place the function and its data in the cluster's object store."""
        self._forget()
        parcel = Parcel.pack(function)
        self._parcel = ray.put(parcel.read())
        parcel.close()

    def submit(self, ticket: int, argument: Any) -> None:
        """Give the task to a machine with a free processor, or queue it."""
        assert self._parcel is not None, "put() comes first"
        self._queue[ticket] = dumps(argument)
        self._dispatch()

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the next finished task; None after `timeout` seconds or if nothing is pending."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while not self._finished and (self._queue or self._running):
            self._dispatch()
            wait = max(0.0, min(_TICK_SECONDS, until - time.monotonic()))
            if self._running:
                done, _ = ray.wait(list(self._running), timeout=wait)
                for reference in done:
                    self._take(reference)
                self._dispatch()  # the caller may not be back for a while
            else:
                time.sleep(wait)  # for a machine to join
            if not self._finished and time.monotonic() >= until:
                return None
        return self._finished.popleft() if self._finished else None

    def cancel(self, ticket: int) -> None:
        """Drop a queued task, or have its machine kill it."""
        found = self._queue.pop(ticket, None) is not None
        for reference, (number, _, node) in list(self._running.items()):
            if number == ticket:
                found = True
                del self._running[reference]
                node.busy -= 1
                node.actor.abandon.remote(ticket)
        if found:
            self._finished.append((ticket, Outcome("cancelled", message="Cancelled.")))

    def close(self) -> None:
        """End what runs; a cluster started by this engine ends with it."""
        self._forget()
        if self._own and ray.is_initialized():
            ray.shutdown()

    def _dispatch(self) -> None:
        if not self._queue:
            return
        self._count_nodes()
        for node in self._nodes.values():
            while self._queue and node.busy < node.slots:
                ticket = next(iter(self._queue))
                argument = self._queue.pop(ticket)
                node.busy += 1
                outbox = "" if self.outbox is None else self.outbox(ticket)
                reference = node.actor.run.remote(ticket, argument, outbox)
                self._running[reference] = (ticket, argument, node)

    def _take(self, reference: Any) -> None:
        """File what has come, or queue again what got lost with its machine."""
        ticket, argument, node = self._running.pop(reference)
        node.busy -= 1
        try:
            outcome = unpack(ray.get(reference))
        except ray.exceptions.RayTaskError as problem:
            if isinstance(problem.cause, EngineError):
                raise problem.cause from None
            raise EngineError(f"A Ray worker failed: {problem}") from problem
        except ray.exceptions.RayError as problem:
            self._nodes = {name: kept for name, kept in self._nodes.items() if kept is not node}
            self._census = -1e9
            self._attempts[ticket] = self._attempts.get(ticket, 0) + 1
            if self._attempts[ticket] < _ATTEMPTS:
                self._queue[ticket] = argument
                return
            outcome = Outcome("lost", message=f"Its machine was lost {_ATTEMPTS} times: {problem}")
        self._attempts.pop(ticket, None)
        self._finished.append((ticket, outcome))

    def _count_nodes(self) -> None:
        """Notice machines that left, and those that joined: each gets an actor."""
        if time.monotonic() - self._census < _CENSUS_SECONDS:
            return
        self._census = time.monotonic()
        alive = {entry["NodeID"]: entry["Resources"] for entry in ray.nodes() if entry["Alive"]}
        slots = {name: int(resources.get("CPU", 0)) for name, resources in alive.items()}
        self._slots = sum(slots.values())
        self._nodes = {name: node for name, node in self._nodes.items() if name in slots}
        for name, count in slots.items():
            if count and name not in self._nodes and self._parcel is not None:
                self._nodes[name] = _Node(name, count, self._parcel, self.limits)

    def _forget(self) -> None:
        """End everything that concerns the present function."""
        for things in (self._queue, self._running, self._attempts, self._finished):
            things.clear()
        if ray.is_initialized():
            for node in self._nodes.values():
                with contextlib.suppress(ray.exceptions.RayError):
                    ray.kill(node.actor)
        self._nodes.clear()
        self._parcel = self.outbox = None
        self._census = -1e9


def _connect(address: str | None) -> None:
    """Join a cluster, or start one.

    A busy machine may fail to start the server that a cluster gives to every client; the cluster
    is there all the same, so it is asked again.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            return
        except ConnectionAbortedError:
            if attempt == _ATTEMPTS:
                raise


class _Node:
    """One machine: an actor that holds it as a whole, and how much of it is in use."""

    def __init__(self, node: str, slots: int, parcel: Any, limits: Limits) -> None:
        self.slots = slots
        self.busy = 0
        self.actor = _Actor.options(  # type: ignore[attr-defined, unused-ignore]
            num_cpus=slots,
            max_concurrency=slots + 1,  # one thread is kept for cancelling
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(parcel, limits)


@ray.remote
class _Actor:
    """Runs tasks in guarded children; when Ray kills it, they end with it."""

    def __init__(self, parcel: bytes, limits: Limits) -> None:
        self._station = Station(parcel, limits)
        self._abandoned: set[int] = set()

    def run(self, ticket: int, argument: bytes, outbox: str) -> bytes:
        """Run one task."""
        self._abandoned.discard(ticket)
        return self._station.run(argument, lambda: ticket in self._abandoned, outbox)

    def abandon(self, ticket: int) -> None:
        """End a task that nobody waits for."""
        self._abandoned.add(ticket)

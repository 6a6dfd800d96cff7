"""Guarded children on a Dask cluster: one for each thread of each Dask worker."""

import contextlib
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from fenceline.errors import EngineError, MissingDependencyError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.payload import Parcel, dumps
from fenceline.evaluation.sandbox.worker import Station, unpack

try:
    from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, get_worker
except ImportError as problem:
    raise MissingDependencyError(
        "The Dask engine needs Dask. Install it with: pip install fenceline[dask]"
    ) from problem

PATIENCE_SECONDS = 60.0
"""How long a run waits for a scheduler that went away, or while there is no worker."""
CONNECT_SECONDS = 10.0
"""How long the first connection may take."""
_ATTEMPTS = 3
_TICK_SECONDS = 0.25
_CENSUS_SECONDS = 2.0


class Dask:
    """An engine that measures on a Dask cluster.

    Parameters
    ----------
    cluster : str or distributed.Client
        Address of the scheduler, such as ``"tcp://127.0.0.1:8786"``, or a client that is
        connected to it; a client given is not closed.
    limits : Limits
        What one task may use; the same as on this machine, because every task runs in a
        guarded child of a Dask worker.

    Notes
    -----
    Workers need the same packages as this process. They may come and go: what ran on a worker
    that vanished is run again elsewhere. If the scheduler goes away, the engine waits a minute
    for another at the same address, and hands in again what was pending.
    """

    def __init__(self, cluster: "str | Client", limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._address = cluster if isinstance(cluster, str) else None
        self._client: Client = _connect(cluster) if isinstance(cluster, str) else cluster
        self._name = f"fenceline-{uuid.uuid4().hex}"
        self._parcel: bytes | None = None
        self._placed = False
        self._pending: dict[int, bytes] = {}
        self._futures: dict[int, Future] = {}
        self._attempts: dict[int, int] = {}
        self._arrived: queue.SimpleQueue[tuple[int, Future, bytes | BaseException]] = (
            queue.SimpleQueue()
        )
        self._finished: deque[tuple[int, Outcome]] = deque()
        self._threads = 0
        self._counted = -1e9
        self._last_seen = time.monotonic()

    @property
    def workers(self) -> int:
        """How many threads the cluster's workers have, at present; at least 1."""
        self._count()
        return max(1, self._threads)

    def put(self, function: Callable[[Any], Any]) -> None:
        """Send the function and its data to every worker, and to those that join later."""
        self._forget()
        parcel = Parcel.pack(function)
        self._parcel = parcel.read()
        parcel.close()
        self._placed = False
        self._place()

    def submit(self, ticket: int, argument: Any) -> None:
        """Hand the task to the scheduler."""
        assert self._parcel is not None, "put() comes first"
        self._pending[ticket] = dumps(argument)
        self._send(ticket)

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the next finished task; None after `timeout` seconds or if nothing is pending."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        while not self._finished and self._pending:
            if not self._placed or self._client.status != "running":
                self._recover(until)
            self._count()
            self._take(max(0.0, min(_TICK_SECONDS, until - time.monotonic())))
            if not self._finished and time.monotonic() >= until:
                return None
        return self._finished.popleft() if self._finished else None

    def cancel(self, ticket: int) -> None:
        """Take the task back; if it runs, its worker notices and kills it."""
        if self._pending.pop(ticket, None) is not None:
            future = self._futures.pop(ticket, None)
            if future is not None and self._client.status == "running":
                self._client.cancel([future], force=True)
            self._finished.append((ticket, Outcome("cancelled", message="Cancelled.")))

    def close(self) -> None:
        """End what runs, and remove the function from the cluster."""
        self._forget()
        if self._address is not None:
            self._client.close()

    def _forget(self) -> None:
        """End everything that concerns the present function."""
        if self._client.status == "running" and self._parcel is not None:
            with contextlib.suppress(Exception):  # a cluster that is going away needs no tidying
                self._client.cancel(list(self._futures.values()), force=True)
                self._client.unregister_worker_plugin(self._name)
        for things in (self._pending, self._futures, self._attempts, self._finished):
            things.clear()
        self._parcel = None
        # Another name for the next: what is late under this one can then do no harm.
        self._name = f"fenceline-{uuid.uuid4().hex}"

    def _place(self) -> None:
        assert self._parcel is not None
        self._client.register_plugin(_Place(self._parcel, self.limits), name=self._name)
        self._placed = True

    def _count(self) -> None:
        """Ask the scheduler for its workers now and then; without any, nothing would ever end."""
        now = time.monotonic()
        if now - self._counted < _CENSUS_SECONDS or self._client.status != "running":
            return
        with contextlib.suppress(OSError):
            self._threads = sum(self._client.nthreads().values())
        self._counted = now
        if self._threads:
            self._last_seen = now
        elif self._pending and now - self._last_seen > PATIENCE_SECONDS:
            raise EngineError(
                f"The Dask cluster has had no worker for {PATIENCE_SECONDS:g} seconds. What has "
                "finished is kept; start workers with 'dask worker ADDRESS' and resume."
            )

    def _send(self, ticket: int) -> None:
        if not self._placed or self._client.status != "running":
            return  # sent with all that is pending once the scheduler is back
        future = self._client.submit(
            _run,
            self._name,
            self._pending[ticket],
            key=f"{self._name}-{ticket}-{uuid.uuid4().hex}",
            pure=False,
        )
        self._futures[ticket] = future
        self._client.loop.add_callback(self._fetch, self._client, ticket, future)

    async def _fetch(self, client: "Client", ticket: int, future: "Future") -> None:
        """Bring an outcome here as soon as it is known, in Dask's thread: nobody has to wait for it."""
        found: bytes | BaseException
        try:
            (found,) = await client.gather([future], asynchronous=True)
        except BaseException as problem:
            found = problem
        self._arrived.put((ticket, future, found))

    def _take(self, wait: float) -> None:
        """File what has come; wait only for the first."""
        with contextlib.suppress(queue.Empty):
            while True:
                ticket, future, found = self._arrived.get(timeout=wait)
                if self._futures.get(ticket) is future:  # not cancelled, nor sent again since
                    del self._futures[ticket]
                    wait = 0.0
                    self._take_one(ticket, future, found)

    def _take_one(self, ticket: int, future: "Future", found: bytes | BaseException) -> None:
        """File an outcome, or try again what got lost on the way."""
        if isinstance(found, bytes):
            self._file(ticket, unpack(found))
        elif isinstance(found, EngineError):
            raise found
        elif isinstance(found, KilledWorker):
            message = f"Several workers died with it: {found}"
            self._file(ticket, Outcome("lost", message=message))
        elif future.status in ("cancelled", "lost"):
            self._placed = False  # the scheduler went away, and its successor knows nothing
        else:
            self._attempts[ticket] = self._attempts.get(ticket, 0) + 1
            if self._attempts[ticket] < _ATTEMPTS:
                self._send(ticket)
            else:
                message = f"The cluster failed {_ATTEMPTS} times: {found!r}"
                self._file(ticket, Outcome("lost", message=message))

    def _file(self, ticket: int, outcome: Outcome) -> None:
        self._pending.pop(ticket)
        self._attempts.pop(ticket, None)
        self._finished.append((ticket, outcome))

    def _recover(self, until: float) -> None:
        """Wait for the scheduler, and hand in again what is pending."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while self._client.status != "running":
            if time.monotonic() >= until:
                return
            if time.monotonic() >= give_up or (
                self._client.status == "closed" and self._address is None
            ):
                raise EngineError(
                    "The Dask scheduler went away and did not come back. What has finished is "
                    "kept; start the cluster again and resume."
                )
            if self._client.status == "closed" and self._address is not None:
                with contextlib.suppress(EngineError):
                    self._client = _connect(self._address, 2)
            time.sleep(0.1)
        self._place()
        for ticket in [ticket for ticket in self._pending if ticket not in self._futures]:
            self._send(ticket)


class _Place(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Keeps a station in every Dask worker, also in those that join later."""

    def __init__(self, parcel: bytes, limits: Limits) -> None:
        self._parcel, self._limits = parcel, limits
        self.station: Station | None = None

    def setup(self, worker: "Worker") -> None:
        """Open the station when the worker learns of it."""
        self.station = Station(self._parcel, self._limits)
        self._parcel = b""

    def teardown(self, worker: "Worker") -> None:
        """Close it with the run, or with the worker."""
        if self.station is not None:
            self.station.close()


def _run(name: str, argument: bytes) -> bytes:
    """Run one task; this is what Dask sees of it."""
    worker = get_worker()
    key = worker.get_current_task()

    def abandoned() -> bool:
        # Released by the scheduler while it runs: cancelled, or its client is gone.
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    found: bytes = worker.plugins[name].station.run(argument, abandoned)
    return found


def _connect(address: str, timeout: float | None = None) -> "Client":
    try:
        return Client(address, timeout=timeout or CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as problem:
        raise EngineError(
            f"No Dask scheduler answers at {address} ({problem}). Start one with 'dask scheduler' "
            "and give the address it prints."
        ) from problem

"""Guarded children on a Dask cluster: one for each thread of each Dask worker."""

import contextlib
import math
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from fenceline.errors import EngineError, MissingDependencyError
from fenceline.evaluation.engines.deadline import within
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.engines.versions import asking, differing, versions
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.payload import Parcel, dumps
from fenceline.evaluation.sandbox.worker import leave, unpack

try:
    from distributed import Client, Future, KilledWorker

    from fenceline.evaluation.engines.dask_worker import Place, run_task
except ImportError as problem:
    raise MissingDependencyError(
        "The Dask engine needs Dask. Install it with: pip install fenceline[dask]"
    ) from problem

PLACE_SECONDS = 120.0
"""How long it may take to bring the function and its data to all workers."""
ANSWER_SECONDS = 5.0
"""How long a cluster may take to answer a question, or to tidy up."""
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
    seconds : float, optional
        The budget of the run: connecting and placing the function take no longer.

    Notes
    -----
    Workers need the same packages as this process: the versions of Fenceline, Python and
    scikit-learn are compared before anything is sent. They may come and go: what ran on a worker
    that vanished is run again elsewhere. If the scheduler goes away, the engine waits a minute
    for another at the same address, and hands in again what was pending.
    """

    outbox: Callable[[int], str] | None = None
    """Names the file in which the outcome of a task is left as soon as it is here, or before."""

    def __init__(
        self,
        cluster: "str | Client",
        limits: Limits | None = None,
        *,
        seconds: float | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._until = math.inf if seconds is None else time.monotonic() + seconds
        self._address = cluster if isinstance(cluster, str) else None
        self._client: Client = (
            _connect(cluster, self._left(CONNECT_SECONDS)) if isinstance(cluster, str) else cluster
        )
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
        self._place(self._left(PLACE_SECONDS))

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
                with contextlib.suppress(Exception):  # it is forgotten here in any case
                    within(ANSWER_SECONDS, partial(self._client.cancel, [future], force=True))
            self._finished.append((ticket, Outcome("cancelled", message="Cancelled.")))

    def close(self) -> None:
        """End what runs, and remove the function from the cluster."""
        self._forget()
        if self._address is not None:
            _close(self._client)

    def _forget(self) -> None:
        """End everything that concerns the present function."""
        if self._client.status == "running" and self._parcel is not None:
            with contextlib.suppress(Exception):  # a cluster that is going away needs no tidying
                within(ANSWER_SECONDS, self._tidy, list(self._futures.values()), self._name)
        for things in (self._pending, self._futures, self._attempts, self._finished):
            things.clear()
        self._parcel = self.outbox = None
        # Another name for the next: what is late under this one can then do no harm.
        self._name = f"fenceline-{uuid.uuid4().hex}"

    def _tidy(self, futures: "list[Future]", name: str) -> None:
        self._client.cancel(futures, force=True)
        self._client.unregister_worker_plugin(name)

    def _left(self, seconds: float) -> float:
        """Return how long something may take: so long, or as long as the budget lasts."""
        return max(1.0, min(seconds, self._until - time.monotonic()))

    def _place(self, seconds: float) -> None:
        """Bring the function to every worker, again if one was lost meanwhile."""
        until, attempt = time.monotonic() + seconds, 0
        while not self._placed:
            attempt += 1
            try:
                self._compare_versions(until - time.monotonic())
                within(until - time.monotonic(), self._register)
                self._placed = True
            except EngineError:
                raise
            except Exception as problem:  # Dask passes on whatever went wrong over there
                left = until - time.monotonic()
                if attempt < _ATTEMPTS and left > 0:
                    self._reconnect(left)
                    continue
                raise EngineError(
                    f"The function cannot be brought to the workers of the Dask cluster at "
                    f"{self._place_name} ({type(problem).__name__}: {problem}).{self._silent()} "
                    "See the logs of the scheduler and its workers, restart those that do not "
                    "answer, and run again."
                ) from problem

    def _register(self) -> None:
        assert self._parcel is not None
        plugin = Place(self._parcel, self.limits, versions())
        self._client.register_plugin(plugin, name=self._name)

    @property
    def _place_name(self) -> str:
        found: str = self._address or self._client.scheduler.address
        return found

    def _reconnect(self, seconds: float) -> None:
        """Find the scheduler again, if the connection was lost; else give it a moment."""
        if self._address is not None and self._client.status != "running":
            with contextlib.suppress(EngineError):
                self._client = _connect(self._address, min(seconds, CONNECT_SECONDS))
        time.sleep(min(seconds, 0.5))

    def _compare_versions(self, seconds: float) -> None:
        """Refuse workers that would measure, or fail, with other packages than this process."""
        # A function from within another is sent as a whole: workers need not have it.
        ask = partial(self._client.run, asking(), on_error="return")
        for worker, found in within(seconds, ask).items():
            if isinstance(found, dict) and (others := differing(found)):
                raise EngineError(
                    f"The Dask worker {worker} at {self._place_name} has {others}. Install the same "
                    "versions there and restart it, or take it out of the cluster."
                )

    def _silent(self) -> str:
        """Name the workers that have not been heard of for a while."""
        with contextlib.suppress(Exception):
            workers = within(ANSWER_SECONDS, self._client.scheduler_info)["workers"]
            quiet = [w for w, i in workers.items() if time.time() - i["last_seen"] > ANSWER_SECONDS]
            if quiet:
                return f" Nothing was heard for a while of {', '.join(quiet)}."
        return ""

    def _count(self) -> None:
        """Ask the scheduler for its workers now and then; without any, nothing would ever end."""
        now = time.monotonic()
        if now - self._counted < _CENSUS_SECONDS or self._client.status != "running":
            return
        with contextlib.suppress(OSError):  # TimeoutError is one
            self._threads = sum(within(ANSWER_SECONDS, self._client.nthreads).values())
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
        outbox = "" if self.outbox is None else self.outbox(ticket)
        future = self._client.submit(
            run_task,
            self._name,
            self._pending[ticket],
            outbox,
            key=f"{self._name}-{ticket}-{uuid.uuid4().hex}",
            pure=False,
        )
        self._futures[ticket] = future
        self._client.loop.add_callback(self._fetch, self._client, ticket, future, outbox)

    async def _fetch(self, client: "Client", ticket: int, future: "Future", outbox: str) -> None:
        """Bring an outcome here as soon as it is known, in Dask's thread: nobody has to wait for it."""
        found: bytes | BaseException
        try:
            (found,) = await client.gather([future], asynchronous=True)
            leave(outbox, found)
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
                    self._client = _connect(self._address, 2.0)
            time.sleep(0.1)
        # As long as it takes: a cluster that has just come back is slow, and giving up ends the run.
        self._place(self._left(PLACE_SECONDS))
        for ticket in [ticket for ticket in self._pending if ticket not in self._futures]:
            self._send(ticket)


def _connect(address: str, seconds: float) -> "Client":
    # Dask's own limit does not hold for an address that accepts a connection and stays silent.
    open_ = partial(Client, address, timeout=seconds, set_as_default=False)
    try:
        return within(seconds + 1.0, open_, late=_close)
    except (OSError, ValueError) as problem:
        raise EngineError(
            f"No Dask scheduler answers at {address} ({problem}). Start one with 'dask scheduler' "
            "and give the address it prints."
        ) from problem


def _close(client: "Client") -> None:
    with contextlib.suppress(Exception):
        within(ANSWER_SECONDS, client.close, ANSWER_SECONDS)

"""What a cluster's worker keeps for one run: the function, and warm guarded children to call it."""

import os
import threading
import time
from collections.abc import Callable
from typing import get_args

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.engines.local import Local
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox import plain
from fenceline.evaluation.sandbox.child import outcome
from fenceline.evaluation.sandbox.guard import keep
from fenceline.evaluation.sandbox.payload import Parcel
from fenceline.problem.evaluation import Status

_POLL_SECONDS = 0.5
_IDLE_SECONDS = 60.0


class Station:
    """Runs tasks for the threads of a cluster's worker, each in a guarded child.

    Parameters
    ----------
    parcel : bytes
        The pickled function, as :meth:`Parcel.read` returns it.
    limits : Limits
        What one task may use.
    """

    def __init__(self, parcel: bytes, limits: Limits) -> None:
        self._parcel = Parcel(parcel)
        self._limits = limits
        self._idle: list[Local] = []
        self._busy = 0
        self._closed = False
        self._lock = threading.Lock()
        self._used = 0.0
        self._timer: threading.Timer | None = None

    def run(self, argument: bytes, abandoned: Callable[[], bool], outbox: str = "") -> bytes:
        """Run one task and return its outcome as a message; end it when nobody waits for it any more."""
        engine = self._take()
        engine.outbox = lambda _: outbox
        try:
            engine.submit_pickled(0, argument)
            while (finished := engine.next(_POLL_SECONDS)) is None:
                if self._closed or abandoned():
                    engine.cancel(0)
        except BaseException:
            self._give_back(engine, sound=False)
            raise
        self._give_back(engine, sound=True)
        return pack(finished[1])

    def close(self) -> None:
        """End all children; running tasks end at their next look."""
        with self._lock:
            self._closed = True
            self._tidy()

    def _take(self) -> Local:
        with self._lock:
            self._busy += 1
            if self._idle:
                return self._idle.pop()
        engine = Local(1, self._limits)
        engine.place(self._parcel)
        return engine

    def _give_back(self, engine: Local, *, sound: bool) -> None:
        with self._lock:
            self._busy -= 1
            if sound:
                self._idle.append(engine)
            else:
                engine.close()
            if self._closed:
                self._tidy()
                return
            self._used = time.monotonic()
            if self._timer is None:
                self._wait(_IDLE_SECONDS)

    def _wait(self, seconds: float) -> None:
        """Look after the idle children later: a run that vanished says no goodbye."""
        self._timer = threading.Timer(seconds, self._retire)
        self._timer.daemon = True
        self._timer.start()

    def _retire(self) -> None:
        with self._lock:
            self._timer = None
            rest = self._used + _IDLE_SECONDS - time.monotonic()
            if rest > 0 and not self._closed:
                self._wait(rest)
            else:
                self._close_idle()

    def _tidy(self) -> None:
        self._close_idle()
        if self._timer is not None:
            self._timer.cancel()
        if not self._busy:
            self._parcel.close()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def pack(found: Outcome) -> bytes:
    """Return an outcome as a message that :func:`unpack` reads."""
    fields = (found.status, found.message, found.traceback)
    spent = (found.seconds, found.cpu_seconds, found.megabytes)
    return plain.pack(("done", "", False, *fields, *spent), plain.encode(found.value))


def leave(outbox: str, message: object) -> None:
    """Leave an outcome in a file, unless the child that made it could do so itself."""
    if outbox and isinstance(message, bytes) and not os.path.exists(outbox):
        keep(outbox, message)


def unpack(message: object) -> Outcome:
    """Read an outcome that came from a station."""
    try:
        if isinstance(message, bytes) and (found := plain.unpack(message)) is not None:
            kind, _, replace, *rest = found[0]
            checked = plain.check_outcome(tuple(rest), get_args(Status))
            return outcome((kind, replace, *checked))[0]
    except (ValueError, plain.Garbled):
        pass
    return Outcome("error", message="The result cannot be read back: it is no message of a worker.")

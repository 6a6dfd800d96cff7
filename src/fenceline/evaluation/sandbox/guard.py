"""The guarded child: a process that runs one task after the other and dies alone.

This file is run by path, before anything else is imported, and uses the standard library only:
so the ties to the parent are in place a few milliseconds after the start, and scikit-learn is
imported only if the function needs it. :mod:`fenceline.evaluation.sandbox.child` is the other side.
"""

import contextlib
import errno
import faulthandler
import importlib.util
import json
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any


def _neighbour(name: str) -> ModuleType:
    """Load a file of this directory alone: the package as a whole takes most of a second."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_fenceline_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING or __name__ != "__main__":
    from fenceline.evaluation.sandbox import plain, warden
else:
    plain, warden = _neighbour("plain"), _neighbour("warden")

LENGTH = struct.Struct("<Q")
"""A task is its length, a line of JSON that names it, and a pickle."""

PAGE = resource.getpagesize()
MEGABYTE = 1 << 20
GROWTH_MEGABYTES = 512
"""A child that holds this much more of its own memory than when it was new is replaced."""
GRACE_SECONDS = 0.5
"""How much later than its parent a child would stop a task that takes too long."""
PATIENCE_SECONDS = 1.0
"""How long a child tries to end what a task left behind before its warden ends them all."""
LONGEST_ALARM = 1e8
"""Three years; the system's clocks take no more than that for granted."""
CHANNEL_LOST = 86
"""The exit status of a child whose task has closed its channel."""
_NO_ROOM = (os.strerror(errno.ENOMEM), "failed to map segment", "cannot allocate memory")
"""How the dynamic loader says that a library does not fit."""
_SOFT = resource.getrlimit(resource.RLIMIT_AS)[0]


def main() -> None:
    """Serve tasks until the parent closes the channel; the arguments come from `Child`."""
    channel_fd, parcel_fd, lifeline_fd, parent, seconds, megabytes, *path = sys.argv[1:]
    warden.split(int(lifeline_fd), int(parent), int(channel_fd))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # The first lines of stderr explain a failed start, and a crash writes its traceback there.
    # What tasks print goes nowhere: nobody reads it, so it could only block or fill a disk.
    report = os.dup(2)
    faulthandler.enable(report)
    sys.path[:] = path
    channel = socket.socket(fileno=int(channel_fd))
    example = receive(channel)
    try:
        function = load(int(parcel_fd))
        rehearse(example)
    except BaseException as problem:
        trace = plain.shorten(traceback.format_exc())
        channel.sendall(plain.pack(("failed", plain.describe(problem), trace)))
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    limit = int(float(megabytes) * MEGABYTE) if megabytes != "None" else None
    alarm = min(float(seconds) + GRACE_SECONDS, LONGEST_ALARM) if seconds != "None" else 0.0
    channel.sendall(plain.pack(("ready",)))
    try:
        serve(channel, function, alarm, limit)
    except OSError:
        os._exit(CHANNEL_LOST)


def rehearse(example: bytes | None) -> None:
    """Import what tasks are made of, now: no clock runs yet, and memory is not limited."""
    if example:
        with contextlib.suppress(Exception):  # its own task will tell
            pickle.loads(example)


def serve(
    channel: socket.socket, function: Callable[[Any], Any], alarm: float, limit: int | None
) -> None:
    """Run tasks one after the other."""
    pid, new = os.getpid(), memory()[1]
    while (task := receive(channel)) is not None:
        first, _, argument = task.partition(b"\n")
        name, outbox = json.loads(first)
        # The parent's clock starts when it hears this; whatever else it hears first was not ours.
        channel.sendall(plain.pack(("begin", name)))
        # The parent stops tasks on time, unless it is busy itself: then this alarm kills.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, alarm)
        reply, value = run(function, argument, limit)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if os.getpid() != pid:
            # The task forked, and this is the copy: it must not answer in its parent's place.
            os._exit(0)
        dirty = warden.end_all(PATIENCE_SECONDS) or memory()[1] - new > GROWTH_MEGABYTES * MEGABYTE
        message = plain.pack(("done", name, dirty, *reply), value)
        if outbox:
            keep(outbox, message)
        channel.sendall(message)


def keep(outbox: str, message: bytes) -> None:
    """Put an outcome where a run that is killed before it reads it finds it when it is resumed."""
    # On another machine there is no such directory, and a full disk is the journal's to report.
    with contextlib.suppress(OSError):
        draft = f"{outbox}.tmp"
        with open(draft, "wb") as file:
            file.write(message)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, outbox)


def run(
    function: Callable[[Any], Any], task: bytes, limit: int | None
) -> tuple[tuple[Any, ...], bytes]:
    """Run one task and return what is known about it, and its result as JSON."""
    forget_peak()
    restrict(limit)
    wall, cpu = time.perf_counter(), time.process_time()
    value, status, message, trace = b"null", "ok", "", ""
    try:
        value = plain.encode(function(pickle.loads(task)))
    except BaseException as problem:
        # First of all: putting the reasons into words needs memory, too.
        restrict(None)
        status = "memory" if lacks_memory(problem) else "error"
        message, trace = plain.describe(problem), plain.shorten(traceback.format_exc())
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    restrict(None)
    return (status, message, trace, seconds, cpu_seconds, peak()), value


def lacks_memory(problem: BaseException | None) -> bool:
    """Tell whether memory ran out: here, in a library's own words, or where it all began."""
    seen: set[int] = set()  # an exception may be made its own cause
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        if isinstance(problem, MemoryError) or (
            isinstance(problem, OSError) and problem.errno == errno.ENOMEM
        ):
            return True
        if isinstance(problem, ImportError) and any(
            words.lower() in plain.describe(problem).lower() for words in _NO_ROOM
        ):
            return True
        # "raise ... from None" says that what came before is not the reason.
        before = None if problem.__suppress_context__ else problem.__context__
        problem = problem.__cause__ or before
    return False


def load(parcel: int) -> Callable[[Any], Any]:
    """Read the function from the file that all children share; its arrays stay in that file."""
    data = memoryview(mmap.mmap(parcel, 0, access=mmap.ACCESS_READ))
    (count,) = LENGTH.unpack_from(data)
    spans = [struct.unpack_from("<QQ", data, LENGTH.size + 16 * i) for i in range(count)]
    first, *others = (data[start : start + length] for start, length in spans)
    function: Callable[[Any], Any] = pickle.loads(first, buffers=others)
    return function


def restrict(limit: int | None) -> None:
    """Allow this much address space beyond the present, or what the user allows altogether."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = _SOFT
    if limit is not None:
        wanted = memory()[0] + limit
        bounds = [b for b in (_SOFT, hard) if b != resource.RLIM_INFINITY]
        # A number too large for the system is no limit.
        soft = min([wanted, *bounds]) if wanted < sys.maxsize else _SOFT
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def memory() -> tuple[int, int]:
    """Return the bytes of address space, and the bytes that belong to this process alone."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:
            size, resident, shared = map(int, statm.read().split()[:3])
    except OSError:
        return 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return size * PAGE, (resident - shared) * PAGE


def forget_peak() -> None:
    """Have the kernel start anew with the peak of resident memory."""
    with (
        contextlib.suppress(OSError),
        open("/proc/self/clear_refs", "wb", buffering=0) as clear,
    ):
        clear.write(b"5")


def peak() -> float:
    """Return the peak of resident memory since it was last forgotten, in megabytes."""
    # Not getrusage's: that is inherited from the parent and only ever grows.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb", buffering=0) as status:
        for line in status.read().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def receive(channel: socket.socket) -> bytes | None:
    """Wait for one task; None when the parent is gone or wants no more."""
    head = _exactly(channel, LENGTH.size)
    return None if head is None else _exactly(channel, LENGTH.unpack(head)[0])


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        piece = channel.recv(min(count - len(data), MEGABYTE))
        if not piece:
            return None
        data += piece
    return bytes(data)


if __name__ == "__main__":
    main()

"""The guarded child: a process that runs one task after the other and dies alone.

This file is run by path, before anything else is imported, and uses the standard library only:
so the ties to the parent are in place a few milliseconds after the start, and scikit-learn is
imported only if the function needs it. :mod:`fenceline.evaluation.sandbox.child` is the other side.
"""

import contextlib
import ctypes
import errno
import faulthandler
import fcntl
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
from typing import Any

LENGTH = struct.Struct("<Q")
"""Every message is its length and a pickle."""

PAGE = resource.getpagesize()
MEGABYTE = 1 << 20
GROWTH_MEGABYTES = 512
"""A child that holds this much more of its own memory than when it was new is replaced."""
GRACE_SECONDS = 0.5
"""How much later than its parent a child would stop a task that takes too long."""
PATIENCE_SECONDS = 1.0
"""How long a child tries to end what a task left behind before its parent ends them all."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_F_SETSIG = 10


def main() -> None:
    """Serve tasks until the parent closes the channel; the arguments come from `Child`."""
    channel_fd, parcel_fd, lifeline_fd, parent, seconds, megabytes, *path = sys.argv[1:]
    tie_to_parent(int(lifeline_fd), int(parent))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # The first lines of stderr explain a failed start, and a crash writes its traceback there.
    # What tasks print goes nowhere: nobody reads it, so it could only block or fill a disk.
    report = os.dup(2)
    faulthandler.enable(report)
    sys.path[:] = path
    channel = socket.socket(fileno=int(channel_fd))
    try:
        function = load(int(parcel_fd))
    except BaseException as problem:
        send(channel, ("failed", describe(problem), traceback.format_exc()))
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    limit = int(float(megabytes) * MEGABYTE) if megabytes != "None" else None
    alarm = float(seconds) + GRACE_SECONDS if seconds != "None" else 0.0
    send(channel, ("ready", "", ""))
    serve(channel, function, alarm, limit)
    os.killpg(0, signal.SIGKILL)


def serve(
    channel: socket.socket, function: Callable[[Any], Any], alarm: float, limit: int | None
) -> None:
    """Run tasks one after the other."""
    pid, new = os.getpid(), memory()[1]
    while (task := receive(channel)) is not None:
        # The parent stops tasks on time, unless it is busy itself: then this alarm kills.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, alarm)
        reply = run(function, task, limit)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if os.getpid() != pid:
            # The task forked, and this is the copy: it must not answer in its parent's place.
            os._exit(0)
        dirty = end_descendants() or memory()[1] - new > GROWTH_MEGABYTES * MEGABYTE
        send(channel, (*reply, dirty))


def run(function: Callable[[Any], Any], task: bytes, limit: int | None) -> tuple[Any, ...]:
    """Run one task and return what is known about it: an Outcome's fields in order."""
    forget_peak()
    restrict(limit)
    wall, cpu = time.perf_counter(), time.process_time()
    value, status, message, trace = None, "ok", "", ""
    try:
        value = dump(function(pickle.loads(task)))
    except BaseException as problem:
        # First of all: putting the reasons into words needs memory, too.
        restrict(None)
        status = "memory" if lacks_memory(problem) else "error"
        message, trace = describe(problem), traceback.format_exc()[-20_000:]
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    restrict(None)
    return status, value, message, trace, seconds, cpu_seconds, peak()


def lacks_memory(problem: BaseException | None) -> bool:
    """Tell whether memory ran out: here, in a library's own words, or where it all began."""
    return problem is not None and (
        isinstance(problem, MemoryError)
        or (isinstance(problem, OSError) and problem.errno == errno.ENOMEM)
        or (isinstance(problem, ImportError) and os.strerror(errno.ENOMEM) in str(problem))
        or lacks_memory(problem.__cause__ or problem.__context__)
    )


def describe(problem: BaseException) -> str:
    """Put an exception into one line, even one whose `__str__` raises."""
    try:
        text = str(problem)
    except Exception:
        text = "(its message cannot be shown)"
    name = type(problem).__name__
    return (f"{name}: {text}".splitlines()[0] if text else name)[:1000]


def dump(value: Any) -> bytes:
    """Pickle a result; cloudpickle, ten times slower, only for what needs it."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:
        import cloudpickle

        return bytes(cloudpickle.dumps(value, protocol=5))


def load(parcel: int) -> Callable[[Any], Any]:
    """Read the function from the file that all children share; its arrays stay in that file."""
    data = memoryview(mmap.mmap(parcel, 0, access=mmap.ACCESS_READ))
    (count,) = LENGTH.unpack_from(data)
    spans = [struct.unpack_from("<QQ", data, LENGTH.size + 16 * i) for i in range(count)]
    first, *others = (data[start : start + length] for start, length in spans)
    function: Callable[[Any], Any] = pickle.loads(first, buffers=others)
    return function


def tie_to_parent(lifeline: int, parent: int) -> None:
    """Make this process and all it starts die with its parent, even while C code runs."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # Descendants whose own parent ended become children of this process: it can find them.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Nothing is ever written to the lifeline. When its other end closes, the kernel kills
        # the whole process group; the death signal above reaches this process only.
        with contextlib.suppress(OSError):
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
            fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
            fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    if os.getppid() != parent:
        os._exit(1)


def restrict(limit: int | None) -> None:
    """Allow this much address space beyond the present, or lift the limit."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if limit is None else memory()[0] + limit
    if limit is not None and hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
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


def end_descendants() -> bool:
    """Kill every process a task left behind; tell whether there was one."""
    found, give_up = False, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not ended:
            found = True
            for child in children():
                with contextlib.suppress(OSError):
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
    return True


def children() -> list[int]:
    """List the direct children of this process."""
    own, found = str(os.getpid()), []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:
                    # The command's name stands in parentheses and may hold anything.
                    if stat.read().rpartition(")")[2].split()[1] == own:
                        found.append(int(name))
    return found


def send(channel: socket.socket, message: tuple[Any, ...]) -> None:
    """Send one message."""
    body = pickle.dumps(message, protocol=5)
    channel.sendall(LENGTH.pack(len(body)) + body)


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

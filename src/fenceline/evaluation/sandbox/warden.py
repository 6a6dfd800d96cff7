"""The warden of a guarded child: it runs nothing itself, and leaves nothing of a child's behind.

Whatever a task starts, in whatever session and under whatever environment, is a descendant of the
warden: Linux gives the orphans among its descendants to it (a subreaper). It waits for the end of
the child, of the run, or of the run's interest, and then ends them all. Only the standard library
is used: `guard.py` loads this file by path.
"""

import contextlib
import ctypes
import fcntl
import os
import resource
import select
import signal
import sys
import time

PATIENCE_SECONDS = 5.0
"""How long to try to end processes that the system does not let go."""
_TICK_MILLISECONDS = 50
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_F_SETSIG = 10


def split(lifeline: int, parent: int, channel: int) -> None:
    """Return in a process of its own, the child; this one becomes its warden and does not return.

    Parameters
    ----------
    lifeline : int
        A pipe that nothing is written to: its other end closes when the run wants the child ended.
    parent : int
        The run's process. It is watched besides, for copies of it may hold the pipe open.
    channel : int
        Of the child; the warden lets go of it, so that its end is noticed.
    """
    adopt_orphans()
    # A forced end of the run's own must not come between the two.
    run = None
    with contextlib.suppress(AttributeError, OSError):  # Linux since 5.3
        run = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(1)
    warden = os.getpid()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        os.setsid()  # what a task does to its process group does not reach the warden
        die_as_a_group_with(theirs)
        tie_to(warden)
        adopt_orphans()
        os.close(lifeline)
        if run is not None:
            os.close(run)
        return
    os.close(channel)
    os.close(theirs)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    status = _watch(child, lifeline, run, parent)
    end_all()
    _end_like(status)


def _watch(child: int, lifeline: int, run: int | None, parent: int) -> int:
    """Wait for the first end, make it the child's, and return the child's status."""
    ended = None
    with contextlib.suppress(AttributeError, OSError):
        ended = os.pidfd_open(child)
    watched = [fd for fd in (lifeline, run, ended) if fd is not None]
    tick = None if len(watched) == 3 else _TICK_MILLISECONDS
    until = None
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        poll = select.poll()  # unlike select, for any number of open files
        for descriptor in watched:
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(tick)}
        if lifeline in ready or run in ready or os.getppid() != parent:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            until = until or time.monotonic() + PATIENCE_SECONDS
            watched, tick = [fd for fd in (ended,) if fd is not None], _TICK_MILLISECONDS
        if until is not None and time.monotonic() > until:
            return signal.SIGKILL


def end_all(patience: float = PATIENCE_SECONDS) -> bool:
    """Kill every descendant of this process, and tell whether there was one that ran."""
    found, give_up = False, time.monotonic() + patience
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


def adopt_orphans() -> None:
    """Have descendants whose own parent ended become children of this process: it can find them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def tie_to(parent: int) -> None:
    """Make this process die with its parent, even while C code runs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def die_as_a_group_with(lifeline: int) -> None:
    """Have the kernel kill this process group when the other end of a pipe is closed.

    A warden may itself be killed, by Ray for one, which ends a worker with its direct children;
    the signal of `tie_to` then reaches the child, but not the processes that it has forked.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
            fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
            fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


def _end_like(status: int) -> None:
    """End as the child has ended, for the run to see."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)

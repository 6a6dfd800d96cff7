"""The parent's side of a guarded child: start it, talk to it without blocking, end it."""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox import guard
from fenceline.evaluation.sandbox.payload import Parcel

_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
_CHUNK = 1 << 18


class Child:
    """One guarded child: at most one task at a time, and all of its processes end with it."""

    def __init__(self, parcel: Parcel, limits: Limits) -> None:
        self.ready = False
        self.hung_up = False
        self.garbled = False
        self._ended = False
        self.ticket: int | None = None
        self.started = time.monotonic()
        self.mark = f"FENCELINE_CHILD={uuid.uuid4().hex}"
        self._outgoing = memoryview(b"")
        self._incoming = bytearray()
        self.channel, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        self._report: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        with theirs:
            try:
                self._process = self._start(theirs.fileno(), parcel.fileno(), lifeline, limits)
            except BaseException:
                self._close_files()
                raise
            finally:
                os.close(lifeline)
        self.channel.setblocking(False)
        # The channel alone does not tell of a death: a copy forked by a task may hold it open.
        self.pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # Linux since 5.3
            self.pidfd = os.pidfd_open(self._process.pid)

    def _start(
        self, channel: int, parcel: int, lifeline: int, limits: Limits
    ) -> "subprocess.Popen[bytes]":
        path = [entry or os.getcwd() for entry in sys.path]
        numbers = [channel, parcel, lifeline, os.getpid(), limits.seconds, limits.megabytes]
        return subprocess.Popen(
            # -P: the directory of guard.py, with a dask.py and a ray.py, stays off the path.
            [sys.executable, "-P", str(Path(guard.__file__)), *map(str, numbers), *path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._report,
            pass_fds=(channel, parcel, lifeline),
            start_new_session=True,
            env=os.environ | environment(limits.threads) | dict([self.mark.split("=")]),
        )

    @property
    def alive(self) -> bool:
        """Whether the process runs; a dead one is not reaped, so its group can still be named."""
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            return self._process.poll() is None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is None

    @property
    def sending(self) -> bool:
        """Whether a part of the task is still to be sent."""
        return bool(self._outgoing)

    def send(self, ticket: int, argument: bytes) -> None:
        """Give an idle child its next task."""
        self.ticket, self.started = ticket, time.monotonic()
        self._outgoing = memoryview(guard.LENGTH.pack(len(argument)) + argument)
        self.flush()

    def flush(self) -> None:
        """Send as much of the task as the channel takes. A dead child is noticed elsewhere."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._outgoing:
                self._outgoing = self._outgoing[self.channel.send(self._outgoing[:_CHUNK]) :]

    def receive(self) -> tuple[Any, ...] | None:
        """Read what has come; return the message once it is complete."""
        head = guard.LENGTH.size
        with contextlib.suppress(BlockingIOError):
            while len(piece := self._read()) == _CHUNK:
                pass
            self.hung_up = not piece
        if len(self._incoming) < head:
            return None
        end = head + guard.LENGTH.unpack_from(self._incoming)[0]
        if len(self._incoming) < end:
            return None
        body, self._incoming = bytes(self._incoming[head:end]), bytearray()
        try:
            message: tuple[Any, ...] = pickle.loads(body)
        except Exception:
            self.hung_up = self.garbled = True  # nothing in the channel can be trusted any more
            return None
        return message

    def _read(self) -> bytes:
        try:
            piece = self.channel.recv(_CHUNK)
        except ConnectionResetError:
            piece = b""
        self._incoming += piece
        return piece

    def kill(self) -> None:
        """Have the child and its process group end, without waiting for it."""
        if not self._ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> int | None:
        """Kill the child and its process group; return how the child itself ended."""
        self.kill()
        # A process stuck in the kernel cannot be waited for; the run goes on without it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._ended = True  # its number may now name another group
        return self._process.returncode

    def report(self) -> str:
        """Return what the child wrote before its first task and while it crashed."""
        self._report.seek(0)
        return self._report.read(20_000).decode(errors="replace").strip()

    def close(self) -> None:
        """End the child and give back its files."""
        self.end()
        self._close_files()
        if self.pidfd is not None:
            os.close(self.pidfd)

    def _close_files(self) -> None:
        self.channel.close()
        self._report.close()
        os.close(self._lifeline)


def sweep(marks: Collection[str]) -> None:
    """Kill what children started in sessions of its own, out of reach of their process groups.

    Such processes are known by a variable in their environment. The scan is repeated until it
    finds none, because they may have started others meanwhile.
    """
    needles = [mark.encode() for mark in marks]
    found = bool(needles) and os.path.isdir("/proc/self")
    while found:
        found = False
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                variables = Path(f"/proc/{name}/environ").read_bytes()
                if any(needle in variables for needle in needles):
                    os.kill(int(name), signal.SIGKILL)
                    found = True


def outcome(reply: tuple[Any, ...]) -> tuple[Outcome, bool]:
    """Turn a child's reply into an outcome, and tell whether the child has to be replaced."""
    status, value, message, trace, seconds, cpu_seconds, megabytes, replace = reply
    if status == "ok":
        try:
            value = pickle.loads(value)
        except Exception as problem:
            status, value = "error", None
            message = f"The result cannot be read back: {guard.describe(problem)}"
    return Outcome(status, value, message, trace, seconds, cpu_seconds, megabytes), replace


def environment(threads: int) -> dict[str, str]:
    """Return the variables that hold numerical libraries to a number of threads."""
    names = [f"{name}_NUM_THREADS".replace("MAXIMUM_NUM", "MAXIMUM") for name in _THREADS]
    # Each arena of the allocator reserves 64 MB of address space, which the limit counts.
    return dict.fromkeys([*names, "LOKY_MAX_CPU_COUNT"], str(threads)) | {"MALLOC_ARENA_MAX": "2"}


def cause(returncode: int | None) -> str:
    """Say how a process ended."""
    if returncode is None:
        return "The process is stuck in the system and cannot be ended."
    if returncode == -signal.SIGKILL:
        return "The process was killed (SIGKILL), perhaps by the system for want of memory."
    if returncode < 0:
        return f"The process died of {signal.Signals(-returncode).name}."
    return f"The process exited with status {returncode} in the middle of its task."

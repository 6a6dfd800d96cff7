"""The parent's side of a guarded child: start it, talk to it without blocking, end it."""

import contextlib
import json
import os
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
from fenceline.evaluation.sandbox import guard, plain, warden
from fenceline.evaluation.sandbox.payload import Parcel
from fenceline.problem.printable import printable

_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
_CHUNK = 1 << 18
_HANG_UP_SECONDS = 0.5
"""Between the end of a channel and that of its process; more means that the task closed it."""


class Child:
    """One guarded child: at most one task at a time, and all of its processes end with it.

    The process started here is the child's warden, which ends as the child does.

    Parameters
    ----------
    parcel : Parcel
        The function.
    limits : Limits
        What one task may use.
    example : bytes
        A pickled argument such as the tasks will bring: what it needs is imported before the
        child is ready.
    """

    def __init__(self, parcel: Parcel, limits: Limits, example: bytes = b"") -> None:
        self.ready = False
        self.begun = False
        self.hung_up = False
        self.garbled = False
        self._ended = self._deaf = False
        self.ticket: int | None = None
        self.argument, self.outbox = b"", ""
        self.started = time.monotonic()
        self.mark = f"FENCELINE_CHILD={uuid.uuid4().hex}"
        self._name = ""
        self._kills = out_of_memory_kills()
        self._outgoing = memoryview(guard.LENGTH.pack(len(example)) + example)
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
        self.flush()
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
            # -P: the directory of guard.py stays off the path.
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

    def send(self, ticket: int, argument: bytes, outbox: str = "") -> None:
        """Give an idle child its next task, and a file to leave its outcome in, if it can."""
        self.ticket, self.argument, self.outbox = ticket, argument, outbox
        self.started, self.begun = time.monotonic(), False
        self._name = uuid.uuid4().hex
        task = json.dumps([self._name, outbox]).encode() + b"\n" + argument
        self._outgoing = memoryview(guard.LENGTH.pack(len(task)) + task)
        self.flush()

    def flush(self) -> None:
        """Send as much of the task as the channel takes. A dead child is noticed elsewhere."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._outgoing:
                self._outgoing = self._outgoing[self.channel.send(self._outgoing[:_CHUNK]) :]

    def listen(self) -> None:
        """Read what has come."""
        with contextlib.suppress(BlockingIOError):
            while len(piece := self._read()) == _CHUNK:
                pass
            self.hung_up = not piece

    def message(self) -> tuple[Any, ...] | None:
        """Return the next message that is complete; note whether it is not one of this child's.

        What a task writes into the channel is not believed: a reply bears the name of its task,
        which is a new one for each, and comes after the child has said that it began.
        """
        try:
            found = plain.unpack(self._incoming)
            if found is None:
                return None
            fields, length = found
            del self._incoming[:length]
            return self._checked(fields)
        except plain.Garbled:
            self.hung_up = self.garbled = True  # nothing in the channel can be trusted any more
            return None

    def _checked(self, fields: tuple[Any, ...]) -> tuple[Any, ...]:
        match fields:
            case ("ready", None) if not self.ready:
                pass
            case ("failed", str(), str(), None) if not self.ready:
                pass
            case ("begin", name, None) if self._waits_for(name) and not self.begun:
                self.begun, self.started = True, time.monotonic()
            case ("done", name, bool(), *rest) if self._waits_for(name) and self.begun:
                return ("done", fields[2], *plain.check_outcome(tuple(rest)))
            case _:
                raise plain.Garbled
        return fields

    def _waits_for(self, name: object) -> bool:
        return self.ready and self.ticket is not None and name == self._name

    def _read(self) -> bytes:
        try:
            piece = self.channel.recv(_CHUNK)
        except ConnectionResetError:
            piece = b""
        self._incoming += piece
        return piece

    def kill(self) -> None:
        """Have the child and all it started end, without waiting for it."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def await_end(self) -> None:
        """Let a child that has hung up end by itself, so that its true end is known."""
        if self.hung_up and not self.garbled:
            try:
                self._process.wait(_HANG_UP_SECONDS)
            except subprocess.TimeoutExpired:
                self._deaf = True

    def end(self) -> int | None:
        """Kill the child and all it started; return how the child itself ended."""
        self.kill()
        if not self._ended:
            try:
                self._process.wait(warden.PATIENCE_SECONDS + 1)
            except subprocess.TimeoutExpired:
                # A warden that was stopped, or one stuck in the kernel: then the run goes on without.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
        self._ended = True
        return self._process.returncode

    def cause(self) -> str:
        """Say how the process ended."""
        if self.garbled:
            return "It wrote into its channel."
        returncode = self._process.returncode
        if returncode is None:
            return "The process is stuck in the system and cannot be ended."
        if returncode == -signal.SIGKILL and out_of_memory_kills() > self._kills:
            return "The process was killed (SIGKILL), perhaps by the system for want of memory."
        if returncode == guard.CHANNEL_LOST or self._deaf:
            return "The task closed files of its process, among them the way back to the run."
        if returncode < 0:
            return f"The process died of {signal.Signals(-returncode).name}."
        return f"The process exited with status {returncode} in the middle of its task."

    def report(self) -> str:
        """Return what the child wrote before its first task and while it crashed."""
        self._report.seek(0)
        return printable(self._report.read(20_000).decode(errors="replace").strip())

    def close(self) -> None:
        """End the child and give back its files."""
        self.end()
        self._close_files()
        if self.pidfd is not None:
            os.close(self.pidfd)

    def _close_files(self) -> None:
        self.channel.close()
        self._report.close()
        self.kill()


def sweep(marks: Collection[str]) -> None:
    """Kill what a child started whose warden did not outlive it, where it can be found.

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


def outcome(message: tuple[Any, ...], seconds: float | None = None) -> tuple[Outcome, bool]:
    """Turn a child's last message into an outcome, and tell whether the child has to be replaced."""
    _, replace, status, text, trace, spent, cpu_seconds, megabytes, value = message
    if seconds is not None and spent > seconds:
        # Finished while nobody could stop it: the limit is the same for all.
        return Outcome("timeout", message=overdue(seconds), seconds=spent), replace
    text, trace = printable(text)[:1000], printable(plain.shorten(trace))
    return Outcome(status, value, text, trace, spent, cpu_seconds, megabytes), replace


def overdue(seconds: float) -> str:
    """Say that a task took too long."""
    return f"Stopped after the limit of {seconds:g} seconds."


def read_outbox(path: Path, seconds: float | None = None) -> Outcome | None:
    """Return the outcome that a child left in a file; None if it is not whole."""
    try:
        found = plain.unpack(path.read_bytes())
        if found is None:
            return None
        kind, _, replace, *rest = found[0]
        if kind != "done":
            return None
        return outcome((kind, replace, *plain.check_outcome(tuple(rest))), seconds)[0]
    except (OSError, ValueError, plain.Garbled):
        return None


def environment(threads: int) -> dict[str, str]:
    """Return the variables that hold numerical libraries to a number of threads."""
    names = [f"{name}_NUM_THREADS".replace("MAXIMUM_NUM", "MAXIMUM") for name in _THREADS]
    # Each arena of the allocator reserves 64 MB of address space, which the limit counts.
    return dict.fromkeys([*names, "LOKY_MAX_CPU_COUNT"], str(threads)) | {"MALLOC_ARENA_MAX": "2"}


def out_of_memory_kills() -> int:
    """Return how many processes the system has killed for want of memory, where it says so."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_bytes().splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0

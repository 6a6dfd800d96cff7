"""Tasks that do to a worker what real pipelines do to it, by name; each leaves its process id."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

FOREVER = 1000
"""Seconds; nothing here ends by itself."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One task: what to do, with which number, and where to leave the process id."""

    deed: str
    number: int
    directory: str


def perform(errand: Errand) -> Any:
    """Do what the errand says; this is the function to `put`."""
    leave_name(errand)
    return DEEDS[errand.deed](errand)


def leave_name(errand: Errand) -> None:
    """Note this process in the errand's directory, with its start to tell it from a namesake."""
    (Path(errand.directory) / str(os.getpid())).write_text(started(os.getpid()) or "")


def started(pid: int) -> str | None:
    """Return when a process started, in the kernel's words; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def survivors(directory: Path) -> list[int]:
    """Return the processes noted in a directory that still run."""
    noted = [(int(path.name), path.read_text()) for path in directory.iterdir()]
    return [pid for pid, start in noted if started(pid) == start]


class SulkyError(Exception):
    """An exception that cannot be unpickled, and cannot even be pickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"sulking over {one} and {two}")

    def __reduce__(self) -> NoReturn:
        raise TypeError("not me")


def _square(errand: Errand) -> int:
    return errand.number**2


def _raise(errand: Errand) -> NoReturn:
    raise ValueError(f"no result for {errand.number}")


def _sulk(errand: Errand) -> NoReturn:
    raise SulkyError(1, 2)


def _exit(errand: Errand) -> NoReturn:
    os._exit(3)


def _segfault(errand: Errand) -> None:
    ctypes.string_at(0)


def _kill(errand: Errand) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleep(errand: Errand) -> None:
    time.sleep(FOREVER)


def _hold_gil(errand: Errand) -> None:
    # PyDLL, unlike CDLL, keeps the interpreter's lock: no other thread, no signal handler runs.
    ctypes.PyDLL(None).sleep(FOREVER)


def _allocate(errand: Errand) -> int:
    return len(bytearray(4 << 30))


def _hoard(errand: Errand) -> int:
    # Many pieces: the limit is met somewhere inside, not in one large request.
    return len([bytes(1 << 20) for _ in range(4_000)])


def _breed(errand: Errand) -> None:
    for _ in range(4):
        os.fork()
    leave_name(errand)
    time.sleep(FOREVER)


def _abandon(errand: Errand) -> int:
    """Succeed, but leave three processes: in the group, in a session of its own, and a copy."""
    for session in (False, True):
        _start(errand, session)
    if os.fork() == 0:
        leave_name(errand)
    return errand.number**2


def _desert(errand: Errand) -> NoReturn:
    """Crash, and leave a process where the process group does not reach."""
    _start(errand, session=True)
    os._exit(3)


def _start(errand: Errand, session: bool) -> None:
    command = [sys.executable, "-c", f"import time; time.sleep({FOREVER})"]
    child = subprocess.Popen(command, start_new_session=session)
    child.returncode = 0  # no warning about a process that is abandoned on purpose
    (Path(errand.directory) / str(child.pid)).write_text(started(child.pid) or "")


def _shout(errand: Errand) -> int:
    for stream in (1, 2):
        for _ in range(50):
            os.write(stream, b"x" * (1 << 20))
    print("x" * (1 << 20), flush=True)
    return errand.number**2


def _return_lambda(errand: Errand) -> Callable[[], int]:
    return lambda: errand.number


class Trap:
    """A result that ends whoever reads it, by pickle or as a number."""

    def __reduce__(self) -> tuple[Callable[[int], Any], tuple[int]]:
        return os._exit, (5,)

    def tolist(self) -> NoReturn:
        """End the process."""
        os._exit(5)


def _return_trap(errand: Errand) -> dict[str, Trap]:
    return {"loss": Trap()}


def _write_into_the_channel(errand: Errand) -> None:
    """Leave a few bytes in every socket, as a message with a large length would begin, and go on."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), b"\xff" * 8)
    time.sleep(FOREVER)


def _close_files(errand: Errand) -> int:
    os.closerange(3, 4096)
    return errand.number**2


def _daemon(errand: Errand) -> None:
    """Leave a process with no ties: no parent, a session of its own, no environment."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    leave_name(errand)
    os.execve(sys.executable, [sys.executable, "-c", f"import time; time.sleep({FOREVER})"], {})


def _daemon_and_crash(errand: Errand) -> NoReturn:
    _daemon(errand)
    os._exit(3)


def _daemon_and_sleep(errand: Errand) -> None:
    _daemon(errand)
    time.sleep(FOREVER)


def _return_generator(errand: Errand) -> Any:
    return (number for number in range(errand.number))


DEEDS: dict[str, Callable[[Errand], Any]] = {
    "square": _square,
    "raise": _raise,
    "raise what cannot be pickled": _sulk,
    "return what cannot be pickled": _return_generator,
    "exit": _exit,
    "segfault": _segfault,
    "be killed": _kill,
    "sleep": _sleep,
    "hold the GIL": _hold_gil,
    "allocate": _allocate,
    "hoard": _hoard,
    "breed": _breed,
    "abandon children": _abandon,
    "desert": _desert,
    "shout": _shout,
    "return a function": _return_lambda,
    "exit in its result": _return_trap,
    "write into the channel": _write_into_the_channel,
    "close all files": _close_files,
    "leave a daemon and crash": _daemon_and_crash,
    "leave a daemon and sleep": _daemon_and_sleep,
}

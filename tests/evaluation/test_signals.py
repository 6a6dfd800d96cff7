"""Two requests to stop: the first ends a run with the best so far, the second ends the process."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch

STUCK = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.evaluation import Local

folder = Path(sys.argv[1])

def measure(configuration):
    (folder / f"{os.getpid()}.child").touch()
    time.sleep(600)

def close(engine):
    (folder / "tidying").touch()
    time.sleep(600)

Local.close = close
space = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])
fl.minimize(fl.Problem(space, measure), evaluations=9, workers=2, algorithm=RandomSearch())
"""


def wait_for(condition, parent):
    until = time.monotonic() + 60
    while not condition():
        assert parent.poll() is None, "it ended by itself"
        assert time.monotonic() < until, "nothing happens"
        time.sleep(0.02)


def running(pid):
    """Tell whether a process lives; one that has ended and waits to be reaped does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGTERM),
        (signal.SIGTERM, signal.SIGINT),
    ],
)
def test_the_second_signal_kills_even_while_the_first_is_being_obeyed(tmp_path, first, second):
    with subprocess.Popen([sys.executable, "-c", STUCK, str(tmp_path)]) as parent:
        try:
            wait_for(lambda: len(list(tmp_path.glob("*.child"))) == 2, parent)
            parent.send_signal(first)
            wait_for((tmp_path / "tidying").exists, parent)
            parent.send_signal(second)
            assert parent.wait(60) == -second  # what it is stuck in would take ten minutes
        finally:
            parent.kill()
    children = [file.stem for file in tmp_path.glob("*.child")]
    until = time.monotonic() + 30
    while any(map(running, children)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [child for child in children if running(child)]


def minimize(measure):
    space = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])
    return fl.minimize(fl.Problem(space, measure), evaluations=3, algorithm=RandomSearch())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_a_run_signals_do_what_they_did_before(number):
    before = signal.getsignal(number)

    def interrupt(_):
        signal.raise_signal(number)
        return {"loss": 1.0}

    assert minimize(interrupt).ended == "interrupted"
    assert signal.getsignal(number) is before


def test_a_handler_of_the_users_own_for_control_c_is_left_in_place():
    caught = []
    before = signal.signal(signal.SIGINT, lambda *_: caught.append(True))

    def interrupt(_):
        signal.raise_signal(signal.SIGINT)
        return {"loss": 1.0}

    try:
        assert minimize(interrupt).ended == "evaluations"
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(caught) == 3


def test_a_run_in_another_thread_leaves_signals_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(minimize(lambda _: {"loss": 1.0})))
    thread.start()
    thread.join()
    assert found[0].ended == "evaluations"

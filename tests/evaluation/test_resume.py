"""A run that ends anywhere continues where it was, and measures nothing twice."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fenceline as fl
from fenceline.errors import RunMismatchError
from fenceline.problems import artificial
from fenceline.store import Finish, read_run

CALLS = "calls.txt"


class Counting:
    """Measures an artificial problem and notes every call in a file."""

    def __init__(self, folder, seconds=0.0):
        self.folder = str(folder)
        self.seconds = seconds

    def __call__(self, configuration):
        with open(os.path.join(self.folder, CALLS), "a") as file:
            file.write(configuration.key + "\n")
        time.sleep(self.seconds)
        return artificial(3).measure(configuration)


def counted(folder, seconds=0.0):
    return fl.Problem(artificial(3).space, Counting(folder, seconds))


def calls(folder):
    return (folder / CALLS).read_text().splitlines()


def configurations(result):
    return [e.configuration for e in result.evaluations]


@pytest.mark.parametrize("first", [1, 7, 20, 29])
@pytest.mark.parametrize(
    "algorithm",
    [fl.ADMM(), fl.ADMM.paper(precision=fl.Fixed(5))],
    ids=["default", "paper"],
)
def test_resumed_run_equals_an_uninterrupted_one_and_measures_nothing_twice(
    tmp_path, algorithm, first
):
    whole = fl.minimize(artificial(3), evaluations=30, algorithm=algorithm, seed=5)
    problem = counted(tmp_path)
    fl.minimize(problem, evaluations=first, algorithm=algorithm, seed=5, run_dir=tmp_path / "run")
    result = fl.minimize(
        problem, evaluations=30, algorithm=algorithm, seed=5, run_dir=tmp_path / "run"
    )
    assert configurations(result) == configurations(whole)
    assert result.best.metrics == whole.best.metrics
    assert len(calls(tmp_path)) == 30


@given(first=st.integers(1, 19), seed=st.integers(0, 1000), problem=st.integers(0, 50))
@settings(max_examples=12, deadline=None)
def test_replay_is_the_identity_wherever_a_run_is_cut(first, seed, problem):
    whole = fl.minimize(artificial(problem), evaluations=20, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        fl.minimize(artificial(problem), evaluations=first, seed=seed, run_dir=folder)
        result = fl.minimize(artificial(problem), evaluations=20, seed=seed, run_dir=folder)
    assert configurations(result) == configurations(whole)
    assert [e.metrics for e in result.evaluations] == [e.metrics for e in whole.evaluations]


def test_a_finished_run_is_read_back_without_a_single_measurement(tmp_path):
    problem = counted(tmp_path)
    first = fl.minimize(problem, evaluations=15, run_dir=tmp_path / "run")
    again = fl.minimize(problem, evaluations=15, run_dir=tmp_path / "run")
    assert configurations(again) == configurations(first)
    assert len(calls(tmp_path)) == 15


def test_a_run_with_several_workers_continues_in_the_order_of_its_journal(tmp_path):
    problem = counted(tmp_path)
    first = fl.minimize(problem, evaluations=18, workers=2, run_dir=tmp_path / "run")
    more = fl.minimize(problem, evaluations=26, workers=2, run_dir=tmp_path / "run")
    assert configurations(more)[:18] == configurations(first)
    assert len(calls(tmp_path)) == len(set(calls(tmp_path))) == 26


def test_another_problem_in_the_same_directory_is_refused_with_the_difference(tmp_path):
    fl.minimize(counted(tmp_path), evaluations=3, run_dir=tmp_path / "run", seed=1)
    with pytest.raises(RunMismatchError, match="seed: 1 there, 2 here"):
        fl.minimize(counted(tmp_path), evaluations=3, run_dir=tmp_path / "run", seed=2)


def test_a_journal_the_algorithm_would_not_have_written_is_taken_in_and_continued(tmp_path):
    problem = counted(tmp_path)
    fl.minimize(problem, evaluations=10, run_dir=tmp_path / "run", algorithm=fl.ADMM(rho=1.0))
    meta = tmp_path / "run" / "meta.json"
    told = json.loads(meta.read_text())
    told["algorithm"]["rho"] = 2.0
    told["seed"] = 9
    meta.write_text(json.dumps(told))
    result = fl.minimize(
        problem, evaluations=14, run_dir=tmp_path / "run", algorithm=fl.ADMM(rho=2.0), seed=9
    )
    assert len(result.evaluations) == 14
    assert len(calls(tmp_path)) == len(set(calls(tmp_path))) == 14


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_resume import counted
import fenceline as fl
folder = Path(sys.argv[1])
fl.minimize(counted(folder, 0.01), evaluations=40, seed=2, run_dir=folder / "run")
"""


KILLS = 50 if os.environ.get("FENCELINE_SOAK") else 3


def test_a_run_killed_at_any_moment_loses_nothing_and_ends_like_one_that_was_not(tmp_path):
    here = os.path.dirname(__file__)
    moments = random.Random(0)
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), here])
        time.sleep(moments.uniform(0.5, 1.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
    result = fl.minimize(counted(tmp_path, 0.01), evaluations=40, seed=2, run_dir=tmp_path / "run")
    whole = fl.minimize(artificial(3), evaluations=40, seed=2)
    assert configurations(result) == configurations(whole)
    # A kill may fall between measuring and writing down; only such a task is measured again.
    assert len(calls(tmp_path)) <= 40 + KILLS
    finished = [e.ticket for e in read_run(tmp_path / "run")[1] if isinstance(e, Finish)]
    assert len(finished) == len(set(finished)) == 40


STOPPED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_resume import StuckAfterAWhile
from fenceline.problems import artificial
import fenceline as fl
folder = Path(sys.argv[1])
problem = fl.Problem(artificial(3).space, StuckAfterAWhile(folder))
result = fl.minimize(problem, evaluations=100, workers=2, run_dir=folder / "run")
print(result.ended, len(result.evaluations), result.best.objective)
"""


class StuckAfterAWhile(Counting):
    """Measures a few pipelines quickly and no other ever; notes the processes that are stuck."""

    def __call__(self, configuration):
        measured = super().__call__(configuration)
        if len(calls(Path(self.folder))) > 8:
            Path(self.folder, f"{os.getpid()}.stuck").touch()
            time.sleep(600)
        return measured


def running(pid):
    """Tell whether a process lives; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_at_once_with_the_best_so_far_and_no_process_left(tmp_path, end):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", STOPPED, str(tmp_path), here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        try:
            until = time.monotonic() + 60
            while len(stuck := list(tmp_path.glob("*.stuck"))) < 2:
                assert time.monotonic() < until, "the run does not get going"
                assert parent.poll() is None
                time.sleep(0.05)
            parent.send_signal(end)
            asked = time.monotonic()
            printed, _ = parent.communicate(timeout=30)
        finally:
            parent.kill()
    assert time.monotonic() - asked < 3.0
    assert parent.returncode == 0
    ended, count, best = printed.split()
    finished = [e for e in read_run(tmp_path / "run")[1] if isinstance(e, Finish)]
    assert ended == "interrupted"
    assert len(finished) == int(count) >= 7
    assert float(best) == min(e.metrics["loss"] for e in finished)
    assert not [file for file in stuck if running(file.stem)]

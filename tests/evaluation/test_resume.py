"""A run that ends anywhere continues where it was, and measures nothing twice."""

import json
import os
import random
import shutil
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
from fenceline.baselines import RandomSearch
from fenceline.errors import RunMismatchError, StoreError
from fenceline.evaluation.sandbox.plain import pack
from fenceline.problems import artificial
from fenceline.store import Finish, RunDirectory, read_run

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
            printed, _ = parent.communicate(timeout=60)  # what is stuck would take ten minutes
        finally:
            parent.kill()
    assert parent.returncode == 0
    ended, count, best = printed.split()
    finished = [e for e in read_run(tmp_path / "run")[1] if isinstance(e, Finish)]
    assert ended == "interrupted"
    assert len(finished) == int(count) >= 7
    assert float(best) == min(e.metrics["loss"] for e in finished)
    assert not [file for file in stuck if running(file.stem)]


DURABLE = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_resume import Noted, SlowToPropose
from fenceline.problems import artificial
import fenceline as fl
folder = Path(sys.argv[1])
problem = fl.Problem(artificial(3).space, Noted(folder))
fl.minimize(problem, evaluations=int(sys.argv[3]), workers=2, run_dir=folder / "run", algorithm=SlowToPropose(0.3))
"""
DURABLE_KILLS = 20 if os.environ.get("FENCELINE_SOAK") else 2
SETTLED_SECONDS = 0.1
"""A measurement that ended so long before the run was killed has left its outcome."""


class SlowToPropose:
    """Takes its time between two proposals, while outcomes come in."""

    def __init__(self, seconds):
        self.seconds = seconds

    def iterates(self, problem, evaluator, rng):
        while True:
            evaluator.submit(problem.sample(rng))
            time.sleep(self.seconds)
        yield


class Noted(Counting):
    """Notes when it has measured what."""

    def __call__(self, configuration):
        time.sleep(0.05)
        with open(Path(self.folder, CALLS), "a") as file:
            file.write(f"{time.time()} {configuration.key}\n")
        return {"loss": 1.0}


def test_what_has_finished_is_not_measured_again_though_nobody_had_read_it(tmp_path):
    """The run proposes while its workers finish; killed then, it finds their outcomes again."""
    here = os.path.dirname(__file__)
    moments = random.Random(0)
    killed, count = [], 6 + 3 * DURABLE_KILLS
    (tmp_path / CALLS).touch()
    for _ in range(DURABLE_KILLS):
        child = subprocess.Popen([sys.executable, "-c", DURABLE, str(tmp_path), here, str(count)])
        before = len(calls(tmp_path))
        until = time.monotonic() + 60
        while len(calls(tmp_path)) == before:
            assert time.monotonic() < until, "the run does not get going"
            assert child.poll() is None
            time.sleep(0.01)
        time.sleep(SETTLED_SECONDS + moments.uniform(0.0, 0.15))
        killed.append(time.time())
        child.send_signal(signal.SIGKILL)
        child.wait()
    problem = fl.Problem(artificial(3).space, Noted(tmp_path))
    options = {"run_dir": tmp_path / "run", "algorithm": SlowToPropose(0.0)}
    result = fl.minimize(problem, evaluations=count, workers=2, **options)
    assert len(result.evaluations) == count
    finished = [line.split(" ", 1) for line in calls(tmp_path)]
    settled = [
        key
        for at, key in finished
        if not any(0 <= kill - float(at) < SETTLED_SECONDS for kill in killed)
    ]
    assert len(settled) == len(set(settled)), "measured again"
    assert not (tmp_path / "run" / "outbox").exists()


def test_an_outcome_that_belongs_to_another_proposal_is_not_believed(tmp_path):
    """As after somebody has cut the journal short: the ticket is the same, the pipeline is not."""
    problem = counted(tmp_path)
    fl.minimize(problem, evaluations=4, run_dir=tmp_path / "run", workers=2, seed=1)
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    outcome = next(i for i, line in enumerate(lines) if b'"outcome"' in line)
    journal.write_bytes(b"".join(lines[:outcome]))
    outbox = tmp_path / "run" / "outbox"
    outbox.mkdir()
    false = pack(("done", "", False, "ok", "", "", 0.0, 0.0, 0.0), b'{"loss": -1.0}')
    (outbox / "0-0123456789abcdef").write_bytes(false)
    (outbox / "1.tmp").write_bytes(b"half")
    result = fl.minimize(problem, evaluations=4, run_dir=tmp_path / "run", workers=2, seed=1)
    assert min(e.objective for e in result.evaluations) > -1.0


def test_a_damaged_outcome_is_measured_again(tmp_path):
    problem = counted(tmp_path)
    fl.minimize(problem, evaluations=1, run_dir=tmp_path / "run")
    journal = tmp_path / "run" / "journal.jsonl"
    header, proposal, _ = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(header + proposal)
    (tmp_path / "run" / "outbox").mkdir()
    _, (proposed,) = read_run(tmp_path / "run")
    with RunDirectory.open(tmp_path / "run", read_run(tmp_path / "run")[0]) as run:
        left = run.outbox(0, problem.space.configuration(proposed.configuration), 1.0)
    good = pack(("done", "", False, "ok", "", "", 0.0, 0.0, 0.0), b'{"loss": 5.0}')
    for content, expected in ((good[:-1], 2), (good[:20] + b"x" + good[21:], 3), (good, 3)):
        journal.write_bytes(header + proposal)
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(content)
        result = fl.minimize(problem, evaluations=1, run_dir=tmp_path / "run")
        assert len(calls(tmp_path)) == expected
    assert result.best.objective == 5.0


def test_a_run_directory_that_is_removed_is_told(tmp_path):
    def remove(progress):
        if progress.count == 3:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(StoreError, match="was removed while the run was writing"):
        fl.minimize(artificial(3), evaluations=10, run_dir=tmp_path / "run", callbacks=[remove])


def test_one_that_is_removed_at_the_very_end_is_told_as_well(tmp_path):
    def remove(progress):
        if progress.count == 3:
            shutil.rmtree(tmp_path / "run")

    with pytest.warns(UserWarning, match="in this process only"):
        result = fl.minimize(
            artificial(3), evaluations=3, run_dir=tmp_path / "run", callbacks=[remove]
        )
    assert len(result.evaluations) == 3


FORKING = """
import os, sys, time
from pathlib import Path
import fenceline as fl
from fenceline.problems import artificial
folder = Path(sys.argv[1])
def measure(configuration):
    if os.fork() == 0:
        (folder / str(os.getpid())).touch()
        time.sleep(60)
        os._exit(0)
    time.sleep(60)
fl.minimize(fl.Problem(artificial(3).space, measure), evaluations=3, run_dir=folder / "run")
"""


def test_a_process_forked_by_a_measurement_does_not_keep_the_lock_of_a_killed_run(tmp_path):
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, start_new_session=True) as parent:
        try:
            until = time.monotonic() + 60
            while not any(path.name.isdecimal() for path in tmp_path.iterdir()):
                assert time.monotonic() < until, "the run does not get going"
                time.sleep(0.02)
            parent.kill()
            parent.wait()
            meta, _ = read_run(tmp_path / "run")
            RunDirectory.open(tmp_path / "run", meta).close()
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_a_measurement_that_forks_and_returns_twice_is_one_measurement(tmp_path):
    def forks(configuration):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return {"loss": 1.0}

    problem = fl.Problem(artificial(3).space, forks)
    fl.minimize(problem, evaluations=3, run_dir=tmp_path / "run", algorithm=RandomSearch())
    assert sum(isinstance(event, Finish) for event in read_run(tmp_path / "run")[1]) == 3

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import Curve, Job, read, run, run_all
from fenceline import ADMM, Problem
from fenceline.baselines import RandomSearch
from fenceline.problems import artificial

RANDOM = Curve("random search", RandomSearch)


def job(directory: Path, curve: Curve = RANDOM, seed: int = 0, seconds: float = 0.1) -> Job:
    return Job(curve, artificial, seed, seconds, directory)


def test_a_run_leaves_only_improvements_inside_its_time(tmp_path):
    run(job(tmp_path))
    found = read(job(tmp_path))
    assert (np.diff(found.objectives) < 0).all()
    assert (np.diff(found.seconds) > 0).all()
    assert found.seconds[-1] < 0.2
    assert found.total_evaluations >= found.evaluations[-1]


def test_settings_stand_beside_the_result_down_to_the_solvers(tmp_path):
    admm = job(tmp_path, Curve("ADMM", partial(ADMM.paper, rho=0.1)))
    run(admm)
    record = json.loads(admm.record.read_text())
    assert record["settings"]["algorithm"]["rho"] == 0.1
    assert record["settings"]["algorithm"]["z"]["type"] == "Bandit"
    assert record["outcome"]["ended"] == "seconds"


def test_a_finished_run_is_not_repeated(tmp_path):
    run_all([job(tmp_path)], 1)
    written = job(tmp_path).part.stat().st_mtime_ns
    run_all([job(tmp_path)], 1)
    assert job(tmp_path).part.stat().st_mtime_ns == written


def test_a_run_with_other_settings_is_repeated(tmp_path):
    run_all([job(tmp_path, Curve("ADMM", partial(ADMM.paper, rho=0.1)))], 1)
    changed = job(tmp_path, Curve("ADMM", partial(ADMM.paper, rho=10.0)))
    assert not changed.done
    with pytest.raises(ValueError, match="other settings"):
        read(changed)
    run_all([changed], 1)
    assert changed.done


def test_jobs_that_share_a_file_are_refused_before_any_runs(tmp_path):
    twice = [job(tmp_path, Curve("a b", RandomSearch)), job(tmp_path, Curve("a,b", RandomSearch))]
    with pytest.raises(ValueError, match="other names"):
        run_all(twice, 1)
    assert not list(tmp_path.iterdir())


def test_a_warm_start_has_a_file_of_its_own():
    assert Curve("A(BO*,Ba)", RandomSearch).slug != Curve("A(BO,Ba)", RandomSearch).slug


def test_processes_write_the_same_kind_of_result(tmp_path):
    jobs = [job(tmp_path, seed=seed) for seed in (0, 1)]
    run_all(jobs, 2)
    assert all(one.done for one in jobs)


def test_a_restarted_search_counts_on_and_stays_on_one_clock(tmp_path):
    falling = itertools.count(0, -1)
    space = artificial(0).space
    ever_better = Problem(space, lambda configuration: {"loss": next(falling)})
    curve = Curve("random search", RandomSearch, restart_after=5)
    restarting = Job(curve, lambda seed: ever_better, 0, 0.3, tmp_path)
    run(restarting)
    found = read(restarting)
    assert found.total_evaluations > 5
    assert found.evaluations.tolist() == list(range(1, found.total_evaluations + 1))
    assert (np.diff(found.seconds) > 0).all()


def test_a_curve_whose_package_is_missing_says_so():
    assert RANDOM.installed
    assert not Curve("absent", RandomSearch, needs="no-such-distribution").installed

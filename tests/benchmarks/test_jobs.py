"""Fits in processes of their own: what is kept, what is run again, what is ended."""

import json
import os
import time
from threading import Event, Thread

import numpy as np
import pytest

from benchmarks import jobs
from benchmarks.jobs import SOURCE, Job, keep, run_all, run_apart

CHILD = """
import os, sys, time
import numpy as np
from benchmarks.jobs import serve

def run(settings, data):
    if settings["do"] == "fail":
        raise ValueError("no such luck")
    if settings["do"] == "hang":
        time.sleep(600)
    if settings["do"] == "die":
        os._exit(3)
    return {"answer": settings["number"] + 1}, {"row": np.arange(3)}

sys.exit(serve(run))
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    (tmp_path / "some_child.py").write_text(CHILD)
    path = os.pathsep.join([str(tmp_path), os.getcwd(), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)

    def make(do="answer", name="one", limit=30.0, number=1, **rest):
        settings = {"do": do, "number": number} | rest
        return Job("some_child", tmp_path / "runs", name, settings, tmp_path, limit)

    return make


def test_a_child_leaves_its_outcome_its_arrays_and_how_crowded_it_was(child):
    job = child()
    run_apart(job)
    assert job.outcome()["answer"] == 2
    assert "pressure" in job.outcome()
    np.testing.assert_array_equal(job.arrays()["row"], [0, 1, 2])
    assert json.loads(job.record.read_text())["settings"] == {"do": "answer", "number": 1}


def test_an_outcome_counts_only_for_its_settings(child):
    run_apart(child())
    assert child(number=2).outcome() is None
    assert child(limit=5.0).outcome() is not None


def test_the_reason_of_a_failure_is_kept(child):
    job = child("fail")
    run_apart(job)
    assert job.outcome()["error"] == "ValueError: no such luck"


def test_a_child_that_dies_is_written_down(child):
    job = child("die")
    run_apart(job)
    assert job.outcome() == {"error": "the process ended with status 3"}


def test_a_child_that_does_not_end_is_ended(child):
    job = child("hang", limit=0.2)
    run_apart(job)
    assert "still running" in job.outcome()["error"]


def test_a_run_that_is_stopped_ends_its_child_and_keeps_nothing(child):
    job, stop = child("hang", limit=600.0), Event()
    thread = Thread(target=run_apart, args=(job, stop))
    start = time.monotonic()
    thread.start()
    stop.set()
    thread.join()
    assert time.monotonic() - start < 60
    assert job.outcome() is None


def test_what_has_run_is_not_run_again(child, monkeypatch):
    ran = []

    def fake(job, stop):
        ran.append(job.name)
        keep(job.record, job.settings, {"pressure": 0.0}, {})

    monkeypatch.setattr(jobs, "run_apart", fake)
    run_all([child(name="one"), child(name="two")], 1)
    run_all([child(name="one"), child(name="two"), child(name="three")], 1)
    assert sorted(ran) == ["one", "three", "two"]


@pytest.mark.parametrize(
    ("timed", "pressure", "again"), [(True, 0.9, True), (True, 0.1, False), (False, 0.9, False)]
)
def test_a_timed_fit_on_a_crowded_machine_does_not_count(
    tmp_path, monkeypatch, timed, pressure, again
):
    ran = []
    monkeypatch.setattr(jobs, "run_apart", lambda job, stop: ran.append(job))
    job = Job("none", tmp_path, "one", {}, tmp_path, 1.0, timed)
    keep(job.record, {}, {"pressure": pressure}, {})
    run_all([job], 1)
    assert (len(ran) == 1) == again
    run_all([job], 1, allow_crowded=True)
    assert len(ran) == again


def test_another_state_of_our_source_is_run_again_but_can_be_reported(tmp_path):
    before = Job("none", tmp_path, "one", {"a": 1, SOURCE: "old"}, tmp_path, 1.0)
    keep(before.record, before.settings, {"score": 1.0}, {})
    now = Job("none", tmp_path, "one", {"a": 1, SOURCE: "new"}, tmp_path, 1.0)
    assert now.outcome() is None
    assert now.outcome(any_source=True) == {"score": 1.0}


def test_the_digest_of_our_source_is_the_same_twice():
    assert jobs.source() == jobs.source() != "not installed"

"""The comparison with FLAML: what it cuts off, what it counts, and what it does not run twice."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks import fences
from benchmarks import fences_oracle as oracle
from benchmarks.fences_fit import measured
from benchmarks.fences_plan import METHODS, SETS, DataSet, Job, bounds_from, split
from benchmarks.fences_tables import feasible, mean_auroc, write_report
from fenceline.metrics.trial import Trial

TOY = DataSet("some/toy", "age", 40.0)


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 400), "income": rng.normal(size=400)})
    frame["target"] = np.where(frame["income"] + rng.normal(size=400) > 0, "yes", "no")
    (tmp_path / "some").mkdir()
    frame.to_csv(tmp_path / "some/toy.csv.gz", index=False)
    return tmp_path


def outcome(auroc=0.9, latency_us=10.0, gap=0.1, **rest):
    return {
        "auroc": auroc, "latency_us": latency_us, "gap": gap, "wall_seconds": 1.0, "evaluations": 3
    } | rest  # fmt: skip


def job(directory, method="flaml", **changes):
    settings = {"dataset": TOY, "seed": 0, "seconds": 1.0, "data": directory, "bounds": {}}
    return Job(method=method, directory=directory / "runs", **(settings | changes))


class OfIncome:
    """Ranks by income, or the older ones the wrong way round."""

    def __init__(self, wrong_from=math.inf):
        self.wrong_from = wrong_from

    def predict_proba(self, X):
        sign = np.where(X["age"] >= self.wrong_from, -1.0, 1.0)
        positive = 1 / (1 + np.exp(-sign * X["income"]))
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        return np.where(self.predict_proba(X)[:, 1] > 0.5, "yes", "no")

    def __sklearn_tags__(self):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression().__sklearn_tags__()


def test_a_split_keeps_a_quarter_of_every_class_and_group_from_both(data):
    table = TOY.load(data)
    train, test = split(table, TOY.gap, 0)
    assert sorted([*train, *test]) == list(range(400))
    for value in ("yes", "no"):
        for old in (False, True):
            cell = np.flatnonzero((table.y == value) & ((table.X["age"] >= 40) == old))
            assert np.isin(cell, test).sum() == pytest.approx(len(cell) / 4, abs=1)
    assert not np.array_equal(test, split(table, TOY.gap, 1)[1])


def test_picks_are_measured_on_unseen_rows_by_the_groups(data, monkeypatch):
    monkeypatch.setattr("benchmarks.fences_fit._APART_SECONDS", 0.0)
    table = TOY.load(data)
    _, test = split(table, TOY.gap, 0)
    fair = measured(OfIncome(), TOY, table, test)
    unfair = measured(OfIncome(wrong_from=40), TOY, table, test)
    assert fair["auroc"] > 0.7
    assert unfair["auroc"] < fair["auroc"]
    assert unfair["gap"] > 0.4 > fair["gap"]
    assert fair["latency_us"] > 0


def test_bounds_cut_off_the_pick_they_come_from():
    pick = outcome(latency_us=12.3456, gap=0.06789)
    bounds = bounds_from(pick, 0.9)
    assert bounds == {"latency_us": 6.17, "gap": 0.0611}
    assert not feasible(pick, bounds)
    assert not feasible(pick, bounds_from(pick, 1.5))
    assert not feasible(outcome(latency_us=6.0, gap=0.07), bounds)
    assert not feasible({"error": "killed"}, bounds)
    assert feasible(outcome(latency_us=6.17, gap=0.06), bounds)


def test_an_outcome_counts_only_for_the_settings_it_was_made_with(tmp_path):
    one = job(tmp_path)
    assert one.outcome is None
    one.keep(outcome())
    assert one.outcome == outcome()
    assert job(tmp_path, seconds=2.0).outcome is None
    assert job(tmp_path, seed=1).outcome is None


def test_what_has_run_is_not_run_again_and_fenced_jobs_take_their_bounds_from_flaml(
    tmp_path, data, monkeypatch
):
    ran = []

    def run_apart(job):
        ran.append((job.method, dict(job.bounds)))
        job.keep(outcome(gap=0.1 if job.method == "flaml" else 0.05, latency_us=4.0))

    monkeypatch.setattr(fences, "run_apart", run_apart)
    monkeypatch.setattr(fences, "SETS", (TOY,))
    arguments = ["--data", str(data), "--out", str(tmp_path / "out"), "--seconds", "1"]
    assert fences.main(arguments) == 1  # a latency of 4 us is twice what is asked for
    closer, wider = ({"latency_us": 2.0, "gap": gap} for gap in (0.09, 0.15))
    bounds = [{}, {}, closer, closer, wider, wider]
    assert ran == list(zip(METHODS, bounds, strict=True))
    fences.main(arguments)
    assert len(ran) == len(METHODS)
    report = (tmp_path / "out/report.md").read_text()
    assert "2, 0.09" in report
    assert "2, 0.15" in report


def test_a_fit_that_does_not_end_is_ended_and_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(fences, "_LATE", 0.0)
    monkeypatch.setattr(fences, "_MINUTE", 0.05)
    one = job(tmp_path)
    fences.run_apart(one)
    assert "still running" in one.outcome["error"]


def test_the_process_of_a_job_keeps_the_reason_of_a_failure(tmp_path):
    one = job(tmp_path, method="fenceline")  # there is no such table
    fences.run_apart(one)
    assert "FileNotFoundError" in one.outcome["error"]


def table_of(flaml, ours, closer, wider):
    runs = {
        "flaml": flaml, "fenceline": ours, "fenceline-fenced": closer, "fenceline-wider": wider
    }  # fmt: skip
    return {"toy": {name: {0: run} for name, run in runs.items()}}


FENCE = {"bounds": {"latency_us": 5.0, "gap": 0.09}}
INSIDE = outcome(latency_us=4.0, gap=0.05, auroc=0.8, certificate="certified") | FENCE
OUTSIDE = outcome(latency_us=4.0, gap=0.095) | FENCE


def test_the_report_judges_all_targets(tmp_path):
    def report(ours, closer, wider):
        return write_report(tmp_path, table_of(outcome(), ours, closer, wider), 120.0, "")

    text, met = report(outcome(auroc=0.8985), INSIDE, INSIDE)
    assert met
    assert "-0.0015 from FLAML's; at least -0.002 is the target: met" in text
    assert text.count("of 1: FLAML, free 0, FLAML, told 0, Fenceline 1 (1 certified)") == 2
    assert not report(outcome(auroc=0.8975), INSIDE, INSIDE)[1]
    assert not report(outcome(), OUTSIDE, INSIDE)[1]
    text, met = report(outcome(), INSIDE, OUTSIDE)
    assert not met
    assert "Fenceline 0 (0 certified)" in text
    rows = pd.read_csv(tmp_path / "runs.csv")
    assert rows["method"].tolist() == ["flaml", "fenceline", "fenceline-fenced", "fenceline-wider"]


def test_a_failed_fit_is_no_reason_for_a_better_mean(tmp_path):
    assert math.isnan(mean_auroc({0: outcome(), 1: {"error": "killed"}}))
    outcomes = table_of(outcome(), {"error": "killed"}, INSIDE, INSIDE)
    text, met = write_report(tmp_path, outcomes, 9.0, "")
    assert not met
    assert "nan from FLAML's; at least -0.002 is the target: missed" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seconds", "0"], "must be positive"),
        (["--publish", "--seconds", "10"], "publish all six tables"),
        (["--data", "no/such/place"], "there is no directory"),
        (["--sets", "iris"], "invalid choice"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(arguments, words, capsys):
    with pytest.raises(SystemExit):
        fences.options(arguments)
    assert words in capsys.readouterr().err


def test_there_are_six_tables_and_files_do_not_collide(tmp_path):
    assert len({dataset.name for dataset in SETS}) == 6
    records = {job(tmp_path, method=method).record for method in METHODS}
    assert len(records) == len(METHODS)
    one = job(tmp_path)
    one.keep(outcome())
    assert json.loads(one.record.read_text())["settings"]["set"] == "toy"


def test_with_the_truth_in_hand_every_pipeline_inside_is_tested_alone_and_judged(data):
    table = TOY.load(data)
    train, test = split(table, TOY.gap, 0)
    fenced = job(data, "fenceline-wider", bounds={"latency_us": 1e4, "gap": 0.9})
    model = oracle.search(fenced, table, train, 4)
    found = oracle.judge(model, table, train, test, TOY)
    assert len(found) == sum(e.feasible for e in model.result_.full)
    assert all(one.certified and 0.6 < one.auroc < 1.0 and one.gap < 0.9 for one in found)
    # What was delivered is one of them, fitted on the same rows.
    ours = TOY.gap.value(Trial(model.best_pipeline_, table, test))
    assert min(abs(ours - one.gap) for one in found) == pytest.approx(0.0, abs=1e-9)


def test_an_oracle_needs_flamls_run(data, capsys):
    with pytest.raises(SystemExit):
        oracle.main(["--runs", str(data / "none"), "--sets", "churn", "--evaluations", "3"])
    assert "run make bench-fences" in capsys.readouterr().err

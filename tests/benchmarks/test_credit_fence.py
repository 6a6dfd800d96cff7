import csv
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.credit_bounds import PAPER, SUITED
from benchmarks.credit_fence import Seed, main, run
from benchmarks.credit_findings import Found, findings, found_at, lead
from benchmarks.credit_problem import Fence, Remembered, load, space
from benchmarks.harness import keep

INF = math.inf
CONFIGURATION = space().decode(space().first, space().centre)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Clients whose limit tells a little about whether they default."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["LIMIT_BAL", "PAY_0", "BILL_AMT1"])
    frame["AGE"] = rng.integers(21, 70, len(frame))
    frame["target"] = (frame["LIMIT_BAL"] + rng.normal(size=len(frame)) > 0).astype(int)
    path = tmp_path_factory.mktemp("clients") / "clients.csv.gz"
    frame.to_csv(path, index=False)
    return path


class Measure:
    """Counts its calls; every one gives another value."""

    metrics = ("loss",)

    def __init__(self, fails=False):
        self.calls = 0
        self.fails = fails

    def __call__(self, configuration):
        self.calls += 1
        if self.fails:
            raise ValueError("too few columns")
        return {"loss": float(self.calls), "loss/fold1": 0.0}


def test_a_pipeline_has_the_same_values_for_every_search(tmp_path):
    measure = Measure()
    for _ in range(2):  # the second is another process, as it were
        remembered = Remembered(measure, tmp_path / "measured.jsonl")
        assert [remembered(CONFIGURATION) for _ in range(2)] == [{"loss": 1.0}] * 2
    assert measure.calls == 1


def test_a_failure_is_remembered_too(tmp_path):
    measure = Measure(fails=True)
    for _ in range(2):
        remembered = Remembered(measure, tmp_path / "measured.jsonl")
        with pytest.raises(RuntimeError, match="ValueError: too few columns"):
            remembered(CONFIGURATION)
    assert measure.calls == 1


def test_a_line_cut_short_costs_one_measurement_and_spoils_no_other(tmp_path):
    path = tmp_path / "measured.jsonl"
    Remembered(Measure(), path)(CONFIGURATION)
    path.write_text(path.read_text()[:-5])
    measure = Measure()
    Remembered(measure, path)(CONFIGURATION)
    assert measure.calls == 1
    Remembered(measure, path)(CONFIGURATION)
    assert measure.calls == 1


def test_a_search_is_filtered_by_the_fence():
    searches = [[(0.2, 9.0, 0.01), (0.3, 5.0, 0.02), (0.1, 5.0, 0.09)], [(0.2, 9.0, 0.5)] * 2]
    found = found_at(Fence(2.0, 0.02), searches, simplest_us=3.0)
    assert found == Found([0.3, INF], [1 / 3, 0.0])


def test_failed_pipelines_are_outside():
    assert found_at(Fence(2.0, 0.02), [[(INF, INF, INF)]], 3.0) == Found([INF], [0.0])


@pytest.mark.parametrize(
    ("cst", "ucst", "expected"), [(0.2, 0.3, 0.1), (INF, INF, 0.0), (0.2, INF, INF)]
)
def test_the_lead_counts_nothing_found_as_worst(cst, ucst, expected):
    assert lead(Found([cst], [1.0]), Found([ucst], [1.0])) == pytest.approx(expected)


def test_findings_hold_and_fail_by_the_medians():
    def rows(*pairs):
        return [(Fence(1.0, 0.1), Found([a], [0.5]), Found([b], [0.1])) for a, b in pairs]

    good = findings({"t_p": rows((0.2, INF), (0.2, 0.3))})
    assert [": holds" in line for line in good] == [True, True, True]
    tied = findings({"t_p": rows((0.2, 0.3), (0.2, 0.2))})
    assert ": does not hold (lower median at 1 of 2 bounds, the same at 1, higher at 0)" in tied[0]
    worse = findings({"d_I": rows((0.2, 0.3), (0.2, 0.5))})
    assert "as d_I relaxes: does not hold" in worse[1]


def test_the_two_series_cross_in_one_fence():
    assert len(SUITED.fences) == sum(map(len, SUITED.series.values())) - 1


def test_the_papers_bounds_are_its_own_microseconds_and_five_age_groups(data):
    assert [f.latency for f in PAPER.series["t_p"]] == [1, 5, 10, 15, 20]
    assert {f.latency for f in PAPER.series["d_I"]} == {10}
    table = load(data, 400, PAPER.ages)
    assert set(np.digitize(table.X["AGE"], PAPER.ages)) == {0, 1, 2, 3, 4}


def test_ages_and_defaults_keep_their_shares(data):
    whole, part = load(data, 400), load(data, 200)
    assert len(part.y) == 200
    assert part.y.mean() == pytest.approx(whole.y.mean(), abs=0.01)


def test_missing_data_are_told_with_the_way_out(tmp_path):
    with pytest.raises(SystemExit, match="--data"):
        load(tmp_path / "nowhere.csv", 10)


def test_a_seed_that_has_no_time_left_writes_nothing(data, tmp_path):
    job = Seed(0, 2, 200, 3.0, data, tmp_path, until=0.0)
    run(job)
    assert not job.part.exists()


def test_a_seed_that_is_interrupted_writes_nothing(data, tmp_path, monkeypatch):
    def interrupt(self, configuration):
        raise KeyboardInterrupt

    monkeypatch.setattr(Remembered, "__call__", interrupt)
    job = Seed(0, 2, 200, 3.0, data, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(job)
    assert not job.part.exists()


def test_results_for_other_fences_are_not_shown(data, tmp_path):
    job = Seed(0, 2, 200, 3.0, data, tmp_path)
    keep(job, {}, ("search",), [])
    assert job.there
    assert job.done
    assert not replace(job, simplest_us=4.0).there


def test_a_small_run_writes_table_and_figure_and_goes_on_where_it_was(data, tmp_path, capsys):
    arguments = ["--data", str(data), "--rows", "200", "--evaluations", "2", "--seeds", "1"]
    arguments += ["--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "2 evaluations, 1 run seeds, 200 clients" in capsys.readouterr().out
    with (tmp_path / "credit-fence.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * sum(map(len, SUITED.series.values()))
    # The searches of one seed begin alike, and their first pipelines are measured once.
    lines = (tmp_path / "runs/measured0.jsonl").read_text().splitlines()
    assert len([line for line in lines if line]) == 2
    with (tmp_path / "runs/seed0.csv").open(newline="") as file:
        assert {float(row["loss"]) < 1 for row in csv.DictReader(file)} == {True}
    assert (tmp_path / "credit-fence.png").exists()
    assert main(arguments) == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().out

"""AutoML at equal wall time: rows, scores, what is compared with what."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from benchmarks.automl import command
from benchmarks.automl.baselines import hgb
from benchmarks.automl.plan import METHODS, jobs_of
from benchmarks.automl.report import Results, Run, write_report
from benchmarks.automl.rows import load
from benchmarks.automl.scores import of_dummy, paired, score
from benchmarks.automl.verdicts import floor_verdicts, is_behind, rival_verdicts
from benchmarks.catalogue import Entry

TOY = Entry("meta/toy", 800, "binary")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data(tmp_path, rng):
    frame = pd.DataFrame({"size": rng.normal(size=800), "kind": rng.choice(["a", "b"], 800)})
    frame.loc[::50, "kind"] = None
    noise = rng.normal(scale=0.5, size=800)
    frame["target"] = np.where(frame["size"] + noise > 0, "yes", "no")
    (tmp_path / "meta").mkdir()
    frame.to_csv(tmp_path / "meta/toy.csv.gz", index=False)
    (tmp_path / "README.md").write_text(
        "| meta/toy.csv.gz | 800 | 2 (1) | 16 | 2 (no:400, yes:400) | here | free | |\n"
    )
    return tmp_path


def split(data, seed=0):
    return load(data / "meta/toy.csv.gz", "binary", seed)


def test_a_quarter_of_the_rows_is_kept_from_everybody(data):
    one, other = split(data), split(data, 1)
    assert len(one.X) == 600
    assert len(one.unseen) == len(one.truth) == len(one.rows) == 200
    assert one.truth.mean() == pytest.approx(one.y.mean(), abs=0.01)
    assert not np.array_equal(one.rows, other.rows)


def test_codes_are_learnt_from_rows_that_may_be_seen(data):
    one = split(data)
    one.unseen.loc[0, "kind"] = "new"
    X, unseen, categories = one.codes()
    assert categories == [False, True]
    assert set(X["kind"].dropna()) == {0.0, 1.0}
    assert X["kind"].isna().sum() == one.X["kind"].isna().sum() > 0
    assert np.isnan(unseen.loc[0, "kind"])


def test_plain_boosting_learns_the_table(data):
    one = split(data)
    found, _ = hgb(one, 0, 0)
    assert found.shape == (200, 2)
    assert score("binary", one.truth, found) > 0.85


def test_scores_are_those_of_scikit_learn(rng):
    truth = rng.integers(0, 2, 300)
    ties = np.round(rng.random(300) + 0.3 * truth, 1)
    assert score("binary", truth, ties) == pytest.approx(roc_auc_score(truth, ties))
    three = rng.integers(0, 3, 300)
    shares = rng.dirichlet(np.ones(3), 300)
    assert score("multiclass", three, shares) == pytest.approx(-log_loss(three, shares))
    numbers = rng.normal(size=300)
    guess = numbers + rng.normal(size=300)
    assert score("regression", numbers, guess) == pytest.approx(r2_score(numbers, guess))
    constant = np.tile(np.bincount(three) / 300, (300, 1))
    assert of_dummy("multiclass", three) == pytest.approx(score("multiclass", three, constant))


def test_one_sure_mistake_does_not_make_a_log_loss_infinite():
    assert score("multiclass", np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]])) > -10


def test_the_error_of_a_paired_difference_is_that_of_repeated_samples(rng):
    # Squared errors that differ by a normal amount: the error of their mean is known.
    truth = rng.normal(size=4000)
    one, other = truth + rng.normal(size=4000), truth + rng.normal(size=4000)
    difference, error = paired("regression", truth, one, other)
    assert difference == pytest.approx(r2_score(truth, one) - r2_score(truth, other))
    assert error == pytest.approx(2 / np.sqrt(4000), rel=0.2)
    assert paired("regression", truth, one, one) == (0.0, 0.0)


def test_methods_take_turns_and_default_boosters_run_once(tmp_path):
    methods = [METHODS[name] for name in ("hgb", "fenceline", "flaml", "fenceline-votes")]
    found = jobs_of([TOY], methods, (10, 60), seed=3, data=tmp_path, out=tmp_path)
    assert [(j.settings["method"], j.settings["seconds"]) for j in found] == [
        ("hgb", 0), ("fenceline", 10), ("flaml", 10),
        ("fenceline", 60), ("flaml", 60), ("fenceline-votes", 60),
    ]  # fmt: skip
    assert [job.timed for job in found] == [False, True, True, True, True, True]
    assert ["source" in job.settings for job in found] == [False, True, False, True, False, True]
    assert len({job.record for job in found}) == len(found)


def test_a_method_whose_environment_is_missing_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not jobs_of([TOY], [METHODS["tpot"]], (10,), seed=0, data=tmp_path, out=tmp_path)


def results(scores, error=None):
    """Runs whose predictions rank so well: the share of pairs in the right order."""
    truth = np.repeat([0, 1], 500)
    rng = np.random.default_rng(0)
    base = rng.normal(size=1000)
    runs = []
    for (method, budget), shift in scores.items():
        predicted = base + shift * truth
        value = score("binary", truth, predicted)
        outcome = {"score": value, "wall_seconds": float(budget)}
        runs.append(Run("toy", method, budget, value, outcome, truth, predicted))
    return Results.of([TOY], runs), runs


def verdict(found, words):
    return next(v for v in found if words in v.asked)


def test_a_table_behind_plain_boosting_by_more_than_chance_is_counted():
    found, _ = results({("hgb", 0): 2.0, ("fenceline", 60): 1.0, ("fenceline", 10): 2.1})
    floor = list(floor_verdicts(found))
    assert verdict(floor, "at 60 s at most").met is False
    assert "toy" in verdict(floor, "at 60 s at most").measured
    assert verdict(floor, "at 10 s at most").met
    assert verdict(floor, "mean difference at 10 s").met


@pytest.mark.parametrize(
    ("task", "difference", "error", "behind"),
    [
        ("binary", -0.006, 0.002, True),
        ("binary", -0.006, 0.004, False),
        ("binary", -0.004, 0.0, False),
        ("regression", -0.009, 0.0, False),
        ("multiclass", -0.009, 0.0, False),
        ("multiclass", -0.011, 0.0, True),
    ],
)
def test_behind_means_more_than_is_allowed_and_more_than_two_errors(
    task, difference, error, behind
):
    assert is_behind(task, difference, error, -0.5) == behind


def test_flamls_final_score_is_reached_at_the_smallest_budget_that_has_it():
    ours = {("fenceline", 10): 1.0, ("fenceline", 30): 1.6, ("fenceline", 60): 1.7}
    found, _ = results(ours | {("flaml", 60): 1.5, ("flaml", 30): 1.4, ("flaml", 10): 1.3})
    judged = list(rival_verdicts(found))
    assert verdict(judged, "final score").measured == "0.50"
    assert verdict(judged, "55%").met
    assert verdict(judged, "normalised score at 10 s").met is False
    assert verdict(judged, "mean rank of single-model searches at 60 s").met
    assert verdict(judged, "AutoGluon").met is None


def test_a_failure_counts_as_a_constant():
    found, runs = results({("fenceline", 60): 1.0})
    failed = Run("toy", "flaml", 60, float("nan"), {"error": "killed"}, None, None)
    found = Results.of([TOY], [*runs, failed])
    assert found.score(TOY, "flaml", 60) == 0.5
    assert found.normalised("flaml", 60) == 0.0
    assert verdict(rival_verdicts(found), "55%").met


def test_rows_that_differ_are_not_compared():
    _, runs = results({("fenceline", 60): 1.0, ("hgb", 0): 1.0})
    other = Run("toy", "hgb", 0, 0.5, {}, 1 - runs[1].truth, runs[1].predicted)
    with pytest.raises(ValueError, match="kept other rows of toy"):
        Results.of([TOY], [runs[0], other]).difference(TOY, 60, "fenceline", "hgb")


def test_the_report_names_failures_and_all_tables(tmp_path):
    _, runs = results({("fenceline", 60): 1.0, ("hgb", 0): 1.0})
    failed = Run("toy", "flaml", 60, float("nan"), {"error": "killed"}, None, None)
    text, met = write_report(tmp_path, [TOY], [*runs, failed], "A trial.")
    assert not met
    assert "- toy, flaml, 60 s: killed" in text
    assert "| toy | 800 | AUROC |" in text
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 3


def test_the_command_runs_resumes_and_reports(data, tmp_path, capsys):
    arguments = ["--data", str(data), "--out", str(tmp_path / "out"), "--methods", "hgb"]
    assert command.main([*arguments, "--tables", "toy", "--jobs", "1"]) == 1
    record = tmp_path / "out/runs/toy-hgb-0s-seed0.json"
    written = record.stat().st_mtime_ns
    command.main([*arguments, "--tables", "toy", "--report-only"])
    assert record.stat().st_mtime_ns == written
    assert "Seed 0: 1 tables (rows): toy (800)." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tables", "iris"], "there is no table 'iris'"),
        (["--jobs", "0"], "must be at least 1. Got 0."),
        (["--budgets", "7"], "invalid choice"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(data, arguments, words, capsys):
    with pytest.raises(SystemExit):
        command.options(["--data", str(data), *arguments])
    assert words in capsys.readouterr().err

"""Boosters that the held-out rows of each fold tell when to stop."""

from dataclasses import replace

import numpy as np
import pytest

from fenceline import metrics
from fenceline.evaluation.engines.engine import Outcome
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, named_space, preparation
from fenceline.pipelines.ensemble import Candidate, assemble
from fenceline.pipelines.fitting import prefix
from fenceline.pipelines.fitting import trees as trees_of_a_fit
from fenceline.pipelines.fitting.trees import affordable, told_by_held_out
from fenceline.pipelines.fold_votes import fitting
from fenceline.pipelines.spaces.operators import EXTRAS, Setting, installed, make
from fenceline.problem.configuration import Choice
from fenceline.problem.problem import Problem

pytestmark = pytest.mark.skipif(
    not installed(EXTRAS["LightGBM"]), reason="LightGBM does not load: the system has no OpenMP"
)

MOST = 400
SETTINGS = {
    "learning_rate": 0.2,
    "n_estimators": MOST,
    "num_leaves": 7,
    "min_child_samples": 10,
    "colsample_bytree": 0.7,
    "subsample": 0.7,
    "reg_lambda": 1.0,
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
TARGETS = {
    "binary": (X[:, 0] + RNG.normal(size=900) > 0).astype(int),
    "multiclass": np.array(["low", "mid", "top"])[
        np.digitize(X[:, 0] + RNG.normal(size=900), [-0.5, 0.5])
    ],
    "regression": X[:, 0] + RNG.normal(size=900),
}
SCORES = {"binary": "roc_auc", "multiclass": "neg_log_loss", "regression": "r2"}


def configured(stops=True, task="binary", **changes):
    params = SETTINGS | {"early_stopping": stops} | changes
    plain = {"scaler": ("none", {}), "selector": ("none", {})}
    space = named_space("default", task)
    return space.configuration({**plain, "estimator": ("LightGBM", params)})


def measuring(task="binary", table=None):
    table = table or Table(X, TARGETS[task], task)
    return CrossValidation(table, {"loss": metrics.loss(SCORES[task])}, preparation=preparation(X))


def trees(trial):
    return trial.pipeline[-1].booster_.num_trees()


@pytest.mark.parametrize("task", TARGETS)
def test_folds_stop_and_the_last_fit_has_their_trees_and_every_row(task):
    measure, chosen = measuring(task), configured(task=task)
    measured = measure(chosen).metrics
    found = measured["stopped_after"]
    assert found < MOST / 2
    assert measured["warnings"] == 0
    assert "stopped_after" not in measure(configured(False, task)).metrics
    every = np.arange(900)
    last = measure.trial(chosen, every, every[:0], found)
    outputs = 3 if task == "multiclass" else 1
    assert trees(last) == round(found) * outputs
    # Nothing is left that would need such rows again.
    assert "early_stopping_round" not in last.pipeline[-1].get_params()


def test_stopping_in_time_is_better_than_all_the_trees():
    measure = measuring()
    assert measure(configured())["loss"] < measure(configured(False))["loss"] - 0.01


def test_rows_that_certify_never_tell_when_to_stop():
    train, valid = np.arange(600), np.arange(600, 900)
    other = TARGETS["binary"].copy()
    other[valid] = 1 - other[valid]
    tables = [Table(X, y, "binary") for y in (TARGETS["binary"], other)]
    measures = [measuring(table=table) for table in tables]

    def answers(trials):
        return [trial.pipeline.predict_proba(X)[:, 1] for trial in trials]

    told, misled = answers(m.fold(configured(), train, valid) for m in measures)
    assert not np.array_equal(told, misled)
    one, same = answers(m.trial(configured(), train, valid) for m in measures)
    np.testing.assert_array_equal(one, same)
    one, same = answers(m.trial(configured(), train, valid, 9) for m in measures)
    np.testing.assert_array_equal(one, same)


def test_held_out_rows_count_as_much_as_they_weigh():
    train, valid = np.arange(600), np.arange(600, 900)
    wrong = TARGETS["binary"].copy()
    wrong[valid[:150]] = 1 - wrong[valid[:150]]
    weights = np.ones(900)
    weights[valid[:150]] = 1e-9
    found = [
        measuring(table=Table(X, y, "binary", weights=w)).fold(configured(), train, rows).trees
        for y, w, rows in (
            (wrong, weights, valid),
            (TARGETS["binary"], np.ones(900), valid[150:]),
            (wrong, np.ones(900), valid),
        )
    ]
    assert found[0] == found[1]
    assert found[2] < found[0]


def test_a_class_that_only_held_out_rows_have_does_not_stop_the_fit():
    target = TARGETS["multiclass"].copy()
    train, valid = np.arange(600), np.arange(600, 900)
    target[train] = np.where(target[train] == "top", "mid", target[train])
    measure = measuring(table=Table(X, target, "multiclass"))
    assert measure.fold(configured(task="multiclass"), train, valid).trees >= 1


def test_fits_that_vote_have_the_trees_of_the_folds():
    measure = measuring()
    found = measure(configured()).metrics["stopped_after"]
    every = np.arange(900)
    votes = fitting(measure, measure.table, every, votes=True)
    fits = votes.trial(configured(), every, every[:0], found).pipeline.estimators_
    assert [fit[-1].booster_.num_trees() for fit in fits] == 3 * [round(found)]


def test_each_member_of_a_committee_has_the_trees_that_it_had_in_the_folds():
    # Half a sum, half a product: a booster and a linear model are better together.
    inputs = np.random.default_rng(1).normal(size=(1500, 6))
    score = (
        inputs.sum(axis=1)
        + inputs[:, 0] * inputs[:, 1]
        + np.random.default_rng(2).normal(size=1500)
    )
    measure = measuring(table=Table(inputs, (score > 0) + 0, "binary"))
    problem = Problem(named_space("default", "binary"), measure, "loss")
    linear = {**configured(), "estimator": ("LogisticRegression", {"C": 1.0, "class_weight": None})}
    chosen = [configured(), problem.space.configuration(linear)]
    evaluations = [problem.evaluation(c, Outcome("ok", seconds=0.1), measure(c)) for c in chosen]
    found = evaluations[0].metrics["stopped_after"]
    assert Candidate.alone(evaluations[0]).trees == {chosen[0]: found}
    assert Candidate.alone(evaluations[1]).trees == {}
    committee = assemble(problem, measure, evaluations, 5, np.inf)
    assert committee is not None
    assert committee.trees == {chosen[0]: found}
    every = np.arange(1500)
    fitted = committee.fit(measure, every, every[:0]).pipeline
    at = list(dict.fromkeys(committee.members)).index(chosen[0])
    assert fitted.estimators_[at][-1].booster_.num_trees() == round(found)


def test_how_long_it_takes_is_asked_without_held_out_rows(monkeypatch):
    seen = []

    def fit_model(model, X, y, weights):
        seen.append(model.get_params().get("early_stopping_round"))
        return model

    monkeypatch.setattr(trees_of_a_fit, "fit_model", fit_model)
    monkeypatch.setattr(trees_of_a_fit, "QUICK", 0.0)
    setting = Setting("binary", 600, 3, held_out=True)
    model = make("LightGBM", SETTINGS | {"early_stopping": True}, setting)
    assert model.get_params()["early_stopping_round"] > 10
    affordable(model, X, TARGETS["binary"], None, 1e-9, 1)
    assert seen
    assert not any(seen)


def test_without_time_for_more_trees_it_still_stops(monkeypatch):
    monkeypatch.setattr(prefix, "affordable", lambda *_: 7)
    slow = replace(measuring(), fold_seconds=8.0)
    assert slow(configured()).metrics["stopped_after"] <= 7
    assert slow(configured(learning_rate=0.5, num_leaves=100)).metrics["stopped_after"] < 7


def test_which_pipelines_are_told_is_known_from_their_choices():
    assert told_by_held_out(configured())
    assert not told_by_held_out(configured(False))
    assert not told_by_held_out({"estimator": Choice("LightGBM", SETTINGS)})
    booster = Choice("HistGradientBoosting", {"early_stopping": True})
    assert not told_by_held_out({"estimator": booster})

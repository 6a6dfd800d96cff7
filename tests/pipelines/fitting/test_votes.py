"""One model fitted several times: on which rows, who gains by it, and what comes of it."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenceline.pipelines.fitting.votes import (
    PARTS,
    fit_votes,
    fits_that_vote,
    gains_by_votes,
    voting_model,
)
from fenceline.pipelines.spaces.default import default_space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
NUMBERS = X[:, 0] + RNG.normal(size=200)
CLASSES = np.where(NUMBERS > 0, "yes", "no")


class Remembers(DummyRegressor):
    """Keeps what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.weights_ = X[:, 0].astype(int), sample_weight
        return super().fit(X, y, sample_weight)


class RemembersClasses(DummyClassifier):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].astype(int)
        return super().fit(X, y, sample_weight)


def numbered(rows):
    return np.arange(rows, dtype=float).reshape(-1, 1)


def test_every_row_is_left_out_once():
    voter = fit_votes(Remembers(), numbered(80), np.zeros(80), None, PARTS, seed=0)
    seen = np.bincount(np.concatenate([fit.rows_ for fit in voter.estimators_]), minlength=80)
    assert set(seen) == {PARTS - 1}


def test_fewer_votes_leave_out_no_more_rows_each():
    voter = fit_votes(Remembers(), numbered(80), np.zeros(80), None, 4, seed=0)
    assert [len(fit.rows_) for fit in voter.estimators_] == [70] * 4


def test_weights_go_with_their_rows():
    weights = np.arange(1.0, 81.0)
    voter = fit_votes(Remembers(), numbered(80), np.zeros(80), weights, 4, seed=0)
    for fit in voter.estimators_:
        np.testing.assert_array_equal(fit.weights_, fit.rows_ + 1)


def test_a_class_of_few_rows_is_in_every_fit():
    y = np.array(["common"] * 78 + ["rare"] * 2)
    voter = fit_votes(RemembersClasses(), numbered(80), y, None, PARTS, seed=0)
    assert all({78, 79} <= set(fit.rows_) for fit in voter.estimators_)
    assert list(voter.classes_) == ["common", "rare"]


def test_answers_are_the_mean_of_the_fits():
    booster = HistGradientBoostingClassifier(max_iter=5, max_features=0.5, random_state=3)
    voter = fit_votes(booster, X, CLASSES, None, 4, seed=3)
    expected = np.mean([fit.predict_proba(X) for fit in voter.estimators_], axis=0)
    np.testing.assert_allclose(voter.predict_proba(X), expected)
    assert set(voter.predict(X)) == {"no", "yes"}
    numbers = fit_votes(HistGradientBoostingRegressor(max_iter=5), X, NUMBERS, None, 4, seed=3)
    expected = np.mean([fit.predict(X) for fit in numbers.estimators_], axis=0)
    np.testing.assert_allclose(numbers.predict(X), expected)


def test_the_same_seed_makes_the_same_fits_and_each_fit_has_its_own():
    booster = HistGradientBoostingClassifier(max_iter=5, max_features=0.5)
    one, other = (fit_votes(booster, X, CLASSES, None, 4, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert [fit.random_state for fit in one.estimators_] == [7, 8, 9, 10]


def test_fits_are_told_from_pipelines_that_vote():
    booster = HistGradientBoostingClassifier(max_iter=2)
    voter = fit_votes(booster, X, CLASSES, None, 5, seed=0)
    assert fits_that_vote(voter) == 5
    assert fits_that_vote(make_pipeline(StandardScaler().fit(X), voter)) == 5
    models = [LogisticRegression().fit(X, CLASSES) for _ in range(2)]
    assert fits_that_vote(voting_model(models, np.array(["no", "yes"]), [1, 1])) == 1
    assert fits_that_vote(models[0]) == 1


@pytest.mark.parametrize(
    ("algorithm", "task", "gains"),
    [
        ("HistGradientBoosting", "binary", True),
        ("HistGradientBoosting", "regression", True),
        ("MLP", "multiclass", True),
        ("MLP", "regression", False),  # one fit that has not converged spoils the mean
        ("LogisticRegression", "binary", False),
        ("RandomForest", "binary", False),
        ("KNeighbors", "regression", False),
    ],
)
def test_boosters_gain_by_votes_and_steady_models_do_not(algorithm, task, gains):
    space = default_space(task)
    rng = np.random.default_rng(0)
    chosen = next(
        c for c in (space.sample(rng) for _ in range(500)) if c["estimator"].algorithm == algorithm
    )
    assert gains_by_votes(chosen, task) is gains

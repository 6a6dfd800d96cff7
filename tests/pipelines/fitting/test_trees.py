"""Fits that end in time: a clock that counts trees stands in for the real one."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression

from fenceline.pipelines.fitting import trees
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.trees import affordable, stopped_after, with_trees

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
BEGIN, TREE = 1.0, 0.5


@pytest.fixture
def fitted(monkeypatch):
    """A clock by which a fit takes `BEGIN` and `TREE` for each tree; returns the trees that were fitted."""
    now, seen = [0.0], []

    def fit(model, X, y, weights):
        names = model.get_params()
        count = names.get("max_iter", names.get("n_estimators"))
        seen.append(names.get("estimator__n_estimators") if count is None else count)
        now[0] += BEGIN + TREE * seen[-1]
        return model

    monkeypatch.setattr(trees, "fit_model", fit)
    monkeypatch.setattr(trees.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(trees, "QUICK", 0.0)
    return seen


MODELS = (
    HistGradientBoostingClassifier(max_iter=100),
    HistGradientBoostingRegressor(max_iter=100, early_stopping=True),
    ExtraTreesClassifier(n_estimators=100),
    EncodedLabels(ExtraTreesClassifier(n_estimators=100)),
)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_slow_model_has_as_many_trees_as_there_is_time_for(fitted, model):
    found = affordable(model, X, Y, None, 20.0, 1)
    assert BEGIN + TREE * found <= 20.0 < BEGIN + TREE * found / 0.8
    assert max(fitted) < 10  # asking costs little


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_model_that_ends_in_time_has_all_its_trees(fitted, model):
    assert affordable(model, X, Y, None, 500.0, 1) is None


def test_there_is_always_one_tree(fitted):
    assert affordable(MODELS[0], X, Y, None, 0.01, 1) == 1


def test_small_fits_and_models_without_trees_are_not_timed(fitted, monkeypatch):
    assert affordable(LogisticRegression(max_iter=10**6), X, Y, None, 0.01, 1) is None
    monkeypatch.setattr(trees, "QUICK", 100 * 60.0)
    assert affordable(MODELS[0], X, Y, None, 1.0, 1) is None
    assert fitted == []
    assert affordable(MODELS[0], X, Y, None, 1.0, 3) is not None  # each class has its own trees


def test_trees_that_were_counted_leave_nothing_to_stop():
    exact = with_trees(HistGradientBoostingClassifier(max_iter=50, early_stopping=True), 7.4)
    assert (exact.max_iter, exact.early_stopping) == (7, False)
    limited = with_trees(
        HistGradientBoostingClassifier(max_iter=50, early_stopping=True), 7, exactly=False
    )
    assert (limited.max_iter, limited.early_stopping) == (7, True)
    assert with_trees(EncodedLabels(ExtraTreesClassifier()), 9).estimator.n_estimators == 9
    linear = LogisticRegression(max_iter=50)
    assert with_trees(linear, 3).max_iter == 50


def test_only_a_booster_that_stops_by_itself_says_when():
    stops = HistGradientBoostingClassifier(max_iter=30, early_stopping=True, n_iter_no_change=2)
    assert stopped_after(stops.fit(X, Y)) == stops.n_iter_
    assert stopped_after(HistGradientBoostingClassifier(max_iter=3).fit(X, Y)) is None

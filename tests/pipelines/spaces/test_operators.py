"""Operators that are made to measure: what the rows that reach them decide."""

import numpy as np
import pytest

from fenceline.pipelines.spaces.operators import Setting, make

MLP = {"depth": 2, "nodes": 16}


@pytest.mark.parametrize(
    ("algorithm", "task", "spare_rows", "stops"),
    [
        ("MLP", "binary", True, True),
        ("MLP", "regression", True, True),
        ("MLP", "binary", False, False),
        ("HistGradientBoosting", "binary", True, True),
        ("HistGradientBoosting", "multiclass", True, True),
        ("HistGradientBoosting", "binary", False, False),
        ("HistGradientBoosting", "regression", True, True),
        ("HistGradientBoosting", "regression", False, False),
    ],
)
def test_a_part_of_many_rows_tells_when_to_stop(algorithm, task, spare_rows, stops):
    params = MLP if algorithm == "MLP" else {}
    model = make(algorithm, params, Setting(task, 9999, 3, spare_rows=spare_rows))
    assert model.early_stopping is stops


@pytest.mark.parametrize(("algorithm", "params"), [("MLP", MLP), ("HistGradientBoosting", {})])
@pytest.mark.parametrize("stops", [True, False])
def test_a_space_may_decide_about_early_stopping_itself(algorithm, params, stops):
    setting = Setting("binary", 9999, 3, spare_rows=not stops)
    model = make(algorithm, params | {"early_stopping": stops}, setting)
    assert model.early_stopping is stops


def test_layers_of_a_network_have_as_many_nodes_each():
    assert make("MLP", MLP, Setting("binary", 9999, 3)).hidden_layer_sizes == (16, 16)


def test_boosting_does_not_stop_early_where_a_class_has_no_row_to_spare():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.r_[np.zeros(59), 1]
    setting = Setting("binary", 60, 2, rare_class=True)
    model = make("HistGradientBoosting", {"early_stopping": True, "max_iter": 5}, setting)
    assert model.fit(X, y).n_iter_ == 5


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_where_boosting_stops_does_not_depend_on_the_unit_of_the_numbers(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = scale * (X[:, 0] + 0.3 * rng.normal(size=400))
    setting = Setting("regression", 400, 3)
    model = make("HistGradientBoosting", {"early_stopping": True, "max_iter": 300}, setting)
    assert 30 < model.fit(X, y).n_iter_ < 200


@pytest.mark.parametrize(
    ("setting", "solver"),
    [
        (Setting("binary", 2000, 200), "newton-cholesky"),
        (Setting("binary", 1999, 200), "lbfgs"),  # too few rows for each column
        (Setting("binary", 9999, 201), "lbfgs"),
        (Setting("multiclass", 2000, 20), "lbfgs"),
        (Setting("binary", 2000, 20, sparse=True), "lbfgs"),
    ],
)
def test_logistic_regression_takes_newtons_steps_where_columns_are_few(setting, solver):
    assert make("LogisticRegression", {"C": 1.0}, setting).solver == solver


def test_a_space_may_decide_about_the_solver_itself():
    chosen = make("LogisticRegression", {"solver": "liblinear"}, Setting("binary", 2000, 20))
    assert chosen.solver == "liblinear"


def test_logistic_regression_does_not_mind_the_scale_of_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * 10.0 ** np.arange(-2, 3)
    y = X[:, 0] * 100 + rng.normal(size=400) > 0
    model = make("LogisticRegression", {"C": 1e4}, Setting("binary", 400, 5)).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.n_iter_[0] < 20

"""What a model does, against scikit-learn's own numbers on the same rows."""

import json
import math
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    precision_score,
    r2_score,
    roc_auc_score,
)

from fenceline import Algorithm, FencelineClassifier, FencelineRegressor, Module, Space, load
from fenceline.certificate.inspection import allowance
from fenceline.certificate.inspection.importance import importance
from fenceline.certificate.inspection.record import rate
from fenceline.errors import MeasurementError
from fenceline.metrics.scores import loss
from fenceline.metrics.trial import Table, Trial
from fenceline.problem.objective import named

BAYES = Space([Module("estimator", [Algorithm("GaussianNB")])])
TREE = Space([Module("estimator", [Algorithm("DecisionTree")])])
ROWS = 600


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=rows),
            "noise": rng.normal(size=rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )
    y = np.where(X["income"] + rng.normal(size=rows) > 0, "repaid", "default")
    return X, y


@pytest.fixture(scope="module", autouse=True)
def time_enough():
    """Let a busy machine finish what a quiet one does in a tenth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fenceline.certificate.inspection.inspector.UNCLOCKED_SECONDS", 60.0)
        yield


@pytest.fixture(scope="module")
def unseen():
    return np.arange(400, ROWS)


@pytest.fixture(scope="module")
def model(unseen):
    X, y = people()
    fence = [
        "false_positive_rate <= 0.5",
        "recall >= 0.6",
        "demographic_parity_difference(sex) <= 0.9",
    ]
    return FencelineClassifier(
        "precision",
        fence,
        BAYES,
        evaluations=1,
        unseen=unseen,
        random_state=1,
        search_emphasis=False,
    ).fit(X, y)


@pytest.fixture(scope="module")
def answers(model, unseen):
    X, y = people()
    kept = X.iloc[unseen]
    return y[unseen], model.predict(kept), model.predict_proba(kept)[:, 1], kept


def test_an_inspection_is_json_and_as_quick_as_it_may_be(model):
    found = model.inspection_
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["missing"] == {}
    assert (found["basis"], found["rows"], found["classes"]) == (
        "unseen",
        200,
        ["default", "repaid"],
    )
    assert 0 < found["seconds"] < found["allowed"] == 60.0


def test_the_matrix_counts_the_decisions_of_the_delivered_model(model, answers):
    truth, predicted, *_ = answers
    assert model.inspection_["confusion"] == confusion_matrix(truth, predicted).tolist()


def test_the_objective_is_told_by_its_own_name_on_unseen_rows_with_an_interval(model, answers):
    truth, predicted, *_ = answers
    found = model.inspection_["objective"]
    assert (found["name"], found["larger_is_better"]) == ("precision", True)
    expected = precision_score(truth, predicted, pos_label="repaid")
    assert found["value"] == pytest.approx(expected, rel=1e-5)
    assert found["low"] < found["value"] < found["high"]
    searched = 1 - model.best_metrics_["loss(precision)"]
    assert found["searched"] == pytest.approx(searched, rel=1e-5)


def test_curves_have_scikit_learns_areas_and_few_points(model, answers):
    truth, _, shares, _ = answers
    found = model.inspection_
    positive = truth == "repaid"
    assert found["roc"]["area"] == pytest.approx(roc_auc_score(positive, shares), rel=1e-5)
    area = average_precision_score(positive, shares)
    assert found["precision_recall"]["area"] == pytest.approx(area, rel=1e-5)
    for curve in (found["roc"], found["precision_recall"]):
        assert len(curve["x"]) == len(curve["y"]) <= 200
        assert curve["x"] == sorted(curve["x"])
    assert found["calibration"]["brier"] == pytest.approx(
        brier_score_loss(positive, shares), rel=1e-5
    )
    assert sum(b["observed"]["cases"] for b in found["calibration"]["bins"]) == 200


def test_the_threshold_is_a_probability_at_which_decisions_change(model, answers):
    _, predicted, shares, _ = answers
    found = model.inspection_["threshold"]
    assert found["kind"] == "probability"
    assert shares[predicted == "repaid"].min() >= found["value"] - 1e-6
    assert shares[predicted == "default"].max() < found["value"] + 1e-6


def test_the_stored_curve_of_thresholds_is_kept_with_every_metric_of_decisions(model):
    curve = model.inspection_["threshold_metrics"]
    stored = model.result_.best.details["curve"]
    assert curve["metrics"].keys() == stored["values"].keys()
    assert curve["metrics"]["false_positive_rate"] == stored["values"]["false_positive_rate"]
    odds = 1 / (1 + np.exp(-np.array(stored["log_odds"])))
    assert curve["thresholds"] == pytest.approx(odds, rel=1e-5)


def test_groups_have_rates_with_counts_and_intervals(model, answers):
    truth, predicted, _, kept = answers
    [column] = model.inspection_["groups"]
    assert column["column"] == "sex"
    for row in column["groups"]:
        mine = (kept["sex"] == row["label"]).to_numpy()
        chosen = predicted[mine] == "repaid"
        rate = row["rates"]["predicted positive"]
        assert (row["rows"], rate["cases"], rate["events"]) == (
            mine.sum(),
            mine.sum(),
            chosen.sum(),
        )
        assert rate["value"] == pytest.approx(chosen.mean(), rel=1e-5)
        assert rate["low"] < rate["value"] < rate["high"]
        found = row["rates"]["true-positive rate"]
        positive = mine & (truth == "repaid")
        assert found["cases"] == positive.sum()
        assert found["events"] == (predicted[positive] == "repaid").sum()


def test_a_column_that_matters_loses_more_than_one_of_noise(model):
    found = model.inspection_["importance"]
    lost = {column["name"]: column for column in found["columns"]}
    assert found["score"] == "precision"
    assert found["columns"][0]["name"] == "income"
    assert lost["income"]["drop"] > 3 * lost["income"]["error"] > 0
    assert abs(lost["noise"]["drop"]) < lost["income"]["drop"] / 3


def test_a_rate_has_clopper_and_pearsons_interval():
    table = Table(np.zeros((10, 1)), np.repeat([0, 1], 5), "binary")
    trial = Trial(None, table, np.arange(10))
    claim = np.arange(10) < 3
    found = rate(claim, np.arange(10), trial, 0.95)
    assert (found["events"], found["cases"], found["value"]) == (3, 10, 0.3)
    assert found["low"] == pytest.approx(beta.ppf(0.025, 3, 8), rel=1e-5)
    assert found["high"] == pytest.approx(beta.ppf(0.975, 4, 7), rel=1e-5)
    assert rate(claim, np.arange(0), trial, 0.95) is None


def test_weighted_rows_widen_the_interval_of_a_rate():
    weights = np.array([10.0] * 2 + [1.0] * 8)
    claim = np.arange(10) < 3
    tables = [Table(np.zeros((10, 1)), np.zeros(10), "regression", {}, w) for w in (None, weights)]
    even, uneven = (rate(claim, np.arange(10), Trial(None, t, np.arange(10)), 0.95) for t in tables)
    assert uneven["value"] == pytest.approx(21 / 28)
    assert uneven["high"] - uneven["low"] > even["high"] - even["low"]


def test_an_inspection_survives_the_models_file(model, tmp_path):
    model.save(tmp_path / "m.skops")
    assert load(tmp_path / "m.skops").inspection_ == model.inspection_


def test_without_unseen_rows_a_fold_is_answered_by_the_pipeline_fitted_without_it():
    X, y = people(300)
    found = FencelineClassifier(space=BAYES, evaluations=1).fit(X, y).inspection_
    assert (found["basis"], found["rows"]) == ("fold", 100)
    assert found["objective"]["name"] == "roc_auc"
    # It was not fitted on them: a tree that had seen these rows would know them all.
    tree = FencelineClassifier(space=TREE, evaluations=1).fit(X, y).inspection_
    assert tree["scores"]["accuracy"] < 0.95


def test_numbers_are_shown_against_the_truth_with_residuals_by_group():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "sex": rng.choice(["f", "m"], 300)})
    y = 3 * X["a"].to_numpy() + np.where(X["sex"] == "f", 0.5, 0.0) + rng.normal(size=300)
    kept = np.arange(200, 300)
    space = Space([Module("estimator", [Algorithm("Ridge")])])
    model = FencelineRegressor(
        "neg_mean_absolute_error",
        ["score_gap(r2, sex) <= 1"],
        space,
        evaluations=1,
        unseen=kept,
        search_emphasis=False,
    ).fit(X, y)
    found, predicted = model.inspection_, model.predict(X.iloc[kept])
    assert found["objective"]["name"] == "mean_absolute_error"
    assert found["objective"]["value"] == pytest.approx(
        np.abs(y[kept] - predicted).mean(), rel=1e-5
    )
    assert found["scores"]["r2"] == pytest.approx(r2_score(y[kept], predicted), rel=1e-5)
    assert found["numbers"]["predicted"] == pytest.approx(predicted, rel=1e-4)
    assert found["numbers"]["residuals"]["mean"] == pytest.approx(
        (y[kept] - predicted).mean(), abs=1e-5
    )
    [column] = found["groups"]
    mine = (X["sex"].iloc[kept] == "m").to_numpy()
    rest = (y[kept] - predicted)[mine]
    residuals = column["groups"][1]["residuals"]
    assert residuals["absolute"] == pytest.approx(np.abs(rest).mean(), rel=1e-5)
    half = 1.96 * rest.std(ddof=1) / math.sqrt(mine.sum())
    assert residuals["high"] - residuals["mean"] == pytest.approx(half, rel=0.05)
    assert found["confusion"] is None


def test_three_classes_have_a_matrix_and_every_class_its_recall():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    found = FencelineClassifier(space=BAYES, evaluations=1).fit(X, y).inspection_
    matrix = np.array(found["confusion"])
    assert matrix.sum() == found["rows"] == 80
    assert [c["recall"]["events"] for c in found["by_class"]] == np.diag(matrix).tolist()
    assert found["roc"] is None
    assert found["missing"] == {}


class First(ClassifierMixin, BaseEstimator):
    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)

    def __sklearn_is_fitted__(self):
        return True


def _halves(X):
    """Return a trial of a classifier that looks at the first column alone."""
    rows = np.arange(X.shape[0])
    return Trial(First(), Table(X, rows % 2, "binary"), rows)


def test_importance_ends_in_time_and_says_what_was_left_out():
    X = np.column_stack([np.arange(100) % 2 - 0.5, np.zeros((100, 20))])
    metric, rng = loss("accuracy"), np.random.default_rng(0)
    late = importance(_halves(X), metric, named(metric.name), rng, time.monotonic() - 1)
    assert (late["columns"], late["left_out"]) == ([], 21)
    found = importance(_halves(X), metric, named(metric.name), rng, math.inf)
    assert found["left_out"] == 0
    assert found["columns"][0]["name"] == "column 0"
    assert found["columns"][0]["drop"] == pytest.approx(0.5, abs=0.1)
    assert found["columns"][1]["drop"] == 0.0


def test_importance_of_a_sparse_table_is_refused():
    trial = _halves(sparse.csr_matrix(np.ones((10, 2))))
    with pytest.raises(MeasurementError, match="sparse"):
        importance(trial, loss("accuracy"), named("loss(accuracy)"), np.random.default_rng(0), 0.0)


def test_a_part_that_fails_is_named_and_costs_nothing_else():
    X, y = people(300)
    X = sparse.csr_matrix(X[["income", "noise"]].to_numpy())
    found = FencelineClassifier(space=TREE, evaluations=1).fit(X, y).inspection_
    assert "sparse" in found["missing"]["importance"]
    assert found["importance"] is None
    assert found["confusion"] is not None


@pytest.mark.parametrize(("seconds", "share"), [(60, 1.8), (10_000, 10.0)])
def test_an_inspection_takes_a_stated_share_of_the_budget(seconds, share):
    assert allowance(seconds) == pytest.approx(share)

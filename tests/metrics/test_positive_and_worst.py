import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    fbeta_score,
    make_scorer,
    mean_absolute_error,
    precision_score,
    recall_score,
    roc_auc_score,
)

from fenceline import FencelineClassifier, metrics
from fenceline.certificate.bounds import interval
from fenceline.certificate.certify import certify
from fenceline.estimator.fence import fence, objective_metric
from fenceline.metrics.metric import REACH
from fenceline.metrics.trial import Table, Trial
from fenceline.pipelines.fitting.thresholds import decided

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.where(X @ [1.0, 0.5, 0] + RNG.normal(size=300) > 0.4, "yes", "no")
TOWN = np.where(X[:, 2] > 0.5, "far", "near")


def trial(positive=None, model=None):
    table = Table(X, Y, "binary", {"town": TOWN}, positive=positive)
    return Trial((model or LogisticRegression()).fit(X, Y), table, np.arange(300))


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_scores_are_those_of_the_class_that_is_called_positive(positive):
    one = trial(positive)
    answers = one.pipeline.predict(X)
    column = list(one.pipeline.classes_).index(positive)
    expected = {
        "recall": recall_score(Y, answers, pos_label=positive),
        "precision": precision_score(Y, answers, pos_label=positive),
        "roc_auc": roc_auc_score(positive == Y, one.pipeline.predict_proba(X)[:, column]),
        "false_positive_rate": np.mean(answers[positive != Y] == positive),
        "log_loss": metrics.parse("log_loss").value(trial()),
    }
    for name, value in expected.items():
        assert metrics.parse(name).value(one) == pytest.approx(value)


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()])
def test_a_threshold_chooses_the_positive_class_at_or_above_it(model):
    one = trial("no", model)
    strict = decided(one, 1.0)
    chosen = np.mean(strict.pipeline.predict(X) == "no")
    assert 0 < chosen < np.mean(one.pipeline.predict(X) == "no")
    again = Trial(strict.pipeline, one.table, one.rows)
    assert np.mean(again.answers.predict(one.rows) == 1) == pytest.approx(chosen)


def test_an_estimator_is_about_its_positive_class():
    fence = ["recall >= 0.5"]
    settings = {"evaluations": 2, "cv": 2, "space": "small", "on_infeasible": "warn"}
    model = FencelineClassifier("precision", fence, positive="no", **settings).fit(X, Y)
    assert list(model.classes_) == ["no", "yes"]
    recall = recall_score(Y, model.predict(X), pos_label="no")
    assert recall > 0.5
    numbers = (Y == "yes").astype(int)
    twin = FencelineClassifier("precision", fence, positive=0, **settings).fit(X, numbers)
    np.testing.assert_array_equal(twin.predict(X) == 0, model.predict(X) == "no")


def test_the_worst_group_counts_and_is_bounded_by_its_own_rows():
    one, metric = trial(), metrics.worst_group("accuracy", "town")
    right = one.pipeline.predict(X) == Y
    by_group = {town: right[town == TOWN] for town in ("far", "near")}
    worst = min(by_group.values(), key=np.mean)
    assert metric.value(one) == pytest.approx(worst.mean())
    value, low, high = interval(metric, one, 0.05, np.random.default_rng(0))
    alone = [interval_of(rows) for rows in by_group.values()]
    assert low == pytest.approx(min(pair[0] for pair in alone))
    assert low < value < high
    certificate = certify(one, [metric >= low - 1e-6], {metric.name: metric})
    assert certificate.status == "certified"
    assert certify(one, [metric >= low + 1e-3], {metric.name: metric}).status == "feasible"


def interval_of(right):
    """Return Clopper and Pearson's bounds from their definition: tails of 0.05 each."""
    from scipy.stats import binomtest

    bounds = binomtest(int(right.sum()), right.size).proportion_ci(0.9, method="exact")
    return bounds.low, bounds.high


def test_the_worst_group_of_an_error_has_the_largest():
    numbers = X @ [1.0, 0.5, 0]
    table = Table(X, numbers, "regression", {"town": TOWN})

    zero = DummyRegressor(strategy="constant", constant=0.0).fit(X, numbers)
    metric = metrics.worst_group("mae", "town")
    errors = [np.abs(numbers[town == TOWN]).mean() for town in ("far", "near")]
    assert metric.name == "worst_group(mae,town)"
    assert metric.value(Trial(zero, table, np.arange(300))) == pytest.approx(max(errors))
    assert metrics.parse(metric.name).name == metric.name
    assert objective_metric(metric, "regression") is metric


def test_errors_of_the_worst_group_lead_as_far_as_those_of_any_group():
    metric = metrics.worst_group("accuracy", "town")
    alone = metric.error(np.array([[0.9, 0.7]]), np.array([[0.01, 0.04]]))
    assert alone == pytest.approx([0.2])
    # A small group that is a little better is what a bound cannot be certified for.
    both = metric.error(np.array([[0.72, 0.7]]), np.array([[0.09, 0.0001]]))
    assert both == pytest.approx([0.3 - 0.02 / REACH])


def test_scorer_objects_are_metrics_and_objectives():
    scorer = make_scorer(fbeta_score, beta=2, pos_label="yes")
    metric = metrics.score(scorer)
    expected = fbeta_score(Y, trial().pipeline.predict(X), beta=2, pos_label="yes")
    assert metric.value(trial()) == pytest.approx(expected)
    assert metric.larger_is_better
    assert objective_metric(scorer, "binary").value(trial()) == pytest.approx(1 - expected)
    (constraint,), known = fence([metric >= 0.5])
    assert known[constraint.metric] is metric
    assert pickle.loads(pickle.dumps(metric)).value(trial()) == pytest.approx(expected)


def test_scorer_objects_of_scikit_learn_itself_are_known_by_name():
    own = make_scorer(mean_absolute_error, greater_is_better=False)
    assert metrics.score(own).name == "neg_mean_absolute_error"
    assert metrics.score(own).range.high == 0


def test_a_model_searched_with_a_scorer_object_is_saved(tmp_path):
    from fenceline import load

    scorer = make_scorer(fbeta_score, beta=2, pos_label="yes")
    model = FencelineClassifier(scorer, space="small", evaluations=2, cv=2).fit(X, Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))

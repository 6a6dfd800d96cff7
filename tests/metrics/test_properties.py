"""What metrics say about themselves, checked against scikit-learn; and weights as repeated rows."""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names

from fenceline import metrics
from fenceline.certificate import bounds as interval_module
from fenceline.certificate.bounds import interval
from fenceline.metrics.scorer_traits import decides, for_numbers, scorer_name, weighable
from fenceline.metrics.trial import Table, Trial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = (X[:, 0] + RNG.normal(size=160) > 0.4).astype(int)
TIMES = RNG.integers(1, 5, 160)
GROUP = RNG.choice(["a", "b", "c"], 160)


@pytest.mark.parametrize("name", get_scorer_names())
def test_what_scores_depend_on_is_what_scikit_learn_asks_for(name):
    scorer = get_scorer(name)
    assert weighable(name) == ("sample_weight" in inspect.signature(scorer._score_func).parameters)
    if not for_numbers(name):
        assert decides(name) == (scorer._response_method == "predict")


def test_scores_of_numbers_are_told_from_scores_of_classes():
    of_numbers = {
        "d2_absolute_error_score",
        "explained_variance",
        "neg_max_error",
        "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error",
        "neg_mean_gamma_deviance",
        "neg_mean_poisson_deviance",
        "neg_mean_squared_error",
        "neg_mean_squared_log_error",
        "neg_median_absolute_error",
        "neg_root_mean_squared_error",
        "neg_root_mean_squared_log_error",
        "r2",
    }
    assert {name for name in get_scorer_names() if for_numbers(scorer_name(name))} == of_numbers


def trial(times):
    table = Table(
        X.repeat(times, axis=0),
        Y.repeat(times),
        "binary",
        {"group": GROUP.repeat(times)},
    )
    return Trial(LogisticRegression().fit(X, Y), table, np.arange(len(table.y)))


METRICS = [
    "false_positive_rate",
    "false_negative_rate",
    "accuracy",
    "balanced_accuracy",
    "f1",
    "roc_auc",
    "average_precision",
    "neg_log_loss",
    "loss(roc_auc)",
    "score_gap(roc_auc,group)",
    "score_gap(accuracy,group)",
    "demographic_parity_difference(group)",
    "equalized_odds_difference(group)",
    "selection_rate_ratio(group)",
]


@pytest.mark.parametrize("text", METRICS)
def test_a_row_of_weight_three_counts_as_three_rows(text):
    metric = metrics.parse(text)
    once = trial(np.ones(160, dtype=int))
    table = Table(X, Y, "binary", {"group": GROUP}, TIMES.astype(float))
    weighted = Trial(once.pipeline, table, np.arange(160))
    expected = metric.value(trial(TIMES))
    assert metric.value(weighted) == pytest.approx(expected, rel=1e-9)
    assert metric.value(once) != pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("text", METRICS)
def test_weighted_rates_have_no_exact_bounds(text):
    table = Table(X, Y, "binary", {"group": GROUP}, TIMES.astype(float))
    weighted = Trial(trial(np.ones(160, dtype=int)).pipeline, table, np.arange(160))
    assert metrics.parse(text).rates(weighted) is None


class Oracle:
    """Answer with decisions made beforehand, found by the only column of X."""

    def __init__(self, decisions):
        self.decisions = decisions

    def predict(self, X):
        return self.decisions[X[:, 0].astype(int)]


@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_bounds_of_weighted_rates_fail_no_more_often_than_stated(rate, monkeypatch):
    monkeypatch.setattr(interval_module, "RESAMPLES", 60)  # enough for a standard error
    rng = np.random.default_rng(3)
    metric, failures, runs, rows = metrics.false_positive_rate(), 0, 150, 120
    for _ in range(runs):
        table = Table(
            np.arange(2 * rows)[:, None],
            np.repeat([0, 1], rows),
            "binary",
            weights=rng.uniform(0.2, 3.0, 2 * rows),
        )
        trial = Trial(Oracle((rng.random(2 * rows) < rate).astype(int)), table, np.arange(2 * rows))
        _, _, high = interval(metric, trial, 0.1, rng)
        failures += high < rate
    # Three standard errors of the count above the stated share.
    assert failures <= 0.1 * runs + 3 * np.sqrt(0.1 * 0.9 * runs)

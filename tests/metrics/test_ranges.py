import math

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer_names

from fenceline import metrics
from fenceline.errors import ConstraintError, MeasurementError
from fenceline.metrics.ranges import Range, check_bound
from fenceline.metrics.scorer_traits import for_numbers
from fenceline.metrics.trial import Table, Trial
from fenceline.problem.constraint import parse_constraint


def check(text):
    constraint = parse_constraint(text)
    check_bound(constraint, metrics.parse(constraint.metric))


@pytest.mark.parametrize(
    "text",
    [
        "accuracy >= 0.8",
        "accuracy >= 1",
        "false_positive_rate <= 0",
        "neg_mean_absolute_error >= -1.7",
        "mae <= 1.7",
        "r2 >= -3",
        "matthews_corrcoef >= -0.5",
        "size_mb <= 5",
        "score_gap(mae, g) <= 7",
        "robustness(roc_auc) <= 0.1",
        "roc_auc == 0.7 +- 0.1",
        "loss(neg_log_loss) <= 30",
    ],
)
def test_a_bound_that_some_values_meet_and_some_do_not_is_taken(text):
    check(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("neg_mean_absolute_error <= 1.7", "always true.*at most 0.*'mae <= 1.7'"),
        ("neg_mean_poisson_deviance >= 2", "cannot be met.*'mean_poisson_deviance <= 2'"),
        ("accuracy >= 80", r"cannot be met: accuracy is between 0 and 1. Did you mean 0.8\?"),
        ("fpr <= 5", "always true: false_positive_rate is between 0 and 1. Did you mean 0.05"),
        ("r2 >= 80", "cannot be met: r2 is at most 1. Did you mean 0.8"),
        ("r2 <= 2", "always true.*0.02"),
        ("mae <= -2", "cannot be met: mae is at least 0. Did you mean 2"),
        ("mae >= 0", "always true: mae is at least 0. Leave it out"),
        ("score_gap(roc_auc, g) <= 7", "always true.*0.07"),
        ("selection_rate_ratio(g) >= 80", "cannot be met.*0.8"),
        ("matthews_corrcoef >= 2", "between -1 and 1"),
        ("roc_auc == 50 +- 2", "cannot be met.*Give another bound"),
        ("accuracy == 0.5 +- 0.5", "always true.*Leave it out"),
    ],
)
def test_a_bound_that_every_value_meets_or_none_is_refused_with_what_was_meant(text, says):
    with pytest.raises(ConstraintError, match=says) as caught:
        check(text)
    assert caught.value.constraint == parse_constraint(text)


def fitted(scorer):
    """Yield a good and a bad model with rows on which the scorer is defined."""
    if for_numbers(scorer):
        X, y = make_regression(60, 3, noise=20, random_state=0)
        y = y - y.min() + 1.0  # deviances and logarithms want positive numbers
        bad = DummyRegressor(strategy="constant", constant=1e4)
        learner, task = (LinearRegression(), bad), "regression"
    else:
        X, y = make_classification(60, 4, random_state=0)
        learner, task = (LogisticRegression(), DummyClassifier(strategy="uniform")), "binary"
    for one in learner:
        yield Trial(one.fit(X, y), Table(X, y, task), np.arange(60))


def weird(scorer):
    """Tell whether a score wants several labels a row, or numbers that a line may not predict."""
    return scorer.endswith(("_samples", "_deviance", "log_error"))


@pytest.mark.parametrize("scorer", [s for s in get_scorer_names() if not weird(s)])
def test_what_scorers_return_lies_in_their_range(scorer):
    metric = metrics.parse(scorer)
    for trial in fitted(scorer):
        try:
            value = metric.value(trial)
        except MeasurementError:
            continue  # a likelihood ratio of a coin need not be defined
        assert metric.range.low <= value <= metric.range.high


def test_ranges_are_turned_and_widened():
    assert Range(0, 1).turned(1.0) == Range(0, 1)
    assert Range(high=0).turned() == Range(low=0)
    assert Range(-1, 1).width == Range(0, 2)
    assert Range(high=1).width == Range(0, math.inf)
    assert str(Range()) == "any number"

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    get_scorer_names,
    mean_absolute_error,
    median_absolute_error,
    root_mean_squared_error,
)

from fenceline import metrics
from fenceline.errors import DefinitionError
from fenceline.estimator.fence import fence, objective_metric
from fenceline.metrics.names import natural, scorer_of
from fenceline.metrics.registry import known_names
from fenceline.metrics.trial import Table, Trial


@pytest.fixture(scope="module")
def trial():
    X, y = make_regression(80, 3, noise=10, random_state=0)
    return Trial(LinearRegression().fit(X, y), Table(X, y, "regression"), np.arange(80))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("mae", mean_absolute_error),
        ("mean_absolute_error", mean_absolute_error),
        ("rmse", root_mean_squared_error),
        ("medae", median_absolute_error),
    ],
)
def test_an_error_by_its_name_is_the_error_and_smaller_is_better(trial, name, function):
    metric = metrics.parse(name)
    assert metric.value(trial) == pytest.approx(
        function(trial.table.y, trial.answers.predict(trial.rows))
    )
    assert not metric.larger_is_better
    assert objective_metric(name, "regression") is not None
    assert objective_metric(name, "regression").value(trial) == metric.value(trial)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("auc >= 0.8", "roc_auc >= 0.8"),
        ("f1_score >= 0.8", "f1 >= 0.8"),
        ("fpr <= 0.1", "false_positive_rate <= 0.1"),
        ("sensitivity >= 0.8", "recall >= 0.8"),
        ("mean_absolute_error <= 2", "mae <= 2"),
        ("logloss <= 2", "log_loss <= 2"),
        ("brier_score_loss <= 0.2", "brier_score <= 0.2"),
        ("neg_log_loss >= -2", "neg_log_loss >= -2"),
    ],
)
def test_constraints_are_shown_under_one_name_each(said, shown):
    (constraint,), found = fence([said])
    assert str(constraint) == shown
    assert list(found) == [constraint.metric]


@pytest.mark.parametrize("name", known_names())
def test_every_known_name_is_read_and_its_own_name_again(name):
    arguments = {
        "score_gap": "(roc_auc,g)",
        "worst_group": "(roc_auc,g)",
        "robustness": "(r2)",
        "loss": "(r2)",
    }
    inside = arguments.get(name, "(g)" if name.startswith(("dem", "equ", "sel")) else "")
    metric = metrics.parse(name + inside)
    assert metrics.parse(metric.name).name == metric.name


def test_every_score_that_turns_an_error_round_names_it():
    for scorer in get_scorer_names():
        if scorer.startswith("neg_") and "likelihood" not in scorer:
            assert scorer_of(natural(scorer)) == scorer
            assert metrics.parse(scorer).turns == natural(scorer)


def test_a_gap_of_an_error_is_that_of_its_scorer():
    assert metrics.score_gap("mae", "g").name == "score_gap(neg_mean_absolute_error,g)"
    assert metrics.loss("mae").name == "mae"


def test_what_has_no_metric_of_its_own_is_told_how_to_be_said():
    with pytest.raises(DefinitionError, match="selection_rate_ratio"):
        metrics.parse("disparate_impact")
    with pytest.raises(DefinitionError, match=r"Write 'demographic_parity_difference\(COLUMN\)"):
        metrics.parse("selection_rate_difference(sex)")
    with pytest.raises(DefinitionError, match="Did you mean 'rmse'"):
        metrics.parse("rsme")

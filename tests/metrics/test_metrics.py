import pickle
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenceline import metrics
from fenceline.errors import DefinitionError, MeasurementError
from fenceline.metrics import Table, Trial, as_metric, parse
from fenceline.metrics.resources import warn_of_single_rows
from fenceline.problem.constraint import Constraint, parse_constraint


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts what the first column says."""

    classes_ = np.array(["no", "yes"])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.classes_[np.asarray(X)[:, 0].astype(int)]

    def __sklearn_is_fitted__(self):
        return True


# Two groups of four, worked by hand. Group a: predictions 1 1 0 0, truth 1 0 1 0.
# Group b: predictions 1 0 0 0, truth 1 0 0 1.
PREDICTED = [1, 1, 0, 0, 1, 0, 0, 0]
TRUE = ["yes", "no", "yes", "no", "yes", "no", "no", "yes"]
GROUP = np.array(list("aaaabbbb"))
AGE = np.array([25, 25, 26, 29, 31, 35, 38, 39])


def by_hand(group=GROUP, true=TRUE, predicted=PREDICTED):
    X = np.array(predicted, dtype=float)[:, None]
    table = Table(X, np.array(true), "binary", {"sex": group, "AGE": AGE})
    return Trial(Fixed(), table, np.arange(len(X)))


@pytest.fixture(scope="module")
def trial():
    X, y = make_classification(300, 5, random_state=0)
    names = np.array(["bad", "good"])[y]
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], names[:200])
    band = np.where(X[:, 0] > 0, "old", "young")
    return Trial(fitted, Table(X, names, "binary", {"band": band}), np.arange(200, 300), 0.5)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (metrics.false_positive_rate(), 1 / 4),
        (metrics.false_negative_rate(), 2 / 4),
        (metrics.demographic_parity_difference("sex"), 2 / 4 - 1 / 4),
        (metrics.selection_rate_ratio("sex"), (1 / 4) / (2 / 4)),
        # False positives: 1/2 in a, 0/2 in b; true positives: 1/2 in both.
        (metrics.equalized_odds_difference("sex"), 1 / 2),
        (metrics.score_gap("accuracy", "sex"), 3 / 4 - 2 / 4),
        (metrics.score_gap("accuracy", "AGE", bins=[30]), 3 / 4 - 2 / 4),
        (metrics.score("precision"), 2 / 3),
        (metrics.loss("precision"), 1 / 3),
    ],
    ids=lambda p: getattr(p, "name", None),
)
def test_metrics_agree_with_numbers_worked_by_hand(metric, expected):
    assert metric.value(by_hand()) == pytest.approx(expected)


@pytest.mark.parametrize("scorer", ["roc_auc", "accuracy", "neg_log_loss", "balanced_accuracy"])
def test_a_score_is_scikit_learns_own(trial, scorer):
    expected = get_scorer(scorer)(trial.pipeline, trial.X, trial.table.y[trial.rows])
    assert metrics.score(scorer).value(trial) == pytest.approx(expected)


def test_bounded_scores_are_taken_from_one_and_others_change_sign(trial):
    auc, log_loss = (
        metrics.score("roc_auc").value(trial),
        metrics.score("neg_log_loss").value(trial),
    )
    assert metrics.loss("roc_auc").value(trial) == pytest.approx(1 - auc)
    assert metrics.loss("neg_log_loss").value(trial) == pytest.approx(-log_loss)


class Says(ClassifierMixin, BaseEstimator):
    """Ranks by the first column."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def test_the_gap_is_the_largest_difference_of_group_scores(trial):
    risk = trial.pipeline.predict_proba(trial.X)[:, 1]
    band = trial.table.groups["band"][trial.rows]
    true = trial.table.y[trial.rows]
    scores = [roc_auc_score(true[band == b], risk[band == b]) for b in ("old", "young")]
    gap = metrics.score_gap("roc_auc", group="band")
    assert gap.value(trial) == pytest.approx(abs(scores[0] - scores[1]))


def test_the_variance_of_an_auroc_is_known_from_its_rows():
    rng = np.random.default_rng(0)
    n, draws = 400, 300
    group, y = np.arange(n) % 2, np.arange(n) // 2 % 2
    gap = metrics.score_gap("roc_auc", group="g")
    found, known = [], []
    for _ in range(draws):
        X = (rng.normal(size=n) + y * np.where(group, 1.5, 0.5))[:, None]
        one = Trial(Says(), Table(X, y, "binary", {"g": group}), np.arange(n))
        reading = gap.read(one)
        found.append(reading.parts)
        known.append(reading.variances)
    assert np.mean(known, axis=0) == pytest.approx(np.var(found, axis=0), rel=0.25)
    weighted = Table(X, y, "binary", {"g": group}, weights=np.ones(n))
    assert gap.read(Trial(Says(), weighted, np.arange(n))).variances is None
    assert metrics.score_gap("f1", group="g").read(one).variances is None


def test_scores_of_a_regression_use_the_numbers_themselves():
    X, y = make_regression(50, 3, noise=5.0, random_state=0)
    trial = Trial(LinearRegression().fit(X, y), Table(X, y, "regression"), np.arange(50))
    expected = get_scorer("r2")(trial.pipeline, X, y)
    assert metrics.score("r2").value(trial) == pytest.approx(expected)


def test_latency_is_per_row_and_reports_its_spread(trial):
    one, many = metrics.latency_us(), metrics.latency_us(batch=1000)
    reading = many.read(trial)
    assert 0 < many.combine(reading.parts) < one.value(trial)
    assert reading.error >= 0
    assert reading.extras["p95"] >= reading.parts[0]


def test_latency_counts_processor_time_and_not_waiting(trial):
    class Sleepy(Fixed):
        def predict(self, X):
            time.sleep(0.005)
            return super().predict(X)

    sleepy = Trial(Sleepy(), by_hand().table, np.arange(8))
    assert metrics.latency_us(batch=8).value(sleepy) < 5000 / 8


def test_size_is_that_of_the_pickle_in_millions_of_bytes(trial):
    expected = len(pickle.dumps(trial.pipeline, protocol=5)) / 1e6
    assert metrics.size_mb().value(trial) == pytest.approx(expected)


def test_memory_grows_with_the_batch(trial):
    small, large = (metrics.memory_mb(batch=n).value(trial) for n in (10, 10_000))
    assert 0 < small < large
    assert large > 10_000 * 5 * 8 / 1e6


def test_training_time_is_what_the_fit_took(trial):
    assert metrics.train_seconds().value(trial) == 0.5


def test_noise_costs_score_and_more_noise_costs_more(trial):
    little, much = (metrics.robustness("roc_auc", noise).value(trial) for noise in (0.01, 3.0))
    assert abs(little) < much


def test_noise_disturbs_only_numbers_of_a_frame():
    X = pd.DataFrame({"n": np.arange(8.0), "t": list("abcdabcd")})

    class Reads(Fixed):
        def predict(self, X):
            assert list(X["t"]) == list("abcdabcd")
            return self.classes_[(X["n"].to_numpy() > 3.5).astype(int)]

    trial = Trial(Reads(), Table(X, np.array(["no"] * 4 + ["yes"] * 4), "binary"), np.arange(8))
    assert metrics.robustness("accuracy", 2.0).value(trial) > 0


def cost(pipeline, X, y, groups):
    return float(np.mean(pipeline.predict(X) != y)) + len(groups)


def test_any_function_is_a_metric(trial):
    errors = np.mean(trial.pipeline.predict(trial.X) != trial.table.y[trial.rows])
    assert metrics.custom(cost).value(trial) == pytest.approx(errors + 1)
    constraint = metrics.custom(cost) <= 2
    assert constraint.metric == "cost"
    assert as_metric(constraint).value(trial) == metrics.custom(cost).value(trial)
    assert as_metric(pickle.loads(pickle.dumps(constraint))).name == "cost"


def test_a_function_cannot_change_the_data_of_others(trial):
    def vandal(pipeline, X, y, groups):
        X[:] = 0
        y[:] = "bad"
        return 0.0

    before = metrics.score("accuracy").value(trial)
    metrics.custom(vandal).value(trial)
    assert metrics.score("accuracy").value(trial) == before
    assert len(np.unique(trial.table.y)) == 2


@pytest.mark.parametrize("answer", [None, np.nan, np.array([1.0, 2.0]), "x"])
def test_a_function_that_returns_no_number_is_named(trial, answer):
    with pytest.raises(MeasurementError, match="'odd' must return a finite number"):
        metrics.custom(lambda *_: answer, name="odd").value(trial)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: metrics.custom(5), "callable"),
        (lambda: metrics.custom(lambda *_: 0), "name="),
        (lambda: metrics.custom(lambda a, b: 0, name="two"), "four arguments"),
        (lambda: metrics.latency_us(batch=0), "at least 1"),
        (lambda: metrics.score("roc_acu"), "'roc_auc'"),
        (lambda: metrics.robustness("accuracy", -1), "positive"),
        (lambda: metrics.score_gap("roc_auc", "Age (years)"), "groups="),
        (lambda: metrics.score_gap("roc_auc", "AGE", bins=[3, 2]), "growing"),
    ],
)
def test_a_metric_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(DefinitionError, match=message):
        given()


def test_a_single_group_is_refused():
    with pytest.raises(DefinitionError, match="single value 'a'"):
        metrics.score_gap("accuracy", "sex").value(by_hand(group=np.array(["a"] * 8)))


def test_missing_groups_are_refused():
    group = np.array(["a", None, "b", "b", "a", "a", "b", "b"], dtype=object)
    with pytest.raises(DefinitionError, match="missing in 1 rows"):
        metrics.score_gap("accuracy", "sex").value(by_hand(group=group))


def test_an_unknown_group_is_answered_with_the_nearest():
    with pytest.raises(DefinitionError, match="'sex'"):
        metrics.score_gap("accuracy", "sexx").value(by_hand())


def test_a_group_of_one_class_is_refused_by_name():
    true = ["yes"] * 4 + ["no", "yes", "no", "no"]
    with pytest.raises(MeasurementError, match="'a' has no negative row"):
        metrics.equalized_odds_difference("sex").value(by_hand(true=true))


def test_a_ranking_score_in_a_group_of_one_class_is_refused_by_name(trial):
    table = Table(
        trial.table.X, trial.table.y, "binary", {"g": trial.table.y, "h": trial.table.y == "bad"}
    )
    with pytest.raises(MeasurementError, match=r"group 'bad'.*one class"):
        metrics.score_gap("roc_auc", "g").value(Trial(trial.pipeline, table, trial.rows))


def test_a_group_that_is_not_among_the_rows_is_refused_by_name():
    absent = Trial(Fixed(), by_hand().table, np.arange(4))
    with pytest.raises(MeasurementError, match="'b' has no row"):
        metrics.demographic_parity_difference("sex").value(absent)


def test_nobody_selected_anywhere_counts_as_equal():
    assert metrics.selection_rate_ratio("sex").value(by_hand(predicted=[0] * 8)) == 1.0


@pytest.mark.parametrize(
    "metric",
    [
        metrics.latency_us(),
        metrics.latency_us(batch=1000),
        metrics.size_mb(),
        metrics.train_seconds(),
        metrics.memory_mb(),
        metrics.memory_mb(batch=7),
        metrics.false_positive_rate(),
        metrics.false_negative_rate(),
        metrics.score("roc_auc"),
        metrics.loss("roc_auc"),
        metrics.score_gap("roc_auc", group="AGE"),
        metrics.score_gap("roc_auc", group="AGE", bins=[20, 30.5]),
        metrics.demographic_parity_difference("sex"),
        metrics.equalized_odds_difference("sex"),
        metrics.selection_rate_ratio("sex"),
        metrics.robustness("accuracy", 0.2),
    ],
    ids=lambda m: m.name,
)
def test_every_name_is_parsed_back_to_the_same_metric(metric):
    again = parse(metric.name)
    assert type(again) is type(metric)
    assert again.name == metric.name
    constraint = metric <= 0.5
    assert isinstance(constraint, Constraint)
    assert constraint.metric == metric.name
    assert parse_constraint(str(constraint)) == constraint


def test_blanks_in_texts_do_not_matter():
    assert parse(" score_gap( roc_auc, AGE ) ").name == "score_gap(roc_auc,AGE)"
    table = Table(
        np.zeros((4, 1)), np.arange(4), "regression", {"LOAN AGE": np.array([1, 2, 1, 2])}
    )
    assert table.grouping("LOANAGE")[0] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency_uss", "'latency_us'"),
        ("rocauc", "'roc_auc'"),
        ("zzzz", "scikit-learn's scorers"),
        ("latency_us(", "cannot be read"),
        ("score_gap(roc_auc)", r"missing.*group.*Usage: score_gap\(scorer"),
        ("latency_us(rows=5)", "rows"),
        ("latency_us(batch=x)", "whole number"),
        ("score_gap(roc_auc, AGE, bins=a:b)", "30:40:50"),
    ],
)
def test_a_text_with_a_mistake_is_answered_with_what_is_known(text, message):
    with pytest.raises(DefinitionError, match=message):
        parse(text)


def test_metrics_of_decisions_are_for_two_classes():
    assert metrics.false_positive_rate().tasks == ("binary",)
    assert "multiclass" in metrics.score_gap("accuracy", "g").tasks


def test_answers_that_are_not_numbers_are_a_failure_and_never_ranked():
    class Lost(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    trial = Trial(Lost().fit(X, y), Table(X, y, "binary"), np.arange(8))
    with pytest.raises(MeasurementError, match="is not finite"):
        as_metric("neg_log_loss").read(trial)


def test_all_rows_of_a_table_are_the_table_and_not_a_copy():
    table = Table(np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"]), "binary")
    assert table.take(np.arange(3)) is table
    turned = table.take(np.array([2, 1, 0]))
    np.testing.assert_array_equal(turned.X[:, 0], [4.0, 2.0, 0.0])
    assert len(table.take(np.array([1])).y) == 1


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("latency_us <= 5", True),
        ("latency_us <= 500", False),
        ("latency_us(batch=1000) <= 5", False),
        ("latency_us >= 5", False),
        ("size_mb <= 5", False),
    ],
)
def test_a_bound_for_batches_on_single_rows_is_told_before_the_search(text, warned, recwarn):
    constraint = parse_constraint(text)
    warn_of_single_rows(constraint, parse(constraint.metric))
    assert [("batch=1000) <= 5" in str(w.message)) for w in recwarn] == [True] * warned

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from fenceline import metrics
from fenceline.errors import SpaceError
from fenceline.estimator.estimators import FencelineClassifier
from fenceline.metrics.resources import _predictor
from fenceline.metrics.trial import Table, Trial
from fenceline.pipelines import build, fit, with_threshold
from fenceline.pipelines.fitting.thresholds import (
    choosing,
    decide_at,
    decided,
    searches_threshold,
    threshold_of,
)
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(
    600,
    6,
    n_informative=4,
    n_redundant=0,
    weights=[0.6],
    class_sep=0.7,
    flip_y=0.02,
    random_state=4,
)
LABELS = np.array(["good", "bad"])[Y]  # "good" is last in order, and positive
SPACE = Space(
    [
        Module("scaler", [Algorithm("StandardScaler"), Algorithm("none")]),
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)}),
                Algorithm("DecisionTree", {"max_depth": Integer(1, 8)}),
                Algorithm("GaussianNB"),
            ],
        ),
    ]
)


def choices(model, log_odds):
    return {
        "scaler": Choice("StandardScaler"),
        "estimator": Choice(model),
        "threshold": Choice("Threshold", {"log_odds": log_odds}),
    }


def setting(**more):
    return Setting("binary", *X.shape, positive="good", **more)


def test_the_threshold_is_where_decisions_change():
    pipeline = fit(choices("GaussianNB", 1.5), X, LABELS, setting())
    assert type(pipeline) is Pipeline
    assert list(pipeline.named_steps) == ["scaler", "estimator"]
    likely = pipeline.predict_proba(X)[:, 1] >= expit(1.5)
    assert np.array_equal(pipeline.predict(X) == "good", likely)
    assert 0 < likely.mean() < 1


def test_a_model_without_probabilities_is_cut_at_its_decision_value():
    pipeline = fit(choices("sklearn.svm.LinearSVC", 0.4), X, LABELS, setting())
    assert np.array_equal(pipeline.predict(X) == "good", pipeline.decision_function(X) >= 0.4)


def test_a_model_with_decisions_only_is_left_as_it_is():
    class Blunt:
        def predict(self, X):
            return X

    blunt = Blunt()
    assert decide_at(0.4, blunt, "good", fitted=True) is blunt


def test_a_fitted_pipeline_can_be_pickled_cloned_and_fitted_again_as_any_other():
    pipeline = fit(choices("GaussianNB", -1.0), X, LABELS, setting())
    answers = pipeline.predict(X)
    assert np.array_equal(pickle.loads(pickle.dumps(pipeline)).predict(X), answers)
    assert np.array_equal(clone(pipeline).fit(X, LABELS).predict(X), answers)
    built = build(choices("GaussianNB", -1.0), setting())
    assert np.array_equal(built.fit(X, LABELS).predict(X), answers)


def test_decisions_are_what_is_timed_where_their_threshold_was_searched():
    pipeline = fit(choices("GaussianNB", -1.0), X, LABELS, setting())
    assert _predictor(pipeline) == pipeline.predict
    plain = fit({"estimator": Choice("GaussianNB")}, X, LABELS, setting())
    assert _predictor(plain) == plain.predict_proba


@pytest.mark.parametrize(
    ("objective", "constraints", "matters"),
    [
        ("roc_auc", [], False),
        ("roc_auc", ["size_mb <= 5", "neg_log_loss >= -9", "score_gap(roc_auc, g) <= 0.99"], False),
        ("f1", [], True),
        ("roc_auc", ["false_positive_rate <= 0.9"], True),
        ("roc_auc", ["demographic_parity_difference(g) <= 0.99"], True),
        ("roc_auc", ["equalized_odds_difference(g) <= 0.99"], True),
        ("roc_auc", ["score_gap(accuracy, g) <= 0.99"], True),
        ("roc_auc", ["robustness(accuracy) <= 0.99"], True),
        ("roc_auc", [metrics.custom(lambda p, X, y, g: 0.0, name="cost") <= 1], True),
    ],
)
def test_the_threshold_is_computed_where_decisions_matter(objective, constraints, matters):
    groups = {"g": np.arange(600) % 2}
    model = FencelineClassifier(
        objective, constraints, SPACE, evaluations=1, cv=2, fold_votes=False
    )
    model.fit(X, LABELS, groups=groups)
    assert not searches_threshold(model.result_.problem.space)
    assert ("threshold" in model.best_metrics_) == matters
    assert isinstance(model.best_pipeline_[-1], FixedThresholdClassifier) == matters
    if matters:
        assert model.best_pipeline_[-1].threshold == expit(model.best_metrics_["threshold"])


def test_the_user_keeps_control_of_the_threshold():
    fixed = FencelineClassifier("f1", space=SPACE, evaluations=1, cv=2, search_threshold=False)
    assert "threshold" not in fixed.fit(X, LABELS).best_metrics_
    assert not isinstance(fixed.best_pipeline_[-1], FixedThresholdClassifier)
    own = with_threshold(SPACE, 0.5, 2.5)
    model = FencelineClassifier("f1", space=own, evaluations=1, cv=2).fit(X, LABELS)
    assert model.result_.problem.space == own
    assert "threshold" not in model.best_metrics_
    assert model.best_pipeline_[-1].threshold == pytest.approx(expit(1.5))
    with pytest.raises(SpaceError, match="already"):
        with_threshold(own)


def test_a_module_that_bears_the_name_of_the_threshold_is_not_confused_with_it():
    space = Space([Module("threshold", [Algorithm("none")]), *SPACE.modules])
    model = FencelineClassifier("f1", space=space, evaluations=1, cv=2).fit(X, LABELS)
    assert "threshold" not in model.best_metrics_


@pytest.mark.parametrize("model", ["GaussianNB", "sklearn.svm.LinearSVC"])
def test_another_threshold_of_a_fitted_pipeline_needs_no_prediction(model):
    table = metrics.Table(X, LABELS, "binary")
    rows = np.arange(300, 600)
    fitted = fit({"estimator": Choice(model)}, X[:300], LABELS[:300], setting())
    trial = metrics.Trial(fitted, table, rows)
    response = trial.response
    for log_odds in (-1.0, 0.7):
        for start in (trial, decided(trial, 2.0)):
            other = decided(start, log_odds)
            chosen = other.answers.predict(np.arange(300))
            assert set(other.answers._known) >= {"predict"}
            np.testing.assert_array_equal(
                np.array(["bad", "good"])[chosen], other.pipeline.predict(X[rows])
            )
            assert other.response is response
            assert not isinstance(other.pipeline[-1].estimator_, FixedThresholdClassifier)


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_a_fence_around_errors_is_met_better_with_the_threshold_than_without(seed):
    features, y = make_classification(
        600,
        6,
        n_informative=4,
        n_redundant=0,
        weights=[0.6],
        class_sep=0.7,
        flip_y=0.02,
        random_state=seed,
    )
    results = {}
    for searched in (False, True):
        model = FencelineClassifier(
            "recall",
            ["false_positive_rate <= 0.02"],
            SPACE,
            evaluations=14,
            cv=2,
            random_state=seed,
            on_infeasible="warn",
            search_threshold=searched,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # without, there may be no feasible one
            results[searched] = model.fit(features, y).result_
    best, before = results[True].best, results[False].best
    assert best.metrics["false_positive_rate"] <= 0.02
    assert before is None or best.objective < before.objective
    assert results[True].feasible_fraction > results[False].feasible_fraction


def test_few_positives_are_found_better_with_the_threshold_than_without():
    features, y = make_classification(
        500, 6, n_informative=4, n_redundant=0, weights=[0.93], class_sep=0.8, random_state=0
    )
    losses = []
    for searched in (False, True):
        model = FencelineClassifier(
            "balanced_accuracy", (), SPACE, evaluations=12, cv=2, search_threshold=searched
        )
        losses.append(model.fit(features, y).result_.best.objective)
    assert losses[1] < losses[0] - 0.05


class Scores:
    """Says what the first column says."""

    classes_ = np.array([0, 1])

    def __init__(self, likely):
        if likely:
            self.predict_proba = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])
        else:
            self.decision_function = lambda X: X[:, 0]


def scored(scores, likely=True, weights=None):
    y = np.arange(len(scores)) % 2
    table = Table(np.array(scores)[:, None], y, "binary", weights=weights)
    return Trial(Scores(likely), table, np.arange(len(scores)))


class TestAShareOfTheRows:
    @pytest.mark.parametrize("likely", [True, False])
    @pytest.mark.parametrize("share", [0.01, 0.1, 0.35, 0.5, 0.99])
    def test_is_chosen_by_the_threshold_that_it_asks_for(self, share, likely):
        scores = np.random.default_rng(0).uniform(0.01, 0.99, 100)
        cut = choosing(scored(scores, likely), share)
        assert np.mean(scores >= (expit(cut) if likely else cut)) == share

    def test_is_as_near_as_equal_scores_let_it_be_and_never_all_or_none(self):
        trial = scored([0.2] * 6 + [0.7] * 4)
        for share in (0.001, 0.35, 0.9, 1.0):
            assert expit(choosing(trial, share)) == pytest.approx(0.45)
        assert expit(choosing(scored([0.0, 0.5, 1.0, 1.0]), 0.01)) == pytest.approx(0.75)

    def test_is_nowhere_to_be_found_where_all_scores_are_the_same(self):
        assert choosing(scored([0.4] * 10), 0.5) is None

    def test_counts_rows_by_their_weight(self):
        trial = scored([0.2, 0.4, 0.6, 0.8], weights=np.array([1.0, 1.0, 1.0, 3.0]))
        assert expit(choosing(trial, 0.5)) == pytest.approx(0.7)

    def test_does_not_depend_on_labels(self):
        scores = np.random.default_rng(0).uniform(size=50)
        other = scored(scores)
        other.target = 1 - other.target
        assert choosing(other, 0.3) == choosing(scored(scores), 0.3)


@pytest.mark.parametrize("log_odds", [-2.5, 0.0, 3.0])
@pytest.mark.parametrize("model", ["GaussianNB", "sklearn.svm.LinearSVC"])
def test_a_pipeline_tells_where_it_decides(model, log_odds):
    fitted = fit({"estimator": Choice(model)}, X, LABELS, setting())
    rows = metrics.Trial(fitted, metrics.Table(X, LABELS, "binary"), np.arange(600))
    assert threshold_of(decided(rows, log_odds).pipeline) == pytest.approx(log_odds)
    assert threshold_of(fitted) is None

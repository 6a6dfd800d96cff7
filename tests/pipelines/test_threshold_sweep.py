"""The computed threshold: brute force finds no better one, and what is delivered decides as measured."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics as theirs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from fenceline import FencelineClassifier, metrics
from fenceline.errors import DefinitionError
from fenceline.evaluation.incumbent import Incumbent
from fenceline.metrics import Table, Trial
from fenceline.metrics.metric import Reading
from fenceline.pipelines import CrossValidation
from fenceline.pipelines.fold_readings import FoldReadings
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.pipelines.threshold_sweep import FEW, ThresholdSweep, fold_error, grid
from fenceline.problem.configuration import Choice
from fenceline.problem.measurement import Spread
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(
    1500, 6, n_informative=3, weights=[0.8], class_sep=0.6, flip_y=0.05, random_state=1
)
GROUP = np.where(X[:, 0] + np.random.default_rng(0).normal(size=1500) > 0, "m", "f")
TABLE = Table(X, Y, "binary", {"g": GROUP})
LOGIT = {"estimator": Choice("LogisticRegression", {"C": 1.0})}


def measuring(objective, *constraints, table=TABLE, computed=True, **more):
    """Return a measure of an objective, given as a metric, and of constraints' metrics."""
    known = {c.metric: metrics.as_metric(c) for c in constraints} | {objective.name: objective}
    given = {"objective": objective.name if computed else None, "folds": 3} | more
    return CrossValidation(table, known, list(constraints), **given)


def folds_by_hand(measure):
    """Return truth, score and group in each fold."""
    found = []
    for train, valid in measure.splits:
        score = measure.trial(LOGIT, train, valid).pipeline.predict_proba(X[valid])[:, 1]
        found.append((Y[valid], score, GROUP[valid]))
    return found


def test_brute_force_with_scikit_learns_own_metrics_finds_the_same_threshold_and_values():
    gap = metrics.demographic_parity_difference("g")
    measure = measuring(metrics.loss("f1"), gap <= 0.05, metrics.score("precision") >= 0.6)
    found = measure(LOGIT)
    folds = folds_by_hand(measure)
    thresholds = grid(folds[0][1], folds[0][0], True)
    best = (np.inf, None)
    for log_odds in thresholds:
        f1, precision, rates, shares = [], [], [], []
        for y, score, group in folds:
            chosen = score >= expit(log_odds)
            f1.append(theirs.f1_score(y, chosen, zero_division=0))
            precision.append(theirs.precision_score(y, chosen, zero_division=0))
            rates.append([chosen[group == g].mean() for g in ("f", "m")])
            shares.append(chosen.mean())
        inside = np.ptp(np.mean(rates, axis=0)) <= 0.05 and np.mean(precision) >= 0.6
        if inside and 0 < np.mean(shares) < 1 and 1 - np.mean(f1) < best[0]:
            best = 1 - np.mean(f1), log_odds, np.mean(precision), f1
    assert best[1] not in (None, 0.0, thresholds[0], thresholds[-1])
    assert found["threshold"] == best[1]
    assert found["loss(f1)"] == pytest.approx(best[0])
    assert found["precision"] == pytest.approx(best[2])
    in_folds = found.spreads["loss(f1)"].parts
    assert in_folds == pytest.approx([1 - value for value in best[3]])


def test_it_is_better_inside_the_fence_than_even_odds():
    fence = metrics.score("recall") >= 0.7
    even = measuring(metrics.loss("precision"), fence, computed=False)(LOGIT)
    found = measuring(metrics.loss("precision"), fence)(LOGIT)
    assert even["recall"] < 0.7 <= found["recall"] < 0.75
    assert "threshold" not in even
    assert found["threshold"] < 0


def test_where_nothing_is_inside_the_one_that_misses_least_is_chosen():
    fence = (metrics.false_positive_rate() <= 0.02, metrics.false_negative_rate() <= 0.02)
    measure = measuring(metrics.loss("accuracy"), *fence)
    found = measure(LOGIT)
    curve = ThresholdCurve.of(found.details)
    missed = [
        sum(c.violation(curve.values[c.metric][k]) for c in fence)
        for k in range(len(curve.log_odds))
    ]
    here = sum(c.violation(found[c.metric]) for c in fence)
    useful = (curve.selected > 0) & (curve.selected < 1)
    assert here > 0
    # Four digits are stored: two rates may each be off by 0.00005 of 0.02.
    assert here <= np.min(np.array(missed)[useful]) + 0.01


def test_an_objective_that_only_ranks_leaves_the_choice_to_the_balanced_accuracy():
    fence = metrics.false_positive_rate() <= 0.08
    measure = measuring(metrics.loss("roc_auc"), fence)
    found = measure(LOGIT)
    assert 0.05 < found["false_positive_rate"] <= 0.08  # not .001, as the bound alone would allow
    curve = ThresholdCurve.of(found.details)
    assert "balanced_accuracy" not in found
    inside = curve.values["false_positive_rate"] <= 0.08
    at = np.argmin(np.abs(curve.log_odds - found["threshold"]))
    assert curve.values["balanced_accuracy"][at] == curve.values["balanced_accuracy"][inside].max()


def test_nobody_is_chosen_only_where_nothing_else_is_inside():
    fence = metrics.false_positive_rate() <= 0.0
    noise = Table(np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2, "binary")
    model = {"estimator": Choice("DecisionTree", {"max_depth": 1})}
    found = measuring(metrics.loss("accuracy"), fence, table=noise)(model)
    assert found["false_positive_rate"] == 0.0
    wide = measuring(metrics.loss("roc_auc"), metrics.false_positive_rate() <= 1.0, table=noise)(
        model
    )
    curve = ThresholdCurve.of(wide.details)
    at = np.argmin(np.abs(curve.log_odds - wide["threshold"]))
    assert 0 < curve.selected[at] < 1


def test_a_model_without_probabilities_is_cut_at_its_decision_values():
    model = {"estimator": Choice("sklearn.svm.LinearSVC", {})}
    fence = metrics.score("recall") >= 0.7
    measure = measuring(metrics.loss("precision"), fence)
    found = measure(model)
    parts = []
    for train, valid in measure.splits:
        score = measure.trial(model, train, valid).pipeline.decision_function(X[valid])
        parts.append(theirs.recall_score(Y[valid], score >= found["threshold"]))
    assert found["recall"] == pytest.approx(np.mean(parts))
    assert 0.7 <= found["recall"] < 0.75


class Blunt(ClassifierMixin, BaseEstimator):
    """Has decisions and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_a_model_with_decisions_only_is_measured_as_it_is():
    measure = measuring(metrics.loss("f1"))
    readings = FoldReadings(measure.metrics, (), "loss(f1)")
    for train, valid in measure.splits:
        readings.read(Trial(Blunt().fit(X[train], Y[train]), TABLE, valid))
    found = readings.summary()
    assert "threshold" not in found
    expected = [theirs.f1_score(Y[valid], X[valid, 0] > 0) for _, valid in measure.splits]
    assert found["loss(f1)"] == pytest.approx(1 - np.mean(expected))


def test_a_function_of_ones_own_is_asked_at_few_thresholds_and_the_best_is_found():
    asked = []

    def cost(pipeline, X, y, groups):
        chosen = pipeline.predict(X)
        asked.append(chosen.mean())
        return float(np.mean(np.where(y == 1, 5.0 * (chosen == 0), chosen == 1)))

    metric = metrics.custom(cost)
    found = measuring(metric)(LOGIT)
    assert len(asked) <= 3 * (FEW + 1) + 3
    even = measuring(metric, computed=False)(LOGIT)
    assert found["cost"] < even["cost"] - 0.02
    assert found["threshold"] < -0.5  # what five times the cost asks for is -1.6


def test_a_function_that_asks_for_no_decisions_is_not_asked_for_each_threshold():
    asked = []

    def likely(pipeline, X, y, groups):
        asked.append(1)
        return float(pipeline.predict_proba(X)[:, 1].mean())

    found = measuring(metrics.loss("f1"), metrics.custom(likely) <= 1.0)(LOGIT)
    assert len(asked) == 3 + 3
    plain = measuring(metrics.loss("f1"))(LOGIT)
    assert found["threshold"] == plain["threshold"]


def test_the_grid_tells_few_positives_apart():
    rng = np.random.default_rng(0)
    target = np.arange(4000) % 50 == 0
    score = expit(rng.normal(size=4000) - 3 + 2 * target)
    thresholds = grid(score, target.astype(int), True)
    assert (np.diff(thresholds) > 0).all()
    assert 0.0 in thresholds
    found = np.sort([(score[target] >= expit(t)).mean() for t in thresholds])
    assert np.diff(found).max() <= 0.02
    assert found[0] == 0.0
    assert (score >= expit(thresholds[0])).all()
    assert not (score >= expit(thresholds[-1])).any()


def test_a_curve_survives_the_journal_within_its_size():
    fence = [
        metrics.false_positive_rate() <= 0.2,
        metrics.demographic_parity_difference("g") <= 0.2,
        metrics.equalized_odds_difference("g") <= 0.3,
    ]
    found = measuring(metrics.loss("balanced_accuracy"), *fence)(LOGIT)
    text = json.dumps(found.details)
    assert len(text) <= 4096
    curve = ThresholdCurve.of(json.loads(text))
    assert len(curve.log_odds) >= 40
    at = np.argmin(np.abs(curve.log_odds - found["threshold"]))
    for name in [c.metric for c in fence] + ["loss(balanced_accuracy)"]:
        assert curve.values[name][at] == pytest.approx(found[name], abs=1e-3)
        assert curve.errors[name][at] > 0


def test_with_fewer_folds_the_threshold_is_that_of_these_folds():
    measure = measuring(metrics.loss("f1"), folds=3)
    full = measure(LOGIT)
    folds = {"loss(f1)": Spread(None, (0.01, 0.02, 0.03))}
    hopeless = Incumbent("loss(f1)", {"loss(f1)": 0.02}, folds)
    short = measure(LOGIT, incumbent=hopeless)
    assert short["folds"] == 1
    train, valid = measure.splits[0]
    score = measure.trial(LOGIT, train, valid).pipeline.predict_proba(X[valid])[:, 1]
    f1 = [theirs.f1_score(Y[valid], score >= expit(t)) for t in grid(score, Y[valid], True)]
    # The first fold was easier for the other than all of them: .01 instead of .02.
    assert short["loss(f1)"] == pytest.approx(1 - max(f1) + 0.01)
    assert full["folds"] == 3
    again = measure(LOGIT, incumbent=Incumbent("loss(f1)", full.metrics, full.spreads))
    assert again["folds"] == 3


def test_a_pipeline_that_may_yet_turn_out_inside_is_measured_in_full():
    fence = metrics.score("recall") >= 0.7
    measure = measuring(metrics.loss("precision"), fence)
    full = measure(LOGIT)
    # Beaten where its first fold is inside, but not where it misses the bound by less than its error.
    name = "loss(precision)"
    folds = {name: Spread(None, tuple(part - 0.005 for part in full.spreads[name].parts))}
    rival = Incumbent(name, full.metrics | {name: full[name] - 0.005}, folds)
    assert measure(LOGIT, incumbent=rival)["folds"] == 3


def test_errors_of_rates_follow_from_the_number_of_rows_unless_folds_differ_too_much():
    metric = metrics.false_positive_rate()
    variance = np.array([0.1 * 0.9 / 500])

    def error(*rates):
        readings = [Reading(np.array([r]), variances=variance) for r in rates]
        return fold_error(metric, readings, rates)

    known = np.sqrt(0.1 * 0.9 / 1500)
    assert error(0.1, 0.1001, 0.0999) == pytest.approx(known)  # by luck alike
    assert error(0.1, 0.112, 0.088) == pytest.approx(known)  # as far apart as they may be by chance
    apart = (0.05, 0.1, 0.15)
    assert error(*apart) == pytest.approx(np.std(apart, ddof=1) / np.sqrt(3))
    unknown = [Reading(np.array([r])) for r in apart]
    assert fold_error(metric, unknown, apart) == pytest.approx(np.std(apart, ddof=1) / np.sqrt(3))


def test_what_is_delivered_decides_at_the_threshold_that_was_computed():
    space = Space(
        [Module("estimator", [Algorithm("LogisticRegression", {}), Algorithm("GaussianNB")])]
    )
    model = FencelineClassifier(
        "precision", ["recall >= 0.6"], space, evaluations=2, on_infeasible="warn"
    )
    model.fit(X, Y)
    best = model.best_pipeline_
    assert best[-1].threshold == expit(model.best_metrics_["threshold"])
    chosen = best.predict_proba(X)[:, 1] >= best[-1].threshold
    np.testing.assert_array_equal(model.predict(X), chosen.astype(int))
    assert all(e.details["curve"] for e in model.result_.evaluations)


def test_a_metric_that_bears_the_name_of_the_threshold_is_refused():
    odd = metrics.custom(lambda p, X, y, g: 0.0, name="threshold")
    with pytest.raises(DefinitionError, match="cannot be called 'threshold'"):
        measuring(metrics.loss("f1"), odd <= 1)


def test_undefined_metrics_say_what_is_missing():
    table = Table(X, Y, "binary", {"g": GROUP})
    sweep = ThresholdSweep({"f": metrics.false_positive_rate()}, "f", [])
    measure = measuring(metrics.loss("f1"), table=table)
    train, valid = measure.splits[0]
    with pytest.raises(Exception, match="no row has the class"):
        sweep.add(measure.trial(LOGIT, train, valid[Y[valid] == 1]))

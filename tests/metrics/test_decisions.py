"""Decisions at many thresholds: counted at once, and the same as one by one."""

from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.linear_model import LogisticRegression

from fenceline import metrics
from fenceline.metrics.decisions import confusion, rate
from fenceline.metrics.metric import REACH
from fenceline.metrics.trial import Table, Trial
from fenceline.pipelines.fitting.thresholds import decided

RNG = np.random.default_rng(3)
X = RNG.normal(size=(900, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=900) > 1.0).astype(int)
GROUPS = {"g": np.array(["a", "b", "c"])[RNG.integers(0, 3, 900)], "x": X[:, 2]}
MODEL = LogisticRegression().fit(X[:300], Y[:300])
ROWS = np.arange(300, 900)
LOG_ODDS = np.array([-4.0, -1.2, -0.3, 0.0, 0.4, 1.7, 40.0])
CUTS = 1 / (1 + np.exp(-LOG_ODDS))


def trial(weights=None):
    return Trial(MODEL, Table(X, Y, "binary", GROUPS, weights), ROWS)


def test_rows_are_counted_by_truth_and_decision():
    n = confusion(trial(), CUTS)
    score = MODEL.predict_proba(X[ROWS])[:, 1]
    for k, cut in enumerate(CUTS):
        expected = theirs.confusion_matrix(Y[ROWS], score >= cut)
        assert [n.tn[k, 0], n.fp[k, 0], n.fn[k, 0], n.tp[k, 0]] == expected.ravel().tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "metric",
    [
        metrics.false_positive_rate(),
        metrics.false_negative_rate(),
        metrics.demographic_parity_difference("g"),
        metrics.demographic_parity_difference("x", bins=[-0.5, 0.5]),
        metrics.selection_rate_ratio("g"),
        metrics.equalized_odds_difference("g"),
        metrics.score_gap("recall", "g"),
        metrics.score_gap("f1", "g"),
        *map(
            metrics.score,
            [
                "accuracy",
                "balanced_accuracy",
                "f1",
                "f1_macro",
                "jaccard",
                "matthews_corrcoef",
                "precision",
                "precision_weighted",
                "recall",
                "recall_macro",
            ],
        ),
        metrics.loss("precision"),
        metrics.loss(metrics.selection_rate_ratio("g")),
        metrics.robustness("accuracy", noise=0.5),
    ],
    ids=lambda metric: metric.name,
)
def test_a_sweep_reads_what_the_metric_reads_at_each_threshold(metric, weighted):
    weights = np.random.default_rng(4).uniform(0.2, 3.0, 900) if weighted else None
    sweep = metric.sweep(trial(weights), CUTS)
    alone = [metric.parts(decided(trial(weights), t)) for t in LOG_ODDS]
    np.testing.assert_allclose(sweep.parts, alone, atol=1e-12)
    np.testing.assert_allclose(
        metric.combine_each(sweep.parts), [metric.combine(p) for p in alone], atol=1e-12
    )


def test_what_takes_more_than_scores_has_no_sweep():
    assert metrics.custom(lambda p, X, y, g: 0.0, name="cost").sweep(trial(), CUTS) is None
    assert metrics.score("adjusted_rand_score").sweep(trial(), CUTS) is None


def test_the_variance_of_a_rate_is_binomial_and_never_none():
    value, variance = rate(np.array([90.0, 0.0]), np.array([300.0, 50.0]))
    assert value.tolist() == [0.3, 0.0]
    assert np.sqrt(variance[0]) == pytest.approx(np.sqrt(0.3 * 0.7 / 300), rel=0.01)
    assert 0.01 < np.sqrt(variance[1]) < 0.03


@pytest.mark.parametrize(
    "metric",
    [
        metrics.false_positive_rate(),
        metrics.demographic_parity_difference("g"),
        metrics.selection_rate_ratio("g"),
        metrics.equalized_odds_difference("g"),
        metrics.loss("balanced_accuracy"),
        metrics.loss("f1"),
        metrics.score("precision"),
    ],
    ids=lambda metric: metric.name,
)
def test_errors_by_the_number_of_rows_are_those_of_resampled_rows(metric):
    known = trial()
    sweep = metric.sweep(known, CUTS[3:4])
    error = metric.error(sweep.parts, sweep.variances)[0]
    even, rng = decided(known, 0.0), np.random.default_rng(0)
    drawn = [metric.parts(even, rng.integers(0, 600, 600)) for _ in range(400)]
    if metric.contrast == "none":
        assert error == pytest.approx(np.std([metric.combine(p) for p in drawn]), rel=0.2)
        return
    # Of all pairs of groups, the one that leads farthest counts.
    compare = {"gap": lambda a, b: a - b, "ratio": lambda a, b: 1 - a / b}[metric.contrast]
    blocks = np.array(drawn).reshape(400, metric.blocks, -1)
    at = sweep.parts.reshape(metric.blocks, -1)
    ends = [
        compare(at[k, i], at[k, j]) + REACH * np.std(compare(blocks[:, k, i], blocks[:, k, j]))
        for k in range(metric.blocks)
        for i, j in permutations(range(at.shape[1]), 2)
    ]
    value = metric.combine(sweep.parts[0])
    value = 1 - value if metric.contrast == "ratio" else value
    assert value + REACH * error == pytest.approx(max(ends), rel=0.2)


def test_a_small_group_near_the_others_counts_in_the_error_of_a_gap():
    metric = metrics.demographic_parity_difference("g")
    parts, variances = np.array([0.30, 0.35, 0.33]), np.array([1e-4, 1e-4, 1e-4])
    known = metric.error(parts, variances)
    assert known == pytest.approx(np.sqrt(2e-4))
    # The third group has few rows: at 2.5 errors its pair leads to .03 + 2.5 * .0806, not to .05 + .035.
    variances[2] = 64e-4
    assert metric.error(parts, variances) == pytest.approx(
        (0.03 + 2.5 * np.sqrt(65e-4) - 0.05) / 2.5
    )


def test_weighted_rows_are_known_less_well_than_as_many_equal_ones():
    metric = metrics.false_positive_rate()
    errors = []
    for weights in (None, np.ones(900), np.where(np.arange(900) % 10, 0.1, 5.0)):
        sweep = metric.sweep(trial(weights), CUTS[2:3])
        errors.append(metric.error(sweep.parts, sweep.variances)[0])
    assert errors[0] == pytest.approx(errors[1])
    assert errors[2] > 2 * errors[0]

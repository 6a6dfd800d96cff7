import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin

from fenceline import metrics
from fenceline.certificate.certify import Certificate, Check, certify, uncertified
from fenceline.errors import DefinitionError
from fenceline.metrics import Table, Trial


class Says(ClassifierMixin, BaseEstimator):
    """Predicts what the first column says."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


class Ranks(Says):
    """Ranks by the first column."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def ranked(rng, *aurocs, n=200):
    """Draw unseen rows on which a pipeline has exactly these AUROCs, one for each group."""
    group, true = np.arange(n) % 2, np.arange(n) // 2 % 2
    shift = math.sqrt(2) * norm.ppf(np.asarray(aurocs))[group % len(aurocs)]
    X = (rng.normal(size=n) + true * shift)[:, None]
    return Trial(Ranks(), Table(X, true, "binary", {"g": group}), np.arange(n))


def trial(predicted, true, group=None):
    groups = {} if group is None else {"g": np.asarray(group)}
    X = np.asarray(predicted, dtype=float)[:, None]
    return Trial(Says(), Table(X, np.asarray(true), "binary", groups), np.arange(len(X)))


def certificate(given, *constraints, **settings):
    known = {c.metric: metrics.as_metric(c) for c in constraints}
    return certify(given, constraints, known, **settings)


def simulated(rng, metric):
    """Draw unseen rows of a pipeline whose true value of the metric is exactly 0.2."""
    n = 300
    if metric == "false_positive_rate":
        return trial(rng.random(n) < 0.2, np.arange(n) % 8 == 0)
    if metric == "demographic_parity_difference(g)":
        group = np.arange(n) % 2
        return trial(rng.random(n) < np.where(group, 0.5, 0.3), np.arange(n) // 2 % 2, group)
    if metric == "equalized_odds_difference(g)":
        group = np.arange(n) % 2
        return trial(rng.random(n) < np.where(group, 0.6, 0.4), np.arange(n) // 2 % 2, group)
    true = np.arange(n) % 2
    return trial(np.where(rng.random(n) < 0.2, 1 - true, true), true)


@pytest.mark.parametrize(
    "metric",
    [
        "false_positive_rate",
        "demographic_parity_difference(g)",
        "equalized_odds_difference(g)",
        "loss(accuracy)",
    ],
)
def test_false_certificates_stay_under_the_stated_rate(metric, monkeypatch):
    # At the bound itself a certificate is wrong most often; beyond it, less.
    monkeypatch.setattr("fenceline.certificate.bounds.RESAMPLES", 40)
    rng = np.random.default_rng(0)
    fence = metrics.parse(metric) <= 0.2 - 1e-9
    runs, risk = 120, 0.1
    wrong = sum(
        certificate(simulated(rng, metric), fence, confidence=1 - risk).status == "certified"
        for _ in range(runs)
    )
    # Three standard deviations of the count itself.
    assert wrong <= risk * runs + 3 * math.sqrt(runs * risk * (1 - risk))


@pytest.mark.parametrize(
    ("fence", "aurocs"),
    [
        (metrics.score_gap("roc_auc", "g") <= 0.1 - 1e-9, (0.9, 0.8)),
        (metrics.score("roc_auc") >= 0.97 + 1e-9, (0.97,)),
    ],
    ids=["gap", "near 1"],
)
def test_rankings_do_not_deceive_the_certificate(fence, aurocs, monkeypatch):
    monkeypatch.setattr("fenceline.certificate.bounds.RESAMPLES", 60)
    rng = np.random.default_rng(0)
    runs, risk = 150, 0.1
    wrong = sum(
        certificate(ranked(rng, *aurocs), fence, confidence=1 - risk).status == "certified"
        for _ in range(runs)
    )
    assert wrong <= risk * runs + 3 * math.sqrt(runs * risk * (1 - risk))


def test_a_gap_far_inside_its_bound_is_certified():
    fence = metrics.score_gap("roc_auc", "g") <= 0.15
    given = ranked(np.random.default_rng(0), 0.9, 0.9, n=4000)
    assert certificate(given, fence).status == "certified"


def test_a_perfect_ranking_is_not_taken_for_certain():
    true = np.arange(40) // 2 % 2
    table = Table(true[:, None] - 0.5, true, "binary", {"g": np.arange(40) % 2})
    given = certificate(
        Trial(Ranks(), table, np.arange(40)), metrics.score_gap("roc_auc", "g") <= 0.05
    )
    assert given.checks[0].value == 0.0
    assert given.status == "feasible"


def test_a_ratio_is_certified_from_below():
    group = np.arange(4000) % 2
    given = trial(np.arange(4000) // 2 % 2, np.arange(4000) // 4 % 2, group)
    (check,) = certificate(given, metrics.selection_rate_ratio("g") >= 0.8).checks
    assert check.verdict == "certified"
    assert 0.8 < check.low < check.value == 1.0
    nobody = trial(np.zeros(40), np.arange(40) // 2 % 2, np.arange(40) % 2)
    assert certificate(nobody, metrics.selection_rate_ratio("g") >= 0.8).status == "feasible"


def test_rare_events_do_not_deceive_the_certificate(monkeypatch):
    # Selected: 1 % of one group and 6 % of the other. Few rows show it.
    monkeypatch.setattr("fenceline.certificate.bounds.RESAMPLES", 40)
    rng = np.random.default_rng(0)
    fence = metrics.demographic_parity_difference("g") <= 0.05 - 1e-9
    runs, risk, group = 120, 0.1, np.arange(200) % 2
    wrong = 0
    for _ in range(runs):
        given = trial(rng.random(200) < np.where(group, 0.06, 0.01), np.arange(200) // 2 % 2, group)
        wrong += certificate(given, fence, confidence=1 - risk).status == "certified"
    assert wrong <= risk * runs + 3 * math.sqrt(runs * risk * (1 - risk))


def test_together_many_constraints_fail_no_more_often_than_one(monkeypatch):
    monkeypatch.setattr("fenceline.certificate.bounds.RESAMPLES", 40)
    rng = np.random.default_rng(0)
    wrong = 0
    runs, risk = 150, 0.2
    for _ in range(runs):
        tried = [simulated(rng, "false_positive_rate") for _ in range(5)]
        fence = metrics.false_positive_rate() <= 0.2 - 1e-9
        wrong += any(
            certificate(t, fence, confidence=1 - risk, candidates=5, joint=True).status
            == "certified"
            for t in tried
        )
    assert wrong <= risk * runs + 3 * math.sqrt(runs * risk * (1 - risk))


def test_every_constraint_is_tested_at_the_full_risk_unless_bounds_are_to_hold_together():
    true = np.repeat([0, 1], 1000)
    predicted = np.concatenate([np.arange(1000) < 100, np.ones(1000)])
    fences = [metrics.false_positive_rate() <= 0.2, metrics.false_negative_rate() <= 0.2]
    alone, among, joint = (
        certificate(trial(predicted, true), *given, **settings)
        for given, settings in (
            (fences[:1], {}),
            (fences, {"candidates": 9}),
            (fences, {"candidates": 9, "joint": True}),
        )
    )
    assert among.checks[0].high == alone.checks[0].high < joint.checks[0].high
    assert among.reach == alone.reach == pytest.approx(norm.ppf(0.95))
    assert joint.reach == pytest.approx(norm.ppf(1 - 0.05 / 18))
    assert "every constraint holds" in str(among)
    assert "all bounds hold together" in str(joint)


def test_two_sides_of_an_equality_are_tested_at_the_full_risk_each():
    true = np.repeat([0, 1], 1000)
    predicted = np.concatenate([np.arange(1000) < 100, np.ones(1000)])
    given = trial(predicted, true)
    (below,) = certificate(given, metrics.false_positive_rate() <= 0.2).checks
    (equal,) = certificate(given, metrics.false_positive_rate().equals(0.1, 0.05)).checks
    assert equal.high == below.high


def test_what_has_a_reason_against_it_is_never_certified():
    fence = metrics.size_mb() <= 1
    held = Check(fence, 0.5, -math.inf, 0.5, "certified")
    assert Certificate((held,), 0.95, 100, 3).status == "certified"
    late = Certificate((held,), 0.95, 100, 3, "its turn never came")
    assert late.status == "feasible"
    assert str(late).startswith("feasible (not certified): its turn never came")


def test_a_pipeline_far_inside_is_certified_with_value_bound_and_margin():
    true = np.arange(1000) % 2
    given = certificate(trial(true, true), metrics.false_positive_rate() <= 0.1)
    (check,) = given.checks
    assert given.status == "certified"
    assert check.value == 0.0
    # The exact bound for no event in 500: 1 - 0.05 ** (1 / 500).
    assert check.high == pytest.approx(1 - 0.05 ** (1 / 500))
    assert check.margin == pytest.approx(0.1 - check.high)


def test_a_pipeline_near_its_bound_is_feasible_but_not_certified():
    true = np.repeat([0, 1], 100)
    predicted = np.concatenate([np.arange(100) < 9, np.ones(100)])
    given = certificate(trial(predicted, true), metrics.false_positive_rate() <= 0.1)
    assert given.status == "feasible"
    assert given.checks[0].margin < 0
    assert "not certified" in str(given)


def test_a_pipeline_beyond_its_bound_is_infeasible():
    true = np.repeat([0, 1], 100)
    given = certificate(trial(np.ones(200), true), metrics.false_positive_rate() <= 0.1)
    assert given.status == "infeasible"


def test_one_broken_constraint_decides():
    true = np.arange(400) % 2
    fences = [metrics.false_positive_rate() <= 0.1, metrics.score("accuracy") <= 0.5]
    assert certificate(trial(true, true), *fences).status == "infeasible"


def test_a_lower_bound_is_certified_from_below():
    true = np.arange(1000) % 2
    given = certificate(trial(true, true), metrics.score("accuracy") >= 0.9)
    assert given.status == "certified"
    assert 0.9 < given.checks[0].low < 1.0
    assert given.checks[0].high == math.inf


def test_an_equality_is_certified_from_both_sides():
    true = np.repeat([0, 1], 2000)
    predicted = np.concatenate([np.arange(2000) % 2, np.ones(2000)])
    given = certificate(trial(predicted, true), metrics.false_positive_rate().equals(0.5, 0.1))
    assert given.status == "certified"
    assert 0.4 < given.checks[0].low < 0.5 < given.checks[0].high < 0.6


def test_a_rate_of_zero_is_not_taken_for_certain():
    true = np.arange(40) % 2
    given = certificate(
        trial(true * 0, true, true), metrics.demographic_parity_difference("g") <= 0.05
    )
    assert given.checks[0].value == 0.0
    assert given.status == "feasible"


def test_sizes_are_exact():
    given = certificate(trial([0, 1], [0, 1]), metrics.size_mb() <= 1)
    assert given.checks[0].high == given.checks[0].value
    assert given.status == "certified"


def test_a_function_of_the_users_own_is_certified_by_resampling():
    def errors(pipeline, X, y, groups):
        return float(np.mean(pipeline.predict(X) != y))

    true = np.arange(1000) % 2
    given = certificate(trial(true, true), metrics.custom(errors) <= 0.1)
    assert given.status == "certified"


def mistakes(pipeline, X, y, groups):
    return float(np.mean(pipeline.predict(X) != y))


@pytest.mark.parametrize(("until", "calls"), [(math.inf, 51), (-math.inf, 11)])
def test_when_time_is_up_a_slow_function_is_called_no_more_often_than_is_needed(until, calls):
    called = []

    def slow(pipeline, X, y, groups):
        called.append(len(y))
        return mistakes(pipeline, X, y, groups)

    given = simulated(np.random.default_rng(0), "loss(accuracy)")
    (check,) = certificate(given, metrics.custom(slow) <= 0.3, until=until).checks
    assert called == [300] * calls
    assert check.value < check.high < check.value + 0.15


def test_few_samples_make_no_more_false_certificates():
    # Without Student's t there are twice as many as stated.
    rng = np.random.default_rng(0)
    fence = metrics.custom(mistakes) <= 0.2 - 1e-9
    runs, risk = 2000, 0.01
    wrong = 0
    for seed in range(runs):
        given = simulated(rng, "loss(accuracy)")
        late = certificate(given, fence, confidence=1 - risk, until=-math.inf, random_state=seed)
        wrong += late.status == "certified"
    assert wrong <= risk * runs + 3 * math.sqrt(runs * risk * (1 - risk))


def test_without_unseen_rows_nothing_is_certified():
    fence = metrics.size_mb() <= 1
    given = uncertified([fence], {"size_mb": 0.5})
    assert given.status == "feasible"
    assert "too few rows" in str(given)
    assert uncertified([fence], {"size_mb": 2.0}).status == "infeasible"
    interrupted = uncertified([fence], {"size_mb": 0.5}, "interrupted")
    assert str(interrupted).startswith("feasible (not certified): interrupted\n")


def test_a_certificate_reads_as_text():
    fence = metrics.size_mb() <= 1
    text = str(Certificate((Check(fence, 0.5, -math.inf, 0.6, "certified"),), 0.95, 100, 3))
    assert (
        text
        == "certified, at 95% confidence on 100 unseen rows: every constraint holds\n  size_mb <= 1: 0.5, at most 0.6: certified"
    )


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(DefinitionError, match="confidence"):
        certificate(trial([0, 1], [0, 1]), metrics.size_mb() <= 1, confidence=confidence)

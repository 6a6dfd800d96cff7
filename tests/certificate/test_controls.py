import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from fenceline import metrics
from fenceline.certificate.certify import certify
from fenceline.certificate.controls import KINDS, Control, Controls
from fenceline.certificate.parts import FEWEST, of_shares, parts_of
from fenceline.errors import MeasurementError
from fenceline.metrics import Table, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.prepare import preparation

METRICS = [
    metrics.false_positive_rate(),
    metrics.score("recall"),
    metrics.score("precision"),
    metrics.score("accuracy"),
    metrics.score("roc_auc"),
    metrics.score_gap("roc_auc", "g"),
    metrics.score_gap("accuracy", "g"),
    metrics.worst_group("recall", "g"),
    metrics.demographic_parity_difference("g"),
    metrics.selection_rate_ratio("g"),
    metrics.equalized_odds_difference("g"),
]
SEARCHED, UNSEEN = 2400, 600


class Ranks(ClassifierMixin, BaseEstimator):
    """Ranks by the first column."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def drawn(rng, rows, shared, models=2):
    """Draw rows on which models rank alike, as far as they share the noise of the rows."""
    y, g = np.arange(rows) % 2, np.arange(rows) // 2 % 2
    noise = rng.normal(size=(rows, 1))
    own = rng.normal(size=(rows, models))
    scores = 1.2 * y[:, None] - 0.6 + math.sqrt(shared) * noise + math.sqrt(1 - shared) * own
    return [
        Trial(Ranks(), Table(scores[:, [i]], y, "binary", {"g": g}), np.arange(rows))
        for i in range(models)
    ]


def alone(searched, unseen):
    """Return controls of a single kind."""
    return Controls([Control(searched, unseen)])


def pair(rng, shared=0.9):
    """Return a trial on unseen rows, and the control beside it."""
    tested, booster = drawn(rng, UNSEEN, shared)
    return tested, alone(drawn(rng, SEARCHED, shared, 1), [booster])


def bounds(metric, trial, controls):
    fence = metric >= 0.01 if metric.larger_is_better else metric <= 0.99
    [check] = certify(trial, [fence], {metric.name: metric}, controls=controls).checks
    return check.value, check.low if metric.larger_is_better else check.high


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_values_lie_nearer_to_the_truth_and_bounds_nearer_to_values(metric):
    rng = np.random.default_rng(0)
    plain, steadied, reaches = [], [], []
    for _ in range(60):
        trial, control = pair(rng)
        value, edge = bounds(metric, trial, None)
        better, nearer = bounds(metric, trial, control)
        plain.append(value)
        steadied.append(better)
        reaches.append(abs(nearer - better) / abs(edge - value))
    # Four fifths of the rows are those of the search, and nine tenths of the noise are shared.
    assert np.median(reaches) < 0.9
    assert np.std(steadied) < 0.9 * np.std(plain)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_bounds_are_wrong_no_more_often_than_they_may_be(metric):
    rng = np.random.default_rng(1)
    [many] = drawn(rng, 400_000, 0.9, 1)
    truth = metric.value(many)
    runs, wrong = 300, 0
    for _ in range(runs):
        _, edge = bounds(metric, *pair(rng))
        wrong += edge > truth if metric.larger_is_better else edge < truth
    assert wrong <= 0.05 * runs + 3 * math.sqrt(runs * 0.05 * 0.95)


def test_a_certificate_says_whose_luck_it_left_out():
    trial, control = pair(np.random.default_rng(0))
    metric = metrics.score("roc_auc")
    known = {metric.name: metric}
    assert str(certify(trial, [metric >= 0.5], known)).startswith(
        "certified, at 95% confidence on 600 unseen rows: every constraint holds"
    )
    certificate = certify(trial, [metric >= 0.5], known, controls=control)
    assert certificate.compared == SEARCHED
    assert str(certificate).startswith(
        "certified, at 95% confidence on 600 unseen rows, whose luck is told by 2400 others: every"
    )


def test_a_control_that_has_nothing_in_common_changes_next_to_nothing():
    rng = np.random.default_rng(2)
    for metric in METRICS:
        trial, control = pair(rng, shared=0.0)
        value, edge = bounds(metric, trial, None)
        other, further = bounds(metric, trial, control)
        assert abs(other - value) < 0.3 * abs(edge - value)
        assert abs(further - other) > 0.9 * abs(edge - value)


def test_too_few_rows_of_a_kind_have_the_bounds_that_they_had():
    rng = np.random.default_rng(3)
    metric = metrics.false_positive_rate()
    trial, controls = pair(rng)
    [control] = controls.kinds
    few = Trial(trial.pipeline, trial.table, np.arange(20))
    assert parts_of(metric, few)[0].rarer < FEWEST
    beside = Trial(control.unseen[0].pipeline, control.unseen[0].table, np.arange(20))
    assert bounds(metric, few, alone(control.searched, [beside])) == bounds(metric, few, None)


def test_a_metric_that_a_fold_cannot_measure_is_bounded_without():
    rng = np.random.default_rng(4)
    trial, controls = pair(rng)
    [control] = controls.kinds
    metric = metrics.equalized_odds_difference("g")
    of_one_class = Trial(
        control.searched[0].pipeline, control.searched[0].table, np.arange(0, 90, 2)
    )
    with pytest.raises(MeasurementError, match="no positive row"):
        metric.value(of_one_class)
    assert bounds(metric, trial, alone([of_one_class], control.unseen)) == bounds(
        metric, trial, None
    )


def several(rng, kinds=4, unseen=UNSEEN, shared=0.6):
    """Return a trial on unseen rows, and controls each of which has noise of its own beside what all share."""
    here, there = (drawn(rng, rows, shared, kinds + 1) for rows in (SEARCHED, unseen))
    tested, *beside = there
    return tested, Controls([Control([a], [b]) for a, b in zip(here[1:], beside, strict=True)])


@pytest.mark.parametrize("metric", METRICS[::4], ids=str)
def test_several_controls_tell_more_than_one(metric):
    rng = np.random.default_rng(5)
    nearer = []
    for _ in range(30):
        trial, controls = several(rng)
        reaches = [
            abs(np.subtract(*bounds(metric, trial, some)))
            for some in (Controls(controls.kinds[:1]), controls)
        ]
        nearer.append(reaches[1] / reaches[0])
    assert np.median(nearer) < 0.97


@pytest.mark.parametrize("rows", [120, UNSEEN])
@pytest.mark.parametrize("metric", METRICS[::2], ids=str)
def test_bounds_with_several_controls_are_wrong_no_more_often_than_they_may_be(metric, rows):
    rng = np.random.default_rng(6)
    [many] = drawn(rng, 400_000, 0.6, 1)
    truth = metric.value(many)
    runs, wrong = 100, 0
    for _ in range(runs):
        _, edge = bounds(metric, *several(rng, unseen=rows))
        wrong += edge > truth if metric.larger_is_better else edge < truth
    assert wrong <= 0.05 * runs + 3 * math.sqrt(runs * 0.05 * 0.95)


def test_of_few_rows_only_as_many_controls_are_asked_as_these_can_tell_apart():
    rng = np.random.default_rng(7)
    metric = metrics.false_positive_rate()
    trial, controls = several(rng, shared=0.95)
    few = Trial(trial.pipeline, trial.table, np.arange(110))
    assert 2 * FEWEST <= parts_of(metric, few)[0].rarer < 3 * FEWEST
    kinds = [
        Control(kind.searched, [Trial(one.pipeline, one.table, few.rows) for one in kind.unseen])
        for kind in controls.kinds
    ]
    assert bounds(metric, few, Controls(kinds)) == bounds(metric, few, Controls(kinds[:2]))
    assert bounds(metric, few, Controls(kinds)) != bounds(metric, few, Controls(kinds[:1]))


def test_where_groups_are_compared_a_control_chooses_as_many_of_each():
    rng = np.random.default_rng(8)
    trial, controls = pair(rng)
    [control] = controls.kinds
    g = trial.table.groups["g"]
    uneven = Trial(trial.pipeline, trial.table, trial.rows, cuts=np.where(g == 1, 1.0, -0.5))
    chosen = uneven.answers.predict(trial.rows)
    for metric, by_group in (
        (metrics.equalized_odds_difference("g"), True),
        (metrics.false_positive_rate(), False),
    ):
        [beside] = control.like(metric, uneven).unseen
        found = beside.answers.predict(trial.rows)
        assert found.sum() == chosen.sum()
        assert (found[g == 1].sum() == chosen[g == 1].sum()) == by_group


def table(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
    return Table(X, y, "binary", {"g": (X[:, 1] > 0).astype(int)})


def measure(known, **settings):
    return CrossValidation(known, {m.name: m for m in METRICS}, **settings)


def test_a_control_is_fitted_in_folds_of_the_search_and_knows_no_unseen_label():
    known = table()
    search, unseen = np.arange(0, 600, 2), np.arange(1, 600, 2)
    controls = Controls.fit(
        measure(known, preparation=preparation(known.X)), search, unseen, math.inf
    )
    assert len(controls.kinds) == len(KINDS)
    assert controls.rows == len(search)
    turned = known.y.copy()
    turned[unseen] = 1 - turned[unseen]
    other = Table(known.X, turned, "binary", known.groups)
    again = Controls.fit(measure(other, preparation=preparation(known.X)), search, unseen, math.inf)
    for control, same in zip(controls.kinds, again.kinds, strict=True):
        assert np.array_equal(np.sort(np.concatenate([t.rows for t in control.searched])), search)
        assert all(np.array_equal(trial.rows, unseen) for trial in control.unseen)
        for one, two in zip(control.unseen, same.unseen, strict=True):
            assert np.array_equal(one.response, two.response)


def test_a_control_has_no_folds_that_there_is_no_time_for():
    known = table()
    given = measure(known, preparation=preparation(known.X)), np.arange(300), np.arange(300, 600)
    assert Controls.fit(*given, -math.inf) is None
    assert len(Controls.fit(*given, math.inf).kinds[0].searched) == 3


def test_a_kind_that_cannot_learn_from_a_table_is_left_out(monkeypatch):
    known = table()
    fitted = CrossValidation.trial

    def without_forests(self, configuration, *rest):
        if configuration["estimator"].algorithm == "ExtraTrees":
            raise ValueError("no forest takes this")
        return fitted(self, configuration, *rest)

    monkeypatch.setattr(CrossValidation, "trial", without_forests)
    given = measure(known, preparation=preparation(known.X)), np.arange(300), np.arange(300, 600)
    assert len(Controls.fit(*given, math.inf).kinds) == len(KINDS) - 1


def test_shares_are_told_from_other_metrics():
    assert all(map(of_shares, METRICS))
    others = [metrics.size_mb(), metrics.score("f1"), metrics.robustness("accuracy", 0.1)]
    assert not any(map(of_shares, others))

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from fenceline import metrics
from fenceline.metrics import Table, Trial
from fenceline.pipelines.fitting.group_thresholds import decided_by_group
from fenceline.pipelines.group_sweep import GroupSweep
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.pipelines.threshold_sweep import ThresholdSweep

GROUPING = ("g", ())


class Says(ClassifierMixin, BaseEstimator):
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.stack([1 - expit(X[:, 0]), expit(X[:, 0])], axis=1)

    def predict(self, X):
        return (X[:, 0] >= 0).astype(int)


def trial(groups=2, rows=900, seed=0, weights=None):
    """Return a pipeline whose scores of one group lie higher than those of the next."""
    rng = np.random.default_rng(seed)
    g, y = rng.integers(0, groups, rows), rng.integers(0, 2, rows)
    scores = rng.normal(size=rows) + 1.5 * y + 0.8 * g
    table = Table(scores[:, None], y, "binary", {"g": g}, weights)
    return Trial(Says(), table, np.arange(rows))


LOSS = metrics.loss("balanced_accuracy")
DPD = metrics.demographic_parity_difference("g")
FPR = metrics.false_positive_rate()
EOD = metrics.equalized_odds_difference("g")
KNOWN = {m.name: m for m in (LOSS, DPD, FPR, EOD)}


def swept(given, constraints, sweep=GroupSweep):
    more = (GROUPING,) if sweep is GroupSweep else ()
    found = sweep(KNOWN, LOSS.name, constraints, *more)
    found.add(given)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
def test_metrics_at_a_combination_are_those_of_the_decisions(groups, weighted):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 900) if weighted else None
    given = trial(groups, weights=weights)
    found = swept(given, [DPD <= 0.1])
    for at in (0, len(found.curve.log_odds) - 1):
        decided = decided_by_group(given, tuple(found.thresholds[at]), GROUPING)
        for name, metric in KNOWN.items():
            assert found.curve.values[name][at] == pytest.approx(metric.value(decided))
            reading = found.readings(at)[0][name]
            assert metric.combine(reading.parts) == pytest.approx(metric.value(decided))
        chosen = decided.answers.predict(np.arange(900))
        share = np.average(chosen, weights=weights)
        assert found.curve.selected[at] == pytest.approx(share)


def test_for_two_groups_no_pair_of_thresholds_is_better():
    given, fence = trial(2), [DPD <= 0.05, FPR <= 0.3]
    found = swept(given, fence)
    best = found.curve.values[LOSS.name][found.choose()]
    for pair in itertools.product(*found._grids):
        other = decided_by_group(given, pair, GROUPING)
        if DPD.value(other) <= 0.05 and FPR.value(other) <= 0.3:
            assert LOSS.value(other) >= best - 1e-12


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_groups_with_thresholds_of_their_own_lose_less_than_one_threshold_for_all(groups):
    given, fence = trial(groups), [DPD <= 0.05]
    alone, own = swept(given, fence, ThresholdSweep), swept(given, fence)
    at = own.choose()
    assert own.curve.values[DPD.name][at] <= 0.05
    # One threshold keeps the bound only where nearly everybody, or nobody, is chosen.
    assert own.curve.values[LOSS.name][at] < alone.curve.values[LOSS.name][alone.choose()] - 0.1


def test_folds_are_averaged_before_a_combination_is_chosen():
    found = GroupSweep(KNOWN, LOSS.name, [DPD <= 0.05], GROUPING)
    folds = [trial(seed=seed) for seed in (1, 2, 3)]
    for fold in folds:
        found.add(fold)
    at = found.choose()
    decided = [decided_by_group(fold, tuple(found.thresholds[at]), GROUPING) for fold in folds]
    mean = np.mean([LOSS.value(one) for one in decided])
    assert found.curve.values[LOSS.name][at] == pytest.approx(mean)
    assert DPD.combine(np.mean([DPD.parts(one) for one in decided], axis=0)) <= 0.05


def test_a_curve_by_group_is_written_and_read_and_stays_short():
    found = swept(trial(3), [DPD <= 0.05])
    at = found.choose()
    kept = found.curve.thinned(at)
    again = ThresholdCurve.from_dict(kept.to_dict())
    np.testing.assert_allclose(again.by_group, kept.by_group, rtol=1e-3)
    assert isinstance(again.threshold(0), tuple)
    assert len(str(kept.to_dict())) < 4500

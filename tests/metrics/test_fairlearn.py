"""Our vectorised fairness metrics are fairlearn's, on random data."""

import numpy as np
import pytest

from fenceline import metrics
from fenceline.metrics.trial import Table, Trial

theirs = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

NAMES = {
    "demographic_parity_difference": theirs.demographic_parity_difference,
    "equalized_odds_difference": theirs.equalized_odds_difference,
    "selection_rate_ratio": theirs.demographic_parity_ratio,
}


class Oracle:
    """Answer with decisions made beforehand, found by the only column of X."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, decisions):
        self.decisions = decisions

    def predict(self, X):
        return self.classes_[self.decisions[X[:, 0].astype(int)]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_fairlearn(name, weighted, seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(60, 400))
    truth = rng.integers(0, 2, rows)
    decisions = np.where(rng.random(rows) < 0.7, truth, rng.integers(0, 2, rows))
    group = rng.choice(list("abcd")[: int(rng.integers(2, 5))], rows)
    weights = rng.uniform(0.1, 3, rows) if weighted else None
    table = Table(
        np.arange(rows)[:, None], Oracle.classes_[truth], "binary", {"group": group}, weights
    )
    ours = getattr(metrics, name)("group").value(Trial(Oracle(decisions), table, np.arange(rows)))
    expected = NAMES[name](truth, decisions, sensitive_features=group, sample_weight=weights)
    assert ours == pytest.approx(expected, abs=1e-12)

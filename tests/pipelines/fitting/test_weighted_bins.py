"""Bins of weighted rows, found in one go: the same as scikit-learn's, and for fewer sorts."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting import binning

from fenceline.pipelines.fitting.weighted_bins import weighted_bins_at_once

pytestmark = pytest.mark.skipif(
    not hasattr(binning, "_weighted_percentile"),
    reason="this scikit-learn leaves weights out of its bins",
)


def rows(missing=False):
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [rng.normal(size=2000), rng.integers(0, 900, 2000), rng.integers(0, 9, 2000)]
    )
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=2000) > 0).astype(int)
    return X, y, rng.choice([0.0, 0.3, 0.7, 1.0, 2.5], 2000)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("unit", [False, True], ids=["weighted", "ones"])
@pytest.mark.parametrize("max_bins", [255, 32])
def test_edges_and_predictions_are_those_of_scikit_learn_to_the_last_bit(missing, unit, max_bins):
    X, y, weights = rows(missing)
    weights = np.ones_like(weights) if unit else weights
    model = HistGradientBoostingClassifier(max_iter=5, max_bins=max_bins, early_stopping=False)
    one_by_one = model.fit(X, y, weights)
    edges, expected = one_by_one._bin_mapper.bin_thresholds_, one_by_one.predict_proba(X)
    with weighted_bins_at_once():
        model.fit(X, y, weights)
    for found, known in zip(model._bin_mapper.bin_thresholds_, edges, strict=True):
        assert np.array_equal(found, known)
    assert np.array_equal(model.predict_proba(X), expected)


def test_a_column_is_sorted_once_and_not_once_per_edge(monkeypatch):
    X, y, weights = rows()
    asked = []
    one_by_one = binning._weighted_percentile
    monkeypatch.setattr(
        binning, "_weighted_percentile", lambda *a, **k: asked.append(1) or one_by_one(*a, **k)
    )
    with weighted_bins_at_once():
        HistGradientBoostingClassifier(max_iter=1).fit(X, y, weights)
    assert not asked


def test_afterwards_scikit_learn_is_as_it_was_also_after_an_error():
    before = binning._weighted_percentile
    with pytest.raises(ZeroDivisionError), weighted_bins_at_once(), weighted_bins_at_once():
        raise ZeroDivisionError
    assert binning._weighted_percentile is before

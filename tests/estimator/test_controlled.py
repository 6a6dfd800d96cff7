"""When the certificate of a fit leaves out the luck of its unseen rows."""

import numpy as np
import pytest

from fenceline import FencelineClassifier, metrics
from fenceline.problem.space import Algorithm, Module, Space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = (X[:, 0] + RNG.normal(size=600) > 0).astype(int)
SPACE = Space([Module("model", [Algorithm("GaussianNB"), Algorithm("LogisticRegression")])])
FENCE = metrics.false_positive_rate() <= 0.45


def certificate(*fence, weights=None, **settings):
    model = FencelineClassifier("roc_auc", fence, SPACE, evaluations=2, **settings)
    return model.fit(X, Y, groups={"g": X[:, 1] > 0}, sample_weight=weights).certificate_


def test_the_rows_of_the_search_tell_how_lucky_the_unseen_ones_are():
    found = certificate(FENCE)
    assert found.status == "certified"
    assert found.compared == len(Y) - found.rows
    assert certificate(FENCE, metrics.size_mb() <= 1).compared == found.compared


@pytest.mark.parametrize(
    "settings",
    [{"joint": True}, {"unseen": list(range(400, 600))}, {"weights": np.ones(len(Y))}],
    ids=["bounds that are exact", "rows of its own", "weights"],
)
def test_where_luck_cannot_be_told_a_certificate_has_the_unseen_rows_alone(settings):
    assert certificate(FENCE, **settings).compared == 0


def test_what_says_nothing_of_labels_has_no_luck():
    assert certificate(metrics.size_mb() <= 1).compared == 0


def test_a_table_that_the_control_cannot_learn_from_is_certified_without(monkeypatch):
    def failing(*_):
        raise ValueError("no booster takes this")

    monkeypatch.setattr("fenceline.certificate.refits.Controls.fit", failing)
    found = certificate(FENCE)
    assert found.status == "certified"
    assert found.compared == 0

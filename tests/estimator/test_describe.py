import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fenceline import metrics
from fenceline.estimator.describe import describe
from fenceline.metrics.trial import Table, Trial

ROWS = 80
RNG = np.random.default_rng(0)
X = pd.DataFrame({"x": RNG.normal(size=ROWS), "sex": np.tile(["f", "m"], ROWS // 2)})
Y = np.where(X["x"] + RNG.normal(size=ROWS) > 0, "yes", "no")
SEARCH, UNSEEN = np.arange(60), np.arange(60, 80)


class First(LogisticRegression):
    """Looks at the first column alone."""

    def fit(self, X, y):
        return super().fit(X[["x"]], y)

    def predict(self, X):
        return super().predict(X[["x"]])


def trial(features=X, y=Y, task="binary", rows=UNSEEN, pipeline=None):
    return Trial(pipeline, Table(features, y, task, {"sex": X["sex"].to_numpy()}), rows)


def described(*compared, rows=UNSEEN):
    fitted = First().fit(X, Y)
    return describe(trial(pipeline=fitted, rows=rows), {m.name: m for m in compared}, SEARCH)


def test_rows_columns_and_classes_are_counted():
    holed = X.copy()
    holed.loc[:4, "x"] = np.nan
    found = describe(trial(holed), {}, SEARCH)
    assert (found["task"], found["search_rows"], found["unseen_rows"]) == ("binary", 60, 20)
    assert found["columns"][0] == {"name": "x", "kind": "float64", "missing": 5}
    assert found["target"] == {"no": float(sum(Y == "no")), "yes": float(sum(Y == "yes"))}
    assert found["groups"] == {}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_columns_without_names_are_numbered(kind):
    found = describe(trial(kind(np.eye(ROWS)[:, :2])), {}, SEARCH)
    assert found["columns"][1] == {"name": "column 1", "kind": "float64", "missing": 0}


def test_a_numeric_target_is_described_by_quantiles():
    found = describe(trial(y=np.arange(80.0), task="regression"), {}, SEARCH)
    assert found["target"] == {"smallest": 0.0, "median": 39.5, "largest": 79.0}


def test_groups_are_read_on_unseen_rows():
    parity = metrics.demographic_parity_difference("sex")
    found = described(parity)["groups"][parity.name]
    assert [(g["label"], g["rows"]) for g in found] == [("f", 10), ("m", 10)]
    shares = [g["compared"]["share predicted positive"] for g in found]
    fitted = First().fit(X, Y)
    positive = fitted.predict(X.iloc[UNSEEN]) == "yes"
    assert shares == [positive[::2].mean(), positive[1::2].mean()]


def test_equalized_odds_compares_two_rates():
    odds = metrics.equalized_odds_difference("sex")
    found = described(odds)["groups"][odds.name]
    assert list(found[0]["compared"]) == ["false-positive rate", "true-positive rate"]
    gaps = [abs(a - b) for a, b in zip(*(g["compared"].values() for g in found), strict=True)]
    assert max(gaps) == pytest.approx(odds.value(trial(pipeline=First().fit(X, Y))))


def test_a_group_without_unseen_rows_leaves_the_metric_out():
    parity = metrics.demographic_parity_difference("sex")
    assert described(parity, rows=UNSEEN[::2])["groups"] == {}
    assert described(parity, rows=UNSEEN[:0])["groups"] == {}


def test_it_can_be_written_as_json():
    found = described(metrics.score_gap("accuracy", "sex"))
    assert json.loads(json.dumps(found)) == found

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import fenceline as fl
from fenceline import FencelineClassifier, FencelineRegressor, metrics
from fenceline.errors import DefinitionError
from fenceline.pipelines import named_space, only

rng = np.random.default_rng(0)
ROWS = 400
TABLE = pd.DataFrame(
    {"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS), "patient": np.arange(ROWS) // 8}
)
Y = (TABLE["a"] + 0.5 * rng.normal(size=ROWS) > 0).astype(int)
SPACE = only(named_space("small"), "estimator", "GaussianNB")
FENCE = [metrics.false_positive_rate() <= 0.6]


def fitted(cv, **settings):
    given = {"evaluations": 2, "space": SPACE, "constraints": FENCE} | settings
    return FencelineClassifier("balanced_accuracy", cv=cv, **given).fit(TABLE, Y)


def test_a_time_series_is_measured_forwards_and_its_last_rows_certify(tmp_path):
    model = fitted(TimeSeriesSplit(3), unseen=0.25)
    assert model.certificate_.rows == 100
    assert model.result_.best.metrics["folds"] == 3
    model.save(tmp_path / "model.fence")
    assert fl.load(tmp_path / "model.fence").cv.n_splits == 3


def test_a_column_keeps_groups_together():
    model = fitted(GroupKFold(3), cv_group="patient")
    assert model.certificate_.rows % 8 == 0
    assert model.certificate_.rows > 0


def test_numbers_are_predicted_with_splitters_too():
    model = FencelineRegressor(cv=TimeSeriesSplit(2), evaluations=2)
    assert model.fit(TABLE, TABLE["a"] + TABLE["b"]).score(TABLE, TABLE["a"] + TABLE["b"]) > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": GroupKFold(3)}, "name a group or column with cv_group="),
        ({"cv": GroupKFold(3), "cv_group": "person"}, "no column or group 'person'"),
        ({"cv": GroupKFold(3), "cv_group": 3}, "cv_group must be the name"),
        ({"cv": 3, "cv_group": "patient"}, "is for a splitter as cv"),
        ({"cv": "three"}, "or a splitter of scikit-learn"),
        (
            {
                "cv": GroupKFold(3),
                "cv_group": "half",
                "constraints": [metrics.demographic_parity_difference("half") <= 0.5],
            },
            "only among the rows to certify on",
        ),
    ],
)
def test_what_cannot_be_split_is_refused_before_any_time_is_spent(settings, message):
    given = {"evaluations": 1, "space": SPACE, "constraints": FENCE} | settings
    with pytest.raises(DefinitionError, match=message):
        FencelineClassifier("balanced_accuracy", **given).fit(
            TABLE, Y, groups={"half": np.arange(ROWS) % 4}
        )


def test_folds_that_lack_a_compared_group_are_refused():
    early = np.where(np.arange(ROWS) < 200, "early", "late")
    dpd = metrics.demographic_parity_difference("age") <= 0.5
    model = FencelineClassifier("balanced_accuracy", [dpd], SPACE, cv=TimeSeriesSplit(3))
    with pytest.raises(DefinitionError, match=r"no row of the groups \['late'\] of 'age'"):
        model.fit(TABLE, Y, groups={"age": early})


def test_the_same_unseen_rows_are_counted_when_they_certify_again(tmp_path):
    model = FencelineClassifier(
        "balanced_accuracy", FENCE, SPACE, evaluations=1, cv=2, run_dir=tmp_path / "run"
    )
    assert model.fit(TABLE, Y).certificate_.earlier == 0
    again = model.fit(TABLE, Y).certificate_
    assert again.earlier == 1
    assert "asked 2 times" in str(again)
    assert "up to 10%" in str(again)
    # Another estimator in the same directory knows, too; one elsewhere cannot.
    other = FencelineClassifier(**model.get_params())
    assert other.fit(TABLE, Y).certificate_.earlier == 2
    other.set_params(run_dir=None, unseen=0.2)
    assert other.fit(TABLE, Y).certificate_.earlier == 0

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import fenceline as fl
from fenceline import FencelineClassifier, metrics
from fenceline.errors import DefinitionError
from fenceline.pipelines import named_space, only
from fenceline.pipelines.fitting.group_thresholds import GroupThresholds

rng = np.random.default_rng(0)
ROWS = 900
SEX = rng.choice(["f", "m"], ROWS)
TABLE = pd.DataFrame({"a": rng.normal(size=ROWS) + 0.8 * (SEX == "m"), "b": rng.normal(size=ROWS)})
Y = np.where(TABLE["a"] + 0.5 * rng.normal(size=ROWS) > 0.4, "yes", "no")
DPD = metrics.demographic_parity_difference("sex") <= 0.12
SPACE = only(named_space("small"), "estimator", "GaussianNB")


def decider(model=LogisticRegression, **thresholds):
    return GroupThresholds(model().fit(TABLE, Y), thresholds, "yes", "sex")


def test_each_group_is_decided_at_its_own_threshold():
    model = decider(f=0.2, m=0.9)
    likely = model.predict_proba(TABLE)[:, 1]
    expected = np.where(likely >= np.where(SEX == "f", 0.2, 0.9), "yes", "no")
    assert np.array_equal(model.predict(TABLE, groups={"sex": SEX}), expected)
    assert np.array_equal(model.predict(TABLE.assign(sex=SEX)[["a", "b"]], {"sex": SEX}), expected)
    scores = decider(RidgeClassifier, f=-0.5, m=0.5)
    assert set(scores.predict(TABLE, {"sex": SEX})) == {"yes", "no"}
    assert not hasattr(scores, "predict_proba")


@pytest.mark.parametrize("model", [LogisticRegression, RidgeClassifier])
def test_the_positive_class_may_be_the_first_in_order(model):
    fitted = model().fit(TABLE, Y)
    refuse = GroupThresholds(fitted, {"f": 9.0, "m": -9.0}, "no", "sex")
    assert np.array_equal(refuse.predict(TABLE, {"sex": SEX}) == "no", SEX == "m")
    even = 0.5 if hasattr(fitted, "predict_proba") else 0.0
    same = GroupThresholds(fitted, {"f": even, "m": even}, "no", "sex")
    assert np.array_equal(same.predict(TABLE, {"sex": SEX}), fitted.predict(TABLE))


def test_intervals_are_groups_too():
    ages = np.linspace(20, 60, ROWS)
    fitted = LogisticRegression().fit(TABLE, Y)
    model = GroupThresholds(fitted, {"< 40": 0.0, ">= 40": 1.1}, "yes", "age", (40.0,))
    assert np.array_equal(model.predict(TABLE, {"age": ages}) == "yes", ages < 40)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, r"needs 'sex' of every row: give predict\(X, groups="),
        ({"sex": SEX[:5]}, "one value for each of the 900 rows. Got 5"),
        ({"sex": np.where(np.arange(ROWS) == 3, "x", SEX)}, r"no threshold for the groups \['x'\]"),
        ({"sex": [None, *SEX[1:]]}, "'sex' is missing in 1 rows"),
    ],
)
def test_rows_whose_group_is_not_known_are_refused(groups, message):
    with pytest.raises(DefinitionError, match=message):
        decider(f=0.2, m=0.9).predict(TABLE, groups=groups)


@pytest.fixture(scope="module")
def fitted():
    model = FencelineClassifier(
        "balanced_accuracy",
        [DPD],
        SPACE,
        evaluations=2,
        cv=2,
        search_emphasis=False,
        group_thresholds=True,
    )
    with pytest.warns(UserWarning, match="unlawful in some uses"):
        return model.fit(TABLE, Y, groups={"sex": SEX})


def test_a_model_with_thresholds_by_group_keeps_the_fence_and_says_what_it_does(fitted):
    assert isinstance(fitted.best_pipeline_, GroupThresholds)
    assert set(fitted.best_pipeline_.thresholds) == {"f", "m"}
    assert {"threshold/f", "threshold/m"} <= set(fitted.best_metrics_)
    chosen = fitted.predict(TABLE, groups={"sex": SEX}) == "yes"
    assert abs(chosen[SEX == "f"].mean() - chosen[SEX == "m"].mean()) < 0.2
    assert "probability by sex: f" in fl.explain(fitted).text if hasattr(fl, "explain") else True
    with pytest.raises(DefinitionError, match="needs 'sex' of every row"):
        fitted.predict(TABLE)
    with pytest.raises(DefinitionError, match="fit without group_thresholds"):
        fitted.to_sklearn()


def test_it_loses_less_than_one_threshold_for_all(fitted):
    alone = FencelineClassifier(
        "balanced_accuracy", [DPD], SPACE, evaluations=2, cv=2, search_emphasis=False
    )
    alone.fit(TABLE, Y, groups={"sex": SEX})
    assert fitted.result_.best.objective < alone.result_.best.objective - 0.02


def test_the_certificate_is_that_of_the_decisions_by_group(fitted):
    check = fitted.certificate_.checks[0]
    assert fitted.certificate_.rows > 0
    assert 0 <= check.value < 0.2


def test_it_can_be_saved(fitted, tmp_path):
    fitted.save(tmp_path / "model.fence")
    again = fl.load(tmp_path / "model.fence")
    ours, theirs = (m.predict(TABLE, groups={"sex": SEX}) for m in (fitted, again))
    assert np.array_equal(ours, theirs)


def test_a_column_of_the_table_need_not_be_given_again():
    model = FencelineClassifier(
        "balanced_accuracy", [DPD], SPACE, evaluations=2, cv=2, group_thresholds=True, ensemble=2
    )
    framed = TABLE.assign(sex=SEX)
    with pytest.warns(UserWarning, match="unlawful"):
        model.fit(framed, Y)
    assert set(model.predict(framed)) == {"yes", "no"}
    assert model.score(framed, Y) > 0.6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"constraints": ["false_positive_rate <= 0.2"]},
            "neither constraints nor objective compare",
        ),
        ({"search_threshold": False}, "here none is computed"),
        (
            {"constraints": [DPD, metrics.equalized_odds_difference("b", bins=[0]) <= 0.3]},
            r"compares several groups \(b, sex\)",
        ),
        (
            {"constraints": [metrics.score_gap("roc_auc", "sex") <= 0.3], "objective": "roc_auc"},
            "depend on decisions",
        ),
        ({"group_thresholds": "yes"}, "group_thresholds must be True or False"),
        (
            {"constraints": [DPD, metrics.robustness("accuracy", noise=0.1) <= 0.5]},
            "takes more than the numbers of decisions",
        ),
    ],
)
def test_what_cannot_be_decided_by_group_is_refused_at_the_door(settings, message):
    asked = {
        "objective": "balanced_accuracy",
        "constraints": [DPD],
        "group_thresholds": True,
    } | settings
    with pytest.raises(DefinitionError, match=message):
        FencelineClassifier(**asked, space=SPACE, evaluations=1).fit(TABLE, Y, groups={"sex": SEX})

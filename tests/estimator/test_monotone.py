import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression

from fenceline import Algorithm, FencelineClassifier, FencelineRegressor, Module, Space
from fenceline.errors import FencelineError, InfeasibleError, MeasurementError
from fenceline.metrics.monotone import NAME, monotone_constraint
from fenceline.metrics.trial import Table, Trial
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.monotone import monotone_only, signs_reaching, told
from fenceline.pipelines.fitting.prepare import preparation
from fenceline.pipelines.spaces.catalogue import named_space

RNG = np.random.default_rng(0)
ROWS = 200
X = pd.DataFrame(
    {
        "town": RNG.choice(["a", "b"], ROWS),
        "income": RNG.normal(size=ROWS),
        "debt": RNG.normal(size=ROWS),
    }
)
# Beyond an income of 1 the truth turns back, so that a free model does, too.
RISE = np.where(X.income > 1, 1 - 3 * X.income, X.income) - X.debt
Y = np.where(RISE + 0.3 * RNG.normal(size=ROWS) > 0, "paid", "late")


def one(name):
    return Space([Module("estimator", [Algorithm(name)])])


def classifier(space, **settings):
    return FencelineClassifier(
        space=space, **{"evaluations": 1, "cv": 2, "search_threshold": False} | settings
    )


def rises(model, column, sign):
    low, high = (model.predict_proba(X.assign(**{column: v}))[:, 1] for v in (-1.0, 2.5))
    return bool((sign * (high - low) >= -1e-9).all())


def test_a_booster_is_told_and_keeps_to_it_where_a_free_one_does_not():
    space = one("HistGradientBoosting")
    assert not rises(classifier(space).fit(X, Y), "income", 1)
    model = classifier(space, monotone={"income": 1, "debt": -1}).fit(X, Y)
    assert rises(model, "income", 1)
    assert rises(model, "debt", -1)
    assert model.best_metrics_[NAME] == 0
    assert [str(c.constraint) for c in model.certificate_.checks] == [f"{NAME} <= 0"]


def test_directions_are_those_of_the_positive_class():
    settings = {"monotone": {"income": -1}, "positive": "late"}
    model = classifier(one("HistGradientBoosting"), **settings).fit(X, Y)
    assert list(model.classes_) == ["late", "paid"]
    assert rises(model, "income", 1)  # the second column is the probability of "paid"


def test_a_linear_model_with_the_wrong_sign_is_outside_the_fence():
    model = classifier(one("LogisticRegression"), monotone={"debt": 1})
    with pytest.raises(InfeasibleError, match=f"{NAME} <= 0"):
        model.fit(X, Y)
    assert model.result_.evaluations[0].metrics[NAME] == 1
    model.set_params(monotone={"debt": -1}).fit(X, Y)
    assert model.certificate_.status == "certified"


def test_numbers_are_predicted_in_one_direction_too():
    space = Space([Module("estimator", [Algorithm("HistGradientBoosting", {})])])
    rise = X.income + np.sin(4 * X.income) - X.debt  # falls here and there
    model = FencelineRegressor(space=space, monotone={1: 1}, evaluations=1, cv=2)
    model.fit(X[["debt", "income"]].to_numpy(), rise)
    grid = np.column_stack([np.zeros(50), np.linspace(-3, 3, 50)])
    assert (np.diff(model.predict(grid)) >= 0).all()
    assert np.ptp(model.predict(grid)) > 0


def test_what_cannot_keep_to_a_direction_leaves_the_space():
    space = monotone_only(named_space("default", "binary"))
    names = {m.name: [a.name for a in m.algorithms] for m in space.modules}
    assert {"LogisticRegression", "HistGradientBoosting", "RandomForest"} <= set(names["estimator"])
    assert not {"MLP", "KNeighbors", "KernelLogisticRegression"} & set(names["estimator"])
    assert names["selector"] == ["none", "SelectPercentile"]


REFUSED = {
    "nothing left": ({"space": one("GaussianNB")}, "nothing of the module 'estimator'"),
    "no mapping": ({"monotone": ["income"]}, "must map columns"),
    "nobody": ({"monotone": {}}, "must map columns"),
    "misspelt": ({"monotone": {"incme": 1}}, "Did you mean 'income'"),
    "no direction": ({"monotone": {"income": 2}}, "must be 1 or -1"),
    "texts": ({"monotone": {"town": 1}}, "holds no numbers"),
    "positive unknown": ({"positive": "payd"}, "give one of"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_before_the_search(case):
    settings, says = REFUSED[case]
    settings = {"space": one("HistGradientBoosting"), "monotone": {"income": 1}} | settings
    with pytest.raises(FencelineError, match=says):
        classifier(**settings).fit(X, Y)


def test_three_classes_have_no_direction_and_no_positive_one():
    three = np.arange(ROWS) % 3
    with pytest.raises(FencelineError, match="not defined for more than two classes"):
        classifier(one("DecisionTree"), monotone={"income": 1}).fit(X, three)
    with pytest.raises(FencelineError, match="is for two classes"):
        classifier(one("DecisionTree"), positive=1).fit(X, three)
    with pytest.raises(FencelineError, match="is for two classes"):
        FencelineRegressor(positive=1, evaluations=1).fit(X, RISE)


def test_columns_are_followed_through_preparation_and_selection():
    step = preparation(X).fit(X)
    made = step.transform(X)
    select = SelectKBest(k=2).fit(made, Y)
    wanted = np.array([0, 1, -1])  # town, income, debt
    assert signs_reaching([("prepare", step)], wanted, 4).tolist() == [1, -1, 0, 0]
    reaching = signs_reaching([("prepare", step), ("selector", select)], wanted, 2)
    assert reaching.tolist() == np.array([1, -1, 0, 0])[select.get_support()].tolist()


def test_a_column_that_cannot_be_followed_is_an_error():
    with pytest.raises(MeasurementError, match="could be followed"):
        signs_reaching([], np.array([1, 0]), 3)


def test_models_are_told_by_the_name_they_know():
    signs = np.array([1, 0])
    assert told(HistGradientBoostingClassifier(), signs).monotonic_cst == [1, 0]
    wrapped = told(EncodedLabels(HistGradientBoostingClassifier()), signs)
    assert wrapped.estimator.monotonic_cst == [1, 0]
    assert told(LogisticRegression(), signs).get_params() == LogisticRegression().get_params()


def test_violations_are_counted_in_rows():
    class Turns:
        """Falls with the first column where the second is positive."""

        def predict(self, rows):
            return np.where(rows[:, 1] > 0, -rows[:, 0], rows[:, 0])

    table = np.column_stack([np.linspace(0, 1, 40), np.r_[np.ones(10), -np.ones(30)]])
    trial = Trial(Turns(), Table(table, np.zeros(40), "regression"), np.arange(40))
    _, metric = monotone_constraint(((0, 1),))
    assert metric.value(trial) == pytest.approx(10 / 40)
    assert monotone_constraint(((0, -1),))[1].value(trial) == pytest.approx(30 / 40)

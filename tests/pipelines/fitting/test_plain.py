import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

import fenceline as fl
from fenceline.pipelines import Setting, fit, preparation
from fenceline.pipelines.fitting.encoders import ENCODERS
from fenceline.pipelines.fitting.plain import plain
from fenceline.problem.configuration import Choice

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "town": pd.Series(RNG.choice(list("abcdefgh"), 200)).where(RNG.random(200) > 0.1, None),
        "amount": np.where(RNG.random(200) > 0.1, RNG.normal(size=200), np.nan),
        "when": pd.date_range("2026-01-01", periods=200, freq="9h"),
    }
)
Y = (X["amount"].fillna(0) + (X["town"] == "a") > 0.2).astype(int).to_numpy()
NEW = X.iloc[::-1].assign(town=lambda x: x["town"].replace("c", "never seen"))


def modules(step):
    """Return the packages that the parts of a pipeline come from."""
    found = {type(step).__module__.partition(".")[0]}
    if isinstance(step, Pipeline):
        return found.union(*(modules(part) for _, part in step.steps if part != "passthrough"))
    if isinstance(step, ColumnTransformer):
        return found.union(*(modules(part) for _, part, _ in step.transformers_))
    return found


@pytest.mark.parametrize("encoder", ENCODERS)
def test_steps_of_scikit_learn_alone_predict_the_same(encoder):
    steps = {"encoder": Choice(encoder), "scaler": Choice("StandardScaler")}
    fitted = fit(
        steps | {"estimator": Choice("LogisticRegression", {"C": 1.0})},
        X,
        Y,
        Setting("binary", 200, 3),
        preparation(X),
    )
    turned = plain(fitted)
    assert modules(fitted) == {"fenceline", "sklearn"}
    assert modules(turned) == {"sklearn"}
    for rows in (NEW, NEW.head(1)):
        assert np.array_equal(turned.predict_proba(rows), fitted.predict_proba(rows))


@pytest.mark.parametrize(
    "settings",
    [{}, {"ensemble": 3}, {"objective": "accuracy"}, {"objective": "accuracy", "ensemble": 3}],
)
def test_a_model_turns_into_plain_scikit_learn(settings):
    model = fl.FencelineClassifier(evaluations=5, **settings).fit(X, Y)
    turned = model.to_sklearn()
    assert np.array_equal(turned.predict(NEW), model.predict(NEW))
    assert np.array_equal(turned.predict_proba(NEW), model.predict_proba(NEW))
    assert type(turned).__module__.startswith("sklearn.")
    clone(turned)


def test_numbers_alone_are_plain_already():
    model = fl.FencelineRegressor(evaluations=2).fit(X[["amount"]], Y)
    assert np.array_equal(
        model.to_sklearn().predict(NEW[["amount"]]), model.predict(NEW[["amount"]])
    )

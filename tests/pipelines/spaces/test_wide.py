import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from fenceline import FencelineRegressor
from fenceline.errors import MeasurementError
from fenceline.pipelines import Setting, fit, named_space, only
from fenceline.pipelines.fitting.encoders import with_encoder
from fenceline.pipelines.starts.portfolio import portfolio, starts

WIDE = named_space("wide")


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_it_has_over_a_hundred_thousand_pipelines(task):
    assert named_space("wide", task).size > 100_000


def test_it_begins_with_what_the_default_space_begins_with():
    wide, default = (
        [str(c) for c in starts(with_encoder(space), "binary", 2000)]
        for space in (WIDE, named_space("default"))
    )
    # An empty module of the default space is a word there, and nothing here.
    assert wide == [text.replace("none -> ", "") for text in default]
    assert len(portfolio(WIDE, "binary")) >= 20


@pytest.mark.filterwarnings("ignore")  # of what was drawn, some is warned about
def test_its_pipelines_can_be_fitted():
    X, y = load_wine(return_X_y=True)
    space = only(WIDE, "estimator", "LogisticRegression")
    rng = np.random.default_rng(0)
    fitted = 0
    for _ in range(20):
        configuration = space.sample(rng)
        try:
            model = fit(configuration, X, y, Setting("multiclass", *X.shape))
        except (MeasurementError, ValueError) as problem:
            # No column is left, or one where two are needed: a search learns to keep away.
            if "dropped every column" in str(problem) or "minimum of 2" in str(problem):
                continue
            raise
        assert model.predict(X).shape == y.shape
        fitted += 1
    assert fitted > 12


@pytest.mark.filterwarnings("ignore")
def test_an_estimator_searches_it():
    X, y = load_diabetes(return_X_y=True)
    space = only(named_space("wide", "regression"), "estimator", "Ridge", "DecisionTree")
    model = FencelineRegressor(space=space, evaluations=8, random_state=0).fit(X[:150], y[:150])
    assert model.predict(X[150:160]).shape == (10,)
    texts = [str(e.configuration) for e in model.result_.evaluations]
    assert len(set(texts)) == len(texts) == 8

"""Several fits of the model that is delivered: where they vote by default, and where one is kept."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import VotingClassifier, VotingRegressor

import fenceline as fl
from fenceline import FencelineClassifier, FencelineRegressor
from fenceline.pipelines.fitting.votes import PARTS
from fenceline.pipelines.fold_votes import voters
from fenceline.report.explain import explain

X, Y = make_classification(300, 5, n_informative=3, flip_y=0.2, random_state=0)
BOOSTER = fl.Algorithm(
    "HistGradientBoosting", {"max_iter": fl.Integer(3, 6), "max_leaf_nodes": fl.Integer(3, 5)}
)
LINEAR = fl.Algorithm("LogisticRegression", {"C": fl.Real(0.1, 10.0)})


def space(algorithm):
    return fl.Space([fl.Module("estimator", [algorithm])])


def fitted(objective="roc_auc", algorithm=BOOSTER, **settings):
    settings = {"evaluations": 3, "random_state": 0} | settings
    return FencelineClassifier(objective, space=space(algorithm), **settings).fit(X, Y)


def test_a_booster_without_a_fence_is_fitted_eight_times():
    model = fitted()
    assert isinstance(model.best_pipeline_[-1], VotingClassifier)
    assert voters(model.best_pipeline_) == PARTS
    assert f"was fitted {PARTS} times" in str(explain(model))
    again = fitted()
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_numbers_are_voted_on_too():
    table, y = make_regression(200, 4, noise=10.0, random_state=0)
    model = FencelineRegressor("r2", space=space(BOOSTER), evaluations=3, random_state=0)
    model.fit(pd.DataFrame(table, columns=list("abcd")), y)
    assert isinstance(model.best_pipeline_[-1], VotingRegressor)


@pytest.mark.parametrize(
    "settings",
    [
        {"fold_votes": False},
        {"algorithm": LINEAR},  # another fit would be the same
        {"constraints": ["size_mb <= 100"]},  # eight fits are larger
        {"constraints": ["false_positive_rate <= 0.9"], "on_infeasible": "warn"},
        {"objective": "balanced_accuracy"},  # its threshold is one of a single fit
        {"cv": 0.3},
    ],
    ids=str,
)
def test_one_fit_is_kept_where_several_may_not_be_better(settings):
    assert voters(fitted(**settings).best_pipeline_) == 1


def test_votes_are_saved_and_made_plain(tmp_path):
    model = fitted()
    model.save(tmp_path / "model")
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(fl.load(tmp_path / "model").predict_proba(X), expected)
    np.testing.assert_allclose(model.to_sklearn().predict_proba(X), expected)


def test_votes_are_written_as_onnx(tmp_path):
    pytest.importorskip("onnxruntime")
    assert fitted().to_onnx(tmp_path / "model.onnx", X).rows == len(X)

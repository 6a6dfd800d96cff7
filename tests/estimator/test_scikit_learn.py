"""How the estimators get on with the rest of scikit-learn: routing, folds, tables, clones."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import TimeSeriesSplit, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fenceline.errors import DefinitionError
from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor
from fenceline.pipelines import drop, named_space
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(240, 5, n_informative=4, n_redundant=0, flip_y=0.02, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcde"))
AGE = pd.DataFrame({"age": np.where(X[:, 0] > 0, "old", "young")})
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 240)
SPACE = Space(
    [
        Module("scaler", [Algorithm("StandardScaler"), Algorithm("none")]),
        Module(
            "estimator",
            [
                Algorithm(
                    "LogisticRegression",
                    {
                        "C": Real(0.01, 100, log=True),
                        "class_weight": Categorical([None, "balanced"]),
                    },
                ),
                Algorithm("DecisionTree", {"max_depth": Integer(1, 8)}),
            ],
        ),
    ]
)


def classifier(**settings):
    return FencelineClassifier(**{"space": SPACE, "evaluations": 4, "cv": 2} | settings)


@pytest.mark.parametrize("wrapped", [False, True])
def test_groups_and_weights_are_routed_to_the_rows_they_belong_to(wrapped):
    with sklearn.config_context(enable_metadata_routing=True):
        fence = ["score_gap(roc_auc, age) <= 0.9"]
        model = classifier(constraints=fence, evaluations=2, unseen=0.2)
        model.set_fit_request(groups=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        if wrapped:
            model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        given = {"groups": AGE, "sample_weight": WEIGHTS}
        found = cross_validate(model, X, Y, cv=2, params=given, return_estimator=True)
    assert found["test_score"].min() > 0.6
    for fitted in found["estimator"]:
        last = fitted[-1] if wrapped else fitted
        assert "score_gap(roc_auc,age)" in last.best_metrics_
        assert last.certificate_.rows == 24


def test_what_is_not_requested_is_not_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = classifier(evaluations=1).set_fit_request(groups=False, sample_weight=True)
        model.set_score_request(sample_weight=False)
        given = {"sample_weight": WEIGHTS}
        found = cross_validate(model, X, Y, cv=2, params=given, return_estimator=True)
        unaware = cross_validate(classifier(evaluations=1), X, Y, cv=2, return_estimator=True)
    first, other = found["estimator"][0], unaware["estimator"][0]
    assert first.best_metrics_ != other.best_metrics_


def test_weights_are_used_under_routing_in_models_that_are_pipelines_themselves():
    kernel = {"width": Real(0.5, 2), "n_components": Integer(20, 40), "C": Real(0.5, 2)}
    space = Space([Module("estimator", [Algorithm("KernelLogisticRegression", kernel)])])
    fitted = []
    for routing in (False, True):
        with sklearn.config_context(enable_metadata_routing=routing):
            model = classifier(space=space, evaluations=1).fit(X, Y, sample_weight=WEIGHTS)
            fitted.append(model.predict_proba(X))
    assert np.array_equal(*fitted)


def test_folds_may_be_given_row_by_row():
    splits = list(TimeSeriesSplit(3).split(X))
    model = classifier(cv=splits).fit(X, Y)
    assert model.best_metrics_["folds"] == 3
    # Rows for the certificate are taken out of the folds.
    fenced = classifier(cv=splits, constraints=["size_mb <= 5"], unseen=0.2).fit(X, Y)
    assert fenced.certificate_.rows == 48
    assert fenced.best_metrics_["folds"] == 3


def test_folds_of_rows_without_weight_are_refused():
    rows = np.arange(240)
    weights = np.where(rows < 100, 0.0, 1.0)
    with pytest.raises(DefinitionError, match="fold 1 has no rows left"):
        classifier(cv=[(rows[100:], rows[:100])]).fit(X, Y, sample_weight=weights)


def test_cv_results_are_a_dict_of_arrays_as_scikit_learns():
    model = classifier(evaluations=8)
    assert not hasattr(model, "cv_results_")
    table = model.fit(X, Y).cv_results_
    assert {len(column) for column in table.values()} == {8}
    best = int(np.argmin(table["rank_test_score"]))
    assert table["rank_test_score"][best] == 1
    assert table["loss(roc_auc)"][best] == model.result_.best.objective
    assert table["params"][best] == model.best_configuration_.to_dict()
    linear = table["param_estimator"] == "LogisticRegression"
    assert 0 < linear.sum() < 8
    weight = table["param_estimator.LogisticRegression.class_weight"]
    assert np.array_equal(weight.mask, ~linear)
    # None is a value like any other, and not a missing one.
    assert set(weight.compressed()) <= {None, "balanced"}
    assert None in weight.compressed()
    assert pd.DataFrame(table).shape[0] == 8


def test_pipelines_that_break_the_fence_rank_below_those_that_keep_it():
    model = classifier(evaluations=8, constraints=["size_mb <= 0.0014"], on_infeasible="warn")
    table = model.fit(X, Y).cv_results_
    feasible = table["feasible"]
    assert 0 < feasible.sum() < 8
    assert table["rank_test_score"][feasible].max() < table["rank_test_score"][~feasible].min()


def test_tables_as_transform_output_change_no_answer():
    table = FRAME.assign(town=AGE["age"], yes=X[:, 1] > 0)
    space = drop(named_space("default"), "estimator", "MLP")  # it is slow
    model = FencelineClassifier(space=space, evaluations=6, cv=0.3).fit(table, Y)
    answers = model.predict_proba(table)
    with sklearn.config_context(transform_output="pandas"):
        framed = FencelineClassifier(space=space, evaluations=6, cv=0.3).fit(table, Y)
        assert framed.result_.to_frame()["status"].eq("ok").all()
        assert np.allclose(framed.predict_proba(table), answers)
    again = clone(model.best_pipeline_).set_output(transform="pandas").fit(table, Y)
    assert np.allclose(again.predict_proba(table), answers)
    assert isinstance(again[:-1].transform(table), pd.DataFrame)


def test_columns_of_a_table_made_by_an_earlier_step_are_remembered():
    steps = [("scale", StandardScaler()), ("model", classifier(evaluations=1))]
    whole = Pipeline(steps).set_output(transform="pandas").fit(FRAME, Y)
    assert whole[-1].feature_names_in_.tolist() == list("abcde")
    assert not hasattr(classifier(evaluations=1).fit(X, Y), "feature_names_in_")


@pytest.mark.parametrize("kind", [FencelineClassifier, FencelineRegressor])
def test_a_clone_has_the_same_settings_and_nothing_learnt(kind):
    model = kind(
        "r2" if kind is FencelineRegressor else "f1", ["size_mb <= 5"], evaluations=1, cv=2
    )
    model.fit(X, Y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not any(name.endswith("_") for name in vars(fresh))
    assert set(model.get_params()) == set(kind.__init__.__kwdefaults__) | {
        "objective",
        "constraints",
        "space",
    }

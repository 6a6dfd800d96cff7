import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import Pipeline

from fenceline import metrics
from fenceline.errors import FencelineError, SpaceError
from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor
from fenceline.estimator.learning_task import search_space
from fenceline.pipelines import fit, named_space
from fenceline.pipelines.spaces.operators import Setting, make_middle
from fenceline.problem.configuration import Choice
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(240, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
TIMES = np.random.default_rng(0).integers(0, 4, 240)
"""How often each row counts; not at all for some."""
LINEAR = Space(
    [
        Module("scaler", [Algorithm("StandardScaler")]),
        Module("estimator", [Algorithm("LogisticRegression"), Algorithm("GaussianNB")]),
    ]
)


def names(space, module="estimator"):
    return [a.name for m in space.modules if m.name == module for a in m.algorithms]


@pytest.mark.parametrize("kind", [FencelineClassifier, FencelineRegressor])
def test_weights_count_as_repeated_rows_do(kind):
    y = Y if kind is FencelineClassifier else X[:, 0] + 0.1 * X[:, 1] ** 2
    weighted = kind(evaluations=1, cv=2).fit(X, y, sample_weight=TIMES)
    repeated = kind(evaluations=1, cv=2).fit(X.repeat(TIMES, axis=0), y.repeat(TIMES))
    assert np.allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4)
    plain = kind(evaluations=1, cv=2).fit(X, y)
    assert not np.array_equal(weighted.predict(X), plain.predict(X))


def test_rows_without_weight_are_not_there():
    keep = TIMES > 0
    y = np.where(keep, Y, 7)  # a class that only rows without weight have
    table = pd.DataFrame(X)
    groups = {"age": np.where(keep, X[:, 0] > 0, "none")}
    fence = ["score_gap(roc_auc, age) <= 0.9"]
    model = FencelineClassifier("roc_auc", fence, LINEAR, evaluations=2, cv=2)
    model.fit(table, y, groups=groups, sample_weight=TIMES)
    assert model.classes_.tolist() == [0, 1]
    fewer = FencelineClassifier("roc_auc", fence, LINEAR, evaluations=2, cv=2)
    kept = {"age": groups["age"][keep]}
    fewer.fit(table[keep], y[keep], groups=kept, sample_weight=TIMES[keep])
    assert fewer.best_metrics_ == model.best_metrics_


def test_metrics_of_the_search_and_of_the_certificate_are_weighted():
    rng = np.random.default_rng(1)
    weights = np.where(Y == 1, 1.0, rng.uniform(0.5, 5, 240))
    fence = [metrics.false_positive_rate() <= 0.9, metrics.score("accuracy") >= 0.1]
    plain, weighted = (
        FencelineClassifier("roc_auc", fence, LINEAR, evaluations=1, cv=2).fit(
            X, Y, sample_weight=w
        )
        for w in (None, weights)
    )
    assert plain.best_metrics_["accuracy"] != weighted.best_metrics_["accuracy"]
    assert plain.certificate_.checks[0].value != weighted.certificate_.checks[0].value
    # Weights say less than as many rows of equal weight, and the bound must not pretend otherwise.
    check = weighted.certificate_.checks[0]
    assert check.value < check.high <= 1


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_every_model_that_a_named_space_keeps_is_fitted_with_weights(task):
    y = {"binary": Y, "multiclass": np.arange(240) % 3, "regression": X[:, 0]}[task]
    space = search_space("default", task, weighted=True)
    assert "KNeighbors" in names(named_space("default", task))
    assert "KNeighbors" not in names(space)
    setting = Setting(task, *X.shape)
    for algorithm in space.modules[-1].algorithms:
        middle = {n: p.from_unit(0.5) for n, p in algorithm.params.items()}
        chosen = {"scaler": Choice("StandardScaler"), "estimator": Choice(algorithm.name, middle)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers = [
                fit(chosen, X, y, setting, None, w).predict(X)
                for w in (None, np.where(np.arange(240) < 120, 0.01, 5.0))
            ]
        assert not np.array_equal(*answers), f"{algorithm.name} does not look at the weights"


def test_the_papers_spaces_keep_what_takes_weights():
    space = search_space("paper", "binary", weighted=True)
    lost = set(names(named_space("paper"))) - set(names(space))
    # The last takes weights since scikit-learn 1.7.
    assert lost - {"MLP"} == {"QuadraticDiscriminantAnalysis", "KNeighbors", "GaussianProcess"}
    setting = Setting("binary", *X.shape)
    for module in space.modules[:-1]:
        for algorithm in module.algorithms:
            step = make_middle(algorithm, setting)
            if step == "passthrough":
                continue
            chosen = {
                "step": Choice(
                    algorithm.name, {n: p.from_unit(0.5) for n, p in algorithm.params.items()}
                ),
                "estimator": Choice("GaussianNB"),
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert isinstance(fit(chosen, X, Y, setting, None, np.ones(240)), Pipeline)


def test_a_users_own_space_is_refused_if_a_model_takes_no_weights():
    neighbours = Algorithm("sklearn.neighbors.KNeighborsClassifier")
    own = Space([Module("model", [Algorithm("GaussianNB"), neighbours])])
    model = FencelineClassifier(space=own, evaluations=1, cv=2)
    with pytest.raises(SpaceError, match=r"take no weights: .*KNeighbors.*drop\(space, 'model'"):
        model.fit(X, Y, sample_weight=TIMES)
    model.fit(X, Y)


def test_a_score_that_takes_no_weights_is_refused():
    model = FencelineClassifier("positive_likelihood_ratio", space=LINEAR, evaluations=1, cv=2)
    with pytest.raises(FencelineError, match="lets all rows count the same"):
        model.fit(X, Y, sample_weight=TIMES)


def test_a_search_over_numbers_takes_weights():
    features, y = make_regression(150, 4, noise=5.0, random_state=0)
    weights = np.random.default_rng(0).uniform(0.1, 2, 150)
    model = FencelineRegressor(constraints=["r2 >= 0.5"], evaluations=3, cv=2)
    assert model.fit(features, y, sample_weight=weights).score(features, y, weights) > 0.9

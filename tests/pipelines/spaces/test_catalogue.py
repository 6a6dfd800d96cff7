import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import Pipeline

from fenceline.errors import MeasurementError, SpaceError
from fenceline.pipelines.fitting.build import build, fit
from fenceline.pipelines.spaces import default
from fenceline.pipelines.spaces.catalogue import named_space
from fenceline.pipelines.spaces.operators import EXTRAS, Setting, make
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Integer, Parameter
from fenceline.problem.space import Algorithm, Module, Space

DATA = {
    "binary": make_classification(
        60, 6, n_informative=4, n_redundant=0, class_sep=3, random_state=0
    ),
    "multiclass": make_classification(
        60, 6, n_informative=4, n_redundant=0, class_sep=3, n_classes=3, random_state=0
    ),
    "regression": make_regression(60, 6, random_state=0),
}
SPACES = [
    ("paper", "binary"),
    ("paper", "multiclass"),
    ("default", "binary"),
    ("default", "multiclass"),
    ("default", "regression"),
]


def corner(parameter: Parameter, u: float):
    # Large ensembles are as good as small ones to see whether hyper-parameters are accepted.
    value = parameter.from_unit(u)
    return min(value, max(parameter.low, 20)) if isinstance(parameter, Integer) else value


def operators():
    for (name, task), u in product(SPACES, (0.0, 0.5, 1.0)):
        if task == "multiclass" and u != 0.5:
            continue
        for module in named_space(name, task).modules:
            for algorithm in module.algorithms:
                label = f"{name}-{task}-{algorithm.name}-{u}"
                yield pytest.param(name, task, module.name, algorithm, u, id=label)


def first_choices(space: Space) -> dict[str, Choice]:
    return dict(space.decode(space.first, space.centre))


@pytest.mark.parametrize(("name", "task", "module", "algorithm", "u"), list(operators()))
def test_every_operator_can_be_fitted_in_the_middle_and_the_corners_of_its_ranges(
    name, task, module, algorithm, u
):
    X, y = DATA[task]
    params = {n: corner(p, u) for n, p in algorithm.params.items()}
    choices = first_choices(named_space(name, task)) | {module: Choice(algorithm.name, params)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = fit(choices, X, y, Setting(task, *X.shape))
        assert pipeline.predict(X).shape == y.shape


def test_the_paper_space_has_its_6776_pipelines():
    for task in ("binary", "multiclass"):
        space = named_space("paper", task)
        assert [len(m.algorithms) for m in space.modules] == [8, 11, 7, 11]
        assert space.size == 6776


def test_the_small_space_has_its_108_pipelines():
    assert named_space("small").size == 108


@pytest.mark.parametrize("name", ["paper", "small"])
def test_spaces_of_the_paper_refuse_regression(name):
    with pytest.raises(SpaceError, match="for classification"):
        named_space(name, "regression")


def test_a_misspelt_space_is_answered_with_the_nearest_name():
    with pytest.raises(SpaceError, match="'paper'"):
        named_space("papr")


def test_optional_boosters_are_offered_when_they_are_installed(monkeypatch):
    monkeypatch.setattr(default, "installed", lambda package: package == "xgboost")
    names = [a.name for a in named_space("default").modules[-1].algorithms]
    assert [n for n in names if n in EXTRAS] == ["XGBoost"]


def test_numbers_of_components_and_neighbours_are_capped_by_the_data():
    setting = Setting("binary", rows=30, columns=5)
    assert make("QuantileTransformer", {"n_quantiles": 2000}, setting).n_quantiles == 30
    assert make("Nystroem", {"n_components": 1000}, setting).n_components == 30
    assert make("TruncatedSVD", {"n_components": 256}, setting).n_components == 5
    assert make("SelectKBest", {"k": 100}, setting).k == 5
    assert make("KNeighbors", {"n_neighbors": 100}, setting).n_neighbors == 30
    assert make("RandomForest", {"exponent": 0.5}, setting).max_features == 2
    assert make("MLP", {"depth": 2, "nodes": 7}, setting).hidden_layer_sizes == (7, 7)


def test_caps_follow_the_columns_that_reach_a_step():
    X, y = DATA["binary"]
    space = Space(
        [
            Module(
                "transformer",
                [Algorithm("GaussianRandomProjection", {"n_components": Integer(1, 9)})],
            ),
            Module("estimator", [Algorithm("sklearn.naive_bayes.GaussianNB")]),
        ]
    )
    choices = space.configuration(
        {
            "transformer": ("GaussianRandomProjection", {"n_components": 3}),
            "estimator": "sklearn.naive_bayes.GaussianNB",
        }
    )
    chosen = dict(choices) | {
        "estimator": Choice("RandomForest", {"exponent": 1.0, "n_estimators": 5})
    }
    assert fit(chosen, X, y, Setting("binary", *X.shape))[-1].max_features == 3
    assert build(chosen, Setting("binary", *X.shape))[-1].max_features == 3


def test_a_built_pipeline_is_plain_scikit_learn_and_gives_the_same_answers_as_a_fitted_one():
    X, y = DATA["binary"]
    setting = Setting("binary", *X.shape, random_state=7)
    space = named_space("default")
    for _ in range(3):
        configuration = space.decode(space.first, space.centre)
        built = build(configuration, setting)
        assert type(built) is Pipeline
        fitted = fit(configuration, X, y, setting)
        assert np.allclose(built.fit(X, y).predict_proba(X), fitted.predict_proba(X))


def test_random_numbers_are_fixed_by_the_setting():
    X, y = DATA["binary"]
    chosen = {"estimator": Choice("RandomForest", {"n_estimators": 5})}
    answers = [
        fit(chosen, X, y, Setting("binary", *X.shape, random_state=s)).predict_proba(X)
        for s in (1, 1, 2)
    ]
    assert np.array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])


def test_an_unknown_algorithm_is_answered_with_the_nearest_and_the_way_to_name_any_class():
    setting = Setting("binary", 10, 2)
    with pytest.raises(SpaceError, match=r"'RandomForest'.*import path"):
        make("RandomForrest", {}, setting)
    with pytest.raises(SpaceError, match="cannot be made"):
        make("sklearn.svm.NoSuchThing", {}, setting)


def test_a_selector_that_drops_every_column_says_so():
    X, y = DATA["binary"]
    chosen = {"selector": Choice("SelectFwe", {"alpha": 0.01}), "estimator": Choice("GaussianNB")}
    reason = r"SelectFwe\(alpha=0.01\) dropped every column"
    with pytest.warns(UserWarning, match="No feat"), pytest.raises(MeasurementError, match=reason):
        fit(chosen, X, np.arange(len(y)) % 2, Setting("binary", *X.shape))


@pytest.mark.parametrize(("name", "task"), [*SPACES, ("small", "binary")])
def test_every_algorithm_with_hyper_parameters_starts_from_all_of_them(name, task):
    for module in named_space(name, task).modules:
        for algorithm in module.algorithms:
            if algorithm.params and algorithm.name != "GaussianProcess":
                assert algorithm.start is not None, algorithm.name
                assert algorithm.start.keys() == algorithm.params.keys(), algorithm.name


@pytest.mark.parametrize("booster", EXTRAS)
def test_optional_boosters_have_starts_as_well(booster, monkeypatch):
    monkeypatch.setattr(default, "installed", lambda package: True)
    algorithms = {a.name: a for a in named_space("default").modules[-1].algorithms}
    assert algorithms[booster].start.keys() == algorithms[booster].params.keys()


def test_the_first_pipeline_of_the_default_space_is_plain_logistic_regression():
    first = named_space("default").initial
    assert [choice.algorithm for choice in first.values()] == [
        "StandardScaler",
        "none",
        "LogisticRegression",
    ]
    assert first["estimator"].params == {"C": pytest.approx(1.0), "class_weight": None}


@pytest.mark.parametrize(("task", "trees"), [("binary", 300), ("regression", 1000)])
def test_boosting_starts_with_as_many_trees_as_it_takes(task, trees):
    algorithms = named_space("default", task).modules[-1].algorithms
    (boosting,) = (a for a in algorithms if a.name == "HistGradientBoosting")
    made = make(boosting.name, boosting.start, Setting(task, 1000, 10))
    assert made.early_stopping is True
    assert made.max_iter == trees

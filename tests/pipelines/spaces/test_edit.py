import pytest

from fenceline.errors import SpaceError
from fenceline.pipelines.spaces.catalogue import named_space
from fenceline.pipelines.spaces.edit import add, drop, only, restrict
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.space import Algorithm, Module

SPACE = named_space("small")


def names(space, module):
    return [a.name for m in space.modules if m.name == module for a in m.algorithms]


def test_an_algorithm_is_added_in_one_line():
    svc = Algorithm("sklearn.svm.LinearSVC", {"C": Real(0.01, 10, log=True)})
    assert names(add(SPACE, "estimator", svc), "estimator")[-1] == svc.name


def test_a_module_is_added_before_the_one_that_predicts():
    selector = Module("selector", [Algorithm("none")])
    modules = [m.name for m in add(SPACE, selector).modules]
    assert modules == ["scaler", "transformer", "selector", "estimator"]


def test_algorithms_and_modules_are_dropped_in_one_line():
    assert "RandomForest" not in names(drop(SPACE, "estimator", "RandomForest"), "estimator")
    assert [m.name for m in drop(SPACE, "transformer").modules] == ["scaler", "estimator"]


def test_only_keeps_the_order_given():
    kept = only(SPACE, "scaler", "StandardScaler", "none")
    assert names(kept, "scaler") == ["StandardScaler", "none"]


def test_ranges_are_narrowed_or_fixed_in_one_line():
    space = restrict(SPACE, "estimator", "KNeighbors", n_neighbors=Integer(3, 9), p=2)
    params = space.modules[-1].algorithms[3].params
    assert params["n_neighbors"] == Integer(3, 9)
    assert params["p"] == Categorical([2])
    assert SPACE.modules[-1].algorithms[3].params["p"] == Categorical([1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: drop(SPACE, "estimatr", "KNeighbors"), "'estimator'"),
        (lambda: drop(SPACE, "estimator", "KNeighbor"), "'KNeighbors'"),
        (lambda: restrict(SPACE, "estimator", "KNeighbors", neighbors=3), "'n_neighbors'"),
        (lambda: restrict(SPACE, "estimator", "KNeighbors", n_neighbors=Integer(1, 200)), "200"),
        (lambda: restrict(SPACE, "estimator", "KNeighbors", p=3), "one of"),
    ],
)
def test_a_mistake_is_named_with_what_is_known(change, message):
    with pytest.raises(SpaceError, match=message):
        change()


def test_a_narrower_range_takes_the_start_along():
    forest = Algorithm(
        "RandomForest",
        {"n_estimators": Integer(10, 300), "criterion": Categorical(["gini", "entropy"])},
        start={"n_estimators": 100, "criterion": "gini"},
    )
    here = add(SPACE, Module("forest", [forest]))
    for range_, kept in (
        (Integer(10, 50), {"n_estimators": 50, "criterion": "gini"}),
        (80, {"criterion": "gini"}),
    ):
        (after,) = (
            restrict(here, "forest", "RandomForest", n_estimators=range_).modules[-2].algorithms
        )
        assert after.start == kept
    (after,) = restrict(here, "forest", "RandomForest", criterion="entropy").modules[-2].algorithms
    assert after.start == {"n_estimators": 100}

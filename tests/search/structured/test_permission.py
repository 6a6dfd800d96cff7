import numpy as np
import pytest

import fenceline as fl
from fenceline.problem.rules import forbid, order
from fenceline.problems import artificial
from fenceline.search.structured.permission import Permission

SPACE = fl.Space(
    [
        fl.Module(
            "scaler", [fl.Algorithm("none"), fl.Algorithm("robust", {"q": fl.Real(0.0, 1.0)})]
        ),
        fl.Module("model", [fl.Algorithm("knn", {"k": fl.Integer(1, 9)}), fl.Algorithm("tree")]),
    ]
)
NO_SCALED_TREE = forbid({"scaler": "robust", "model": "tree"})


def problem(*rules):
    return fl.Problem(SPACE, lambda c: {"loss": 0.0}, allowed=rules)


def test_there_is_none_without_rules():
    assert Permission.of(problem()) is None


def test_rules_about_algorithms_are_asked_once_for_each_combination():
    asked = problem(NO_SCALED_TREE)
    permission = Permission.of(asked)
    assert permission.by_algorithms
    for z in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        assert permission(z, SPACE.start) is asked.allows(SPACE.decode(z, SPACE.start))
    assert permission.algorithms((1, 0), 1).tolist() == [True, False]
    assert permission.algorithms((0, 1), 0).tolist() == [True, False]


@pytest.mark.parametrize(
    "rule",
    [
        forbid({"scaler": "none", "model": ("knn", {"k": [1]})}),
        order("scaler.robust.q", "<", "model.knn.k"),
        lambda configuration: configuration["model"].algorithm == "tree",
    ],
)
def test_other_rules_are_asked_about_every_pipeline(rule):
    permission = Permission.of(problem(NO_SCALED_TREE, rule))
    assert not permission.by_algorithms
    rng = np.random.default_rng(0)
    for drawn in (SPACE.sample(rng) for _ in range(20)):
        z, theta = SPACE.encode(drawn)
        assert permission(tuple(z), np.array(theta)) is permission._problem.allows(drawn)


def test_a_search_under_rules_about_algorithms_obeys_them_and_still_finds_what_is_good():
    free = artificial(0)
    best = fl.minimize(free, evaluations=60, seed=0).best
    first, last = free.space.modules[0], free.space.modules[-1]
    rule = forbid(
        {
            first.name: best.configuration[first.name].algorithm,
            last.name: best.configuration[last.name].algorithm,
        }
    )
    ruled = fl.Problem(free.space, free.measure, free.objective, allowed=[rule])
    result = fl.minimize(ruled, evaluations=60, seed=0)
    assert all(rule(e.configuration) for e in result.evaluations)
    assert result.best.objective < np.median([e.objective for e in result.evaluations]) / 2

"""The default algorithm: what it starts with, what it learns from, and that it learns at all."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.problems import artificial
from fenceline.threads import one_thread


def test_the_first_pipeline_is_the_safe_one_and_the_next_differ_in_their_algorithms():
    problem = artificial(1)
    result = fl.minimize(problem, evaluations=6)
    first, *others = (e.configuration for e in result.evaluations)
    assert [c.algorithm for c in first.values()] == [
        m.algorithms[0].name for m in problem.space.modules
    ]
    for module in problem.space.modules:
        tried = {configuration[module.name].algorithm for configuration in others}
        assert len(tried) == min(len(others), len(module.algorithms))


def test_fifty_evaluations_end_far_below_random_search():
    ours, random = [], []
    for seed in range(4):
        problem = artificial(seed)
        for runs, algorithm in ((ours, fl.ADMM()), (random, RandomSearch())):
            result = fl.minimize(problem, evaluations=50, algorithm=algorithm, seed=seed)
            runs.append(result.trajectory[-1] - problem.optimum)
    assert np.median(ours) < 0.5 * np.median(random)


def test_pipelines_that_fail_are_kept_away_from():
    problem = artificial(5)
    bad = {problem.space.modules[3].algorithms[j].name for j in (1, 2, 3)}

    def measure(configuration):
        if configuration["estimator"].algorithm in bad:
            raise RuntimeError("does not converge")
        return problem.measure(configuration)

    result = fl.minimize(fl.Problem(problem.space, measure), evaluations=70, seed=1)
    failed = np.array([not e.ok for e in result.evaluations])
    assert failed[:12].any()
    assert failed[20:].mean() < 0.1


def test_a_fence_that_cuts_off_the_best_is_kept_from_both_sides():
    space = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])
    problem = fl.Problem(
        space,
        lambda c: {"loss": (c["m"].params["x"] - 0.8) ** 2, "x": c["m"].params["x"]},
        constraints=["x <= 0.5"],
    )
    result = fl.minimize(problem, evaluations=25)
    assert result.best.metrics["x"] == pytest.approx(0.5, abs=2e-3)
    assert 0.1 < result.feasible_fraction < 0.9


def test_an_equality_is_met_within_its_tolerance():
    space = fl.Space(
        [fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1), "y": fl.Real(0, 1)})])]
    )

    def measure(configuration):
        x, y = configuration["m"].params.values()
        return {"loss": x + 2 * y, "sum": x + y}

    problem = fl.Problem(space, measure, constraints=[fl.metric("sum").equals(0.7, 0.02)])
    result = fl.minimize(problem, evaluations=40)
    assert result.best.objective < 0.75


def test_noise_does_not_lead_the_search_astray():
    rng = np.random.default_rng(0)
    space = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])
    problem = fl.Problem(
        space, lambda c: {"loss": (c["m"].params["x"] - 0.3) ** 2 + 0.02 * rng.standard_normal()}
    )
    result = fl.minimize(problem, evaluations=40)
    late = [e.configuration["m"].params["x"] for e in result.evaluations[25:]]
    assert np.median(np.abs(np.array(late) - 0.3)) < 0.2


def test_the_search_uses_one_thread_and_gives_the_others_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_thread():
        assert set(threads()) <= {1}
    assert threads() == before


@pytest.mark.parametrize("seed", [0, 3])
def test_a_narrow_valley_is_found_beside_an_easy_plateau(seed):
    space = fl.Space(
        [
            fl.Module(
                "model",
                [
                    fl.Algorithm("tree", {"depth": fl.Integer(1, 20)}),
                    fl.Algorithm("curve", {"a": fl.Real(-2.0, 2.0), "b": fl.Real(-2.0, 2.0)}),
                ],
            )
        ]
    )

    def measure(configuration):
        model = configuration["model"]
        if model.algorithm == "tree":
            return {"loss": 0.5 + abs(model.params["depth"] - 7) / 20}
        a, b = model.params["a"], model.params["b"]
        return {"loss": (1 - a) ** 2 + 5 * (b - a * a) ** 2}

    result = fl.minimize(fl.Problem(space, measure), evaluations=50, seed=seed)
    assert result.best.objective < 0.1


@pytest.mark.parametrize("error", [0.0, 0.2])
def test_where_errors_of_a_constraint_are_known_some_proposals_leave_room_for_them(error):
    def measure(configuration):
        x = configuration["m"].params["x"]
        return {"loss": (10.0 - x) ** 2, "gap": x, "gap/se": error}

    line = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0.0, 10.0)})])])
    result = fl.minimize(
        fl.Problem(line, measure, constraints=["gap <= 5"]), evaluations=30, seed=0
    )
    assert result.best.metrics["gap"] > 4.99
    # 4.5 errors inside the bound of 5.
    aloof = [e.metrics["gap"] for e in result.evaluations[10:] if e.metrics["gap"] < 4.2]
    assert (len(aloof) >= 4) == (error > 0)
    assert not error or max(x for x in aloof if x <= 4.1) > 4.05


def test_what_leaves_room_may_be_what_a_crowd_uses():
    def measure(configuration):
        choice = configuration["m"]
        x = choice.params["x"]
        return {"loss": (10.0 - x) ** 2 + 60.0 * (choice.algorithm == "b"), "gap": x, "gap/se": 0.2}

    line = fl.Space([fl.Module("m", [fl.Algorithm(n, {"x": fl.Real(0.0, 10.0)}) for n in "ab"])])
    result = fl.minimize(
        fl.Problem(line, measure, constraints=["gap <= 5"]), evaluations=60, seed=0
    )
    late = [e.configuration["m"] for e in result.evaluations[36:]]
    # By then one in three is made elsewhere, and another, not the same one, is 4.5 errors inside.
    assert sum(choice.algorithm == "b" for choice in late) >= 4
    aloof = [choice for choice in late if choice.params["x"] < 4.2]
    assert sum(choice.algorithm == "a" for choice in aloof) >= 4

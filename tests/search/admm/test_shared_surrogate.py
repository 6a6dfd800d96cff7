"""ADMM() without solvers: the seed's loop with both blocks on one surrogate of all pipelines."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problems import artificial
from fenceline.search.admm.shared_surrogate import SharedSurrogate
from fenceline.search.lagrangian import Lagrangian, Scales

LINE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0.0, 1.0)})])])


def line(constraints=("x <= 0.5",)):
    """The loss falls along x, and a constraint forbids the far half."""
    return fl.Problem(
        LINE,
        lambda c: {"loss": 1.0 - c["m"].params["x"], "x": c["m"].params["x"]},
        constraints=constraints,
    )


def proposed(mu, rho=0.1):
    """Where theta-min goes under a multiplier, all else being the same."""
    problem = line()
    evaluator = RunEvaluator(problem, Serial(), 100)
    for x in np.linspace(0.0, 0.9, 7):
        evaluator.submit(LINE.configuration({"m": ("a", {"x": float(x)})}))
    surrogate = SharedSurrogate(problem, evaluator)
    lagrangian = Lagrangian(
        problem, Scales(1.0, np.ones(1)), rho, np.array([mu]), np.array([np.inf])
    )

    class Task:
        parameters = LINE.parameters

        def observed(self):
            points = np.linspace(0.0, 0.9, 7)[:, None]
            return points, lagrangian.merits(1.0 - points[:, 0], points - 0.5)

    held = lambda rows: np.zeros(len(rows))  # noqa: E731
    solver = surrogate.over_theta(lagrangian, (0,), np.array([0.3]), held)
    return float(next(solver.proposals(Task(), np.random.default_rng(0)))[0])


def test_multipliers_steer_what_is_measured_next():
    # f + mu (x - 1/2)+ falls all the way while mu < 1, and turns at the bound beyond.
    assert proposed(0.0) > 0.9
    assert proposed(5.0) < 0.65
    free, held = proposed(0.2), proposed(3.0)
    assert held < free


def test_a_constraint_that_is_broken_gathers_a_multiplier_and_is_then_kept():
    algorithm = fl.ADMM(rho=0.5)
    result = fl.minimize(line(), evaluations=60, algorithm=algorithm, seed=0)
    measured = [e.metrics["x"] for e in result.evaluations]
    assert max(measured[:20]) > 0.6
    assert result.best.metrics["x"] == pytest.approx(0.5, abs=0.03)
    # 1 unit of loss for 1 unit of x: that is what the bound is worth.
    assert result.iterations[-1].mu[0] > 0.0
    assert np.median(measured[-10:]) == pytest.approx(0.5, abs=0.15)


def test_it_is_the_loop_of_the_paper_and_not_the_default():
    problem = artificial(1)
    loop = fl.minimize(problem, evaluations=12, algorithm=fl.ADMM(), seed=0)
    default = fl.minimize(problem, evaluations=12, seed=0)
    assert [e.configuration for e in loop.evaluations] != [
        e.configuration for e in default.evaluations
    ]
    assert len(loop.iterations[0].delta) > 0


def test_between_two_updates_one_block_moves_and_the_other_stands_still():
    algorithms = [fl.Algorithm(name, {"x": fl.Real(0.0, 1.0)}) for name in "abcde"]
    space = fl.Space([fl.Module("m", algorithms), fl.Module("n", algorithms)])

    def measure(configuration):
        m, n = configuration["m"], configuration["n"]
        return {"loss": abs(m.params["x"] - ord(m.algorithm) / 120) + n.params["x"]}

    algorithm = fl.ADMM(precision=fl.Fixed(3))
    result = fl.minimize(fl.Problem(space, measure), evaluations=25, algorithm=algorithm, seed=0)
    chosen = [
        (e.configuration["m"].algorithm, e.configuration["n"].algorithm) for e in result.evaluations
    ]
    theta_min, z_min = chosen[1::6], chosen[4::6]
    for k in range(1, 25, 6):
        assert len(set(chosen[k : k + 3])) == 1, "theta-min moves hyper-parameters only"
        assert len(set(chosen[k + 3 : k + 6])) == 3, "z-min moves choices only"
    assert len(theta_min) == len(z_min) == 4


def test_fifty_evaluations_end_below_random_search():
    ours, random = [], []
    for seed in range(4):
        problem = artificial(seed)
        for runs, algorithm in ((ours, fl.ADMM()), (random, RandomSearch())):
            result = fl.minimize(problem, evaluations=50, algorithm=algorithm, seed=seed)
            runs.append(result.trajectory[-1] - problem.optimum)
    assert np.median(ours) < 0.85 * np.median(random)


def test_one_block_may_have_a_solver_of_its_own():
    from fenceline.search.admm.solvers import Random

    problem = artificial(2, constraints=1, feasible_fraction=0.5)
    for algorithm in (fl.ADMM(theta=Random()), fl.ADMM(z=Random())):
        result = fl.minimize(problem, evaluations=20, algorithm=algorithm, seed=0)
        assert len(result.evaluations) == 20


def test_a_space_of_a_few_pipelines_is_measured_to_the_end():
    space = fl.Space([fl.Module("m", [fl.Algorithm("a"), fl.Algorithm("b"), fl.Algorithm("c")])])
    problem = fl.Problem(space, lambda c: {"loss": float(ord(c["m"].algorithm))})
    result = fl.minimize(problem, evaluations=50, algorithm=fl.ADMM(), seed=0)
    assert len(result.evaluations) == 3
    assert result.best.configuration["m"].algorithm == "a"

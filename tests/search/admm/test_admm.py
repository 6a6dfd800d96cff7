import math
from itertools import chain, repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenceline as fl
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Bandit, Bayesian, Random
from fenceline.testing import AlgorithmSuite


class TestDefault(AlgorithmSuite):
    algorithm = fl.ADMM
    budget = 14


class TestPaper(AlgorithmSuite):
    algorithm = fl.ADMM.paper()


class TestADMM(AlgorithmSuite):
    algorithm = fl.ADMM(
        theta=Bayesian(), z=Bandit(), precision=fl.Fixed(6), slack="closed", units="unit"
    )


class TestADMMWithSlackSearchedAndWarmStart(AlgorithmSuite):
    algorithm = fl.ADMM(
        theta=Random(), z=Random(), precision=fl.Fixed(6), slack="searched", units="unit", warm=True
    )


class TestADMMWithBalance(AlgorithmSuite):
    algorithm = fl.ADMM(
        theta=Random(), z=Random(), precision=fl.Adaptive(2, 6, 2), relax=True, balance=True
    )


class Scripted:
    """A solver that proposes given points, one list per sub-problem, and keeps what it was shown."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.tasks = []
        self.shown_at_first = []

    def proposals(self, task, rng):
        script = self.scripts[len(self.tasks)] if len(self.tasks) < len(self.scripts) else []
        self.tasks.append(task)
        self.shown_at_first.append(task.observed())
        rest = repeat(np.zeros(len(task.parameters)))
        return chain((np.array(point, dtype=float) for point in script), rest)


# Two modules, each with one integer hyper-parameter, in 0..10: a coordinate is a tenth of its value.
SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("clip", {"n": fl.Integer(0, 10)})]),
        fl.Module(
            "model", [fl.Algorithm("tree", {"depth": fl.Integer(0, 10)}), fl.Algorithm("linear")]
        ),
    ]
)


def measure(configuration):
    """Each `n` of clip takes 1 off the loss at the price of 1 of latency; depth trades all three."""
    clip = configuration["scaler"].params.get("n")
    depth = configuration["model"].params.get("depth")
    loss, latency, quality = (5, 2, 3) if depth is None else (8 - depth, depth, depth)
    if clip is not None:
        loss, latency = loss - clip, latency + 1
    return {"loss": loss, "latency": latency, "quality": quality}


def problem(constraints=("latency <= 4", "quality >= 3")):
    return fl.Problem(SPACE, measure, constraints=list(constraints))


NONE_TREE, CLIP_TREE, NONE_LINEAR, CLIP_LINEAR = [0, 0], [1, 0], [0, 1], [1, 1]


def run(theta, z, *, iterations, slack, warm=False, constraints=("latency <= 4", "quality >= 3")):
    """Run ADMM in raw units with rho = 2, so that rho / 2 = 1, and two evaluations per sub-problem."""
    algorithm = fl.ADMM(
        theta=theta,
        z=z,
        rho=2.0,
        precision=fl.Fixed(2),
        slack=slack,
        units="raw",
        relax=True,
        warm=warm,
        iterations=iterations,
    )
    result = fl.minimize(problem(constraints), evaluations=100, algorithm=algorithm)
    assert result.ended == "finished"
    return result


def test_two_iterations_with_searched_slack_match_numbers_worked_out_by_hand():
    """
    g - eps is (latency - 4, 3 - quality); u is (4 v1, 3 v2) for searched coordinates v, the bounds
    being 4 and 3; theta_d = (n, depth). rho / 2 = 1. Everything starts in the middle:
    z = none -> tree, theta_d = delta = (5, 5), lam = (0, 0), mu = (0, 0).

    t = 0
      theta-min over (depth, v1, v2), b = (5, 5), mu / rho = (0, 0):
        depth 6.4 (measured at 6: loss 2, latency 6, quality 6), g - eps = (2, -3), u = (0, 2):
          2 + (6.4 - 5)^2 + (2 + 0)^2 + (-3 + 2)^2 = 2 + 1.96 + 4 + 1 = 8.96
        depth 3.6 (measured at 4: loss 4, latency 4, quality 4), g - eps = (0, -1), u = (1, 2):
          4 + (3.6 - 5)^2 + (0 + 1)^2 + (-1 + 2)^2 = 4 + 1.96 + 1 + 1 = 7.96   <- smallest
      theta_d = (5, 3.6), u = (1, 2)
      delta-min: a = (5, 3.6), delta = (5, 4)
      z-min at n = 5, depth 4, u = (1, 2):
        none -> tree    loss 4,  g - eps = (0, -1):  4 + (0 + 1)^2 + (-1 + 2)^2  = 6
        clip -> tree    loss -1, g - eps = (1, -1): -1 + (1 + 1)^2 + (-1 + 2)^2  = 4   <- smallest
        none -> linear  loss 5,  g - eps = (-2, 0):  5 + (-2 + 1)^2 + (0 + 2)^2  = 10
      lam = 0 + 2 ((5, 3.6) - (5, 4)) = (0, -0.8)
      mu = 0 + 2 ((1, -1) + (1, 2)) = (4, 2)
      primal = sqrt(0.4^2 + 2^2 + 1^2) = sqrt(5.16), dual = 2 |(5, 4) - (5, 5)| = 2
      evaluations: 1 at the start + 2 + 2

    t = 1
      theta-min over (n, depth, v1, v2), b = delta - lam / rho = (5, 4.4), mu / rho = (2, 1):
        n 7.2 (at 7), depth 5 (loss -4, latency 6, quality 5), g - eps = (2, -2), u = (0, 0):
          -4 + 2.2^2 + 0.6^2 + (2 + 0 + 2)^2 + (-2 + 0 + 1)^2 = -4 + 4.84 + 0.36 + 16 + 1 = 18.2
        n 6, depth 2.8 (at 3: loss -1, latency 4, quality 3), g - eps = (0, 0), u = (1, 0):
          -1 + 1^2 + 1.6^2 + (0 + 1 + 2)^2 + (0 + 0 + 1)^2 = -1 + 1 + 2.56 + 9 + 1 = 12.56 <- smallest
      theta_d = (6, 2.8), u = (1, 0)
      delta-min: a = theta_d + lam / rho = (6, 2.4), delta = (6, 2): without lam it would be 3
      z-min at n = 6, depth 3, u = (1, 0), mu / rho = (2, 1):
        clip -> tree    loss -1, g - eps = (0, 0):  -1 + (0 + 1 + 2)^2 + (0 + 0 + 1)^2  = 9
        none -> tree    loss 5,  g - eps = (-1, 0):  5 + (-1 + 1 + 2)^2 + (0 + 0 + 1)^2 = 10
        clip -> linear  loss -1, g - eps = (-1, 0): -1 + (-1 + 1 + 2)^2 + (0 + 0 + 1)^2 = 4 <- smallest
      lam = (0, -0.8) + 2 ((6, 2.8) - (6, 2)) = (0, 0.8)
      mu = (4, 2) + 2 ((-1, 0) + (1, 0)) = (4, 2)
      primal = sqrt(0.8^2 + 0) = 0.8, dual = 2 |(6, 2) - (5, 4)| = 2 sqrt(5)
      evaluations: 5 + 2 + 2
    """
    theta = Scripted(
        [[0.64, 0.0, 2 / 3], [0.36, 0.25, 2 / 3]],
        [[0.72, 0.5, 0.0, 0.0], [0.6, 0.28, 0.25, 0.0]],
    )
    z = Scripted([CLIP_TREE, NONE_LINEAR], [NONE_TREE, CLIP_LINEAR])
    result = run(theta, z, iterations=2, slack="searched")
    first, second = result.iterations

    assert_allclose(theta.tasks[0].observed()[1], [8.96, 7.96])
    assert_allclose(z.tasks[0].observed()[1], [6, 4, 10])
    assert_allclose(theta.tasks[1].observed()[1], [18.2, 12.56])
    assert_allclose(z.tasks[1].observed()[1], [9, 10, 4])

    assert (first.t, first.z, first.rho, first.evaluations) == (0, (1, 0), 2.0, 5)
    assert_allclose(first.theta, [0.5, 0.36])
    assert_allclose(first.delta, [5, 4])
    assert_allclose(first.lam, [0, -0.8])
    assert_allclose(first.u, [1, 2])
    assert_allclose(first.mu, [4, 2])
    assert first.primal_residual == pytest.approx(math.sqrt(5.16))
    assert first.dual_residual == pytest.approx(2)
    assert first.prices == pytest.approx({"latency <= 4": 4, "quality >= 3": 2})

    assert (second.t, second.z, second.evaluations) == (1, (1, 1), 9)
    assert_allclose(second.theta, [0.6, 0.28])
    assert_allclose(second.delta, [6, 2])
    assert_allclose(second.lam, [0, 0.8])
    assert_allclose(second.u, [1, 0])
    assert_allclose(second.mu, [4, 2])
    assert second.primal_residual == pytest.approx(0.8)
    assert second.dual_residual == pytest.approx(2 * math.sqrt(5))

    assert [str(e.configuration) for e in result.evaluations] == [
        "none -> tree(depth=5)",
        "none -> tree(depth=6)",
        "none -> tree(depth=4)",
        "clip(n=5) -> tree(depth=4)",
        "none -> linear",
        "clip(n=7) -> tree(depth=5)",
        "clip(n=6) -> tree(depth=3)",
        "none -> tree(depth=3)",
        "clip(n=6) -> linear",
    ]


def test_two_iterations_with_closed_slack_match_numbers_worked_out_by_hand():
    """
    As above, with u = clip(eps - g - mu / rho, 0, (4, 3)) wherever g is known, so that a constraint
    adds max(0, g - eps + mu / rho)^2 (no u here reaches its upper end beyond that).

    t = 0
      theta-min, b = (5, 5): depth 6.4: 2 + 1.96 + 2^2 + 0 = 7.96;  depth 3.6: 4 + 1.96 = 5.96 <- smallest
      delta = (5, 4) as before
      z-min: none -> tree 4;  clip -> tree -1 + 1^2 = 0 <- smallest;  none -> linear 5
      u = clip((-1, 1), 0, .) = (0, 1)
      lam = (0, -0.8);  mu = 0 + 2 ((1, -1) + (0, 1)) = (2, 0)
      primal = sqrt(0.4^2 + 1^2) = sqrt(1.16), dual = 2

    t = 1, mu / rho = (1, 0), b = (5, 4.4)
      theta-min: n 7.2, depth 5:   -4 + 4.84 + 0.36 + (2 + 1)^2 = 10.2
                 n 6, depth 2.8:   -1 + 1 + 2.56 + (0 + 1)^2    = 3.56 <- smallest
      a = (6, 2.4), delta = (6, 2)
      z-min: clip -> tree   -1 + (0 + 1)^2 = 0
             none -> tree    5 + (-1 + 0 + 1)^2 = 5
             clip -> linear -1 + (-1 + 0 + 1)^2 = -1 <- smallest
      u = clip((1, 0) - (1, 0), 0, .) = (0, 0)
      lam = (0, 0.8);  mu = (2, 0) + 2 ((-1, 0) + (0, 0)) = (0, 0): the bound no longer binds
      primal = sqrt(0.8^2 + 1^2) = sqrt(1.64), dual = 2 sqrt(5)
    """
    theta = Scripted([[0.64], [0.36]], [[0.72, 0.5], [0.6, 0.28]])
    z = Scripted([CLIP_TREE, NONE_LINEAR], [NONE_TREE, CLIP_LINEAR])
    result = run(theta, z, iterations=2, slack="closed")
    first, second = result.iterations

    assert_allclose(theta.tasks[0].observed()[1], [7.96, 5.96])
    assert_allclose(z.tasks[0].observed()[1], [4, 0, 5])
    assert_allclose(theta.tasks[1].observed()[1], [10.2, 3.56])
    assert_allclose(z.tasks[1].observed()[1], [0, 5, -1], atol=1e-12)

    assert (first.z, first.evaluations) == ((1, 0), 5)
    assert_allclose(first.u, [0, 1])
    assert_allclose(first.lam, [0, -0.8])
    assert_allclose(first.mu, [2, 0])
    assert first.primal_residual == pytest.approx(math.sqrt(1.16))
    assert first.dual_residual == pytest.approx(2)

    assert (second.z, second.evaluations) == ((1, 1), 9)
    assert_allclose(second.delta, [6, 2])
    assert_allclose(second.u, [0, 0])
    assert_allclose(second.lam, [0, 0.8])
    assert_allclose(second.mu, [0, 0], atol=1e-12)
    assert second.primal_residual == pytest.approx(math.sqrt(1.64))


def test_an_integer_that_became_inactive_is_projected_and_settles_on_the_lattice():
    """
    After t = 1 above depth is inactive (linear was chosen), with delta = 2 and lam = 0.8. Then
      t = 2: theta_d = clip(b) = 2 - 0.8 / 2 = 1.6;  a = 1.6 + 0.4 = 2;  delta = 2;
             lam = 0.8 + 2 (1.6 - 2) = 0
      t = 3: theta_d = b = 2 = delta, lam = 0: it no longer feeds the residual.
    """
    theta = Scripted([[0.64], [0.36]], [[0.72, 0.5], [0.6, 0.28]], [[0.6]] * 2, [[0.6]] * 2)
    z = Scripted([CLIP_TREE, NONE_LINEAR], [NONE_TREE, CLIP_LINEAR], *[[CLIP_LINEAR] * 2] * 2)
    third, fourth = run(theta, z, iterations=4, slack="closed").iterations[2:]
    assert third.z == fourth.z == (1, 1)
    assert_allclose(third.theta[1], 0.16)
    assert_allclose(third.delta[1], 2)
    assert_allclose(third.lam[1], 0, atol=1e-12)
    assert_allclose(fourth.theta[1], 0.2)
    assert_allclose(fourth.delta[1], 2)
    assert_allclose(fourth.lam[1], 0, atol=1e-12)


@pytest.mark.parametrize("units", ["unit", "raw"])
@pytest.mark.parametrize("relax", [True, False])
def test_delta_stays_on_the_lattice_in_every_iteration(units, relax):
    algorithm = fl.ADMM(
        theta=Random(), z=Random(), precision=fl.Fixed(3), units=units, relax=relax, iterations=8
    )
    result = fl.minimize(problem(), evaluations=500, algorithm=algorithm)
    for iterate in result.iterations:
        values = iterate.delta * (10 if units == "unit" else 1)
        assert_allclose(values, np.rint(values), atol=1e-9)
        assert ((values >= 0) & (values <= 10)).all()
        assert ((iterate.theta >= 0) & (iterate.theta <= 1)).all()
        if not relax:
            assert_allclose(iterate.lam, 0, atol=1e-9)


@pytest.mark.parametrize("slack", ["closed", "searched"])
def test_an_equality_has_no_slack_and_its_multiplier_takes_either_sign(slack):
    """With latency == 8, every pipeline measured here has g - eps < 0: mu = 0 + 2 (4 + 1 - 8) = -6."""
    width = 1 if slack == "closed" else 2
    theta = Scripted([[0.4, 0.9][:width], [0.3, 0.1][:width]])
    z = Scripted([CLIP_TREE, CLIP_TREE])
    (iterate,) = run(
        theta, z, iterations=1, slack=slack, constraints=["latency == 8 +- 0.5"]
    ).iterations
    assert iterate.z == (1, 0)
    assert_allclose(iterate.theta, [0.5, 0.4])
    assert_allclose(iterate.u, [0])
    assert_allclose(iterate.mu, [-6])


def test_a_constraint_from_below_is_flipped():
    """quality >= 9 at depth 4: g - eps = 9 - 4 = 5, so u = 0 and mu = 2 * 5 = 10."""
    theta, z = Scripted([[0.4], [0.4]]), Scripted([NONE_TREE] * 2)
    (iterate,) = run(
        theta, z, iterations=1, slack="closed", constraints=["quality >= 9"]
    ).iterations
    assert_allclose(iterate.mu, [10])
    assert_allclose(iterate.u, [0])


@pytest.mark.parametrize("slack", ["closed", "searched"])
def test_warm_start_shows_old_evaluations_under_todays_multipliers(slack):
    """
    t = 0: shown is the first pipeline, none -> tree(depth=5), with g - eps = (1, -2) and its best
      u = (0, 2): 3 + (1 + 0)^2 + (-2 + 2)^2 = 4, less than what the script proposes.
      So depth stays 5, lam = 0, u = (0, 2), and in the z-min clip(n=5) -> tree(depth=5), with loss
      -2 and g - eps = (2, -2), wins with -2 + 2^2 = 2. mu = 2 ((2, -2) + (0, 2)) = (4, 0).
    t = 1: of five evaluations only that one has today's z. With mu / rho = (2, 0) its best u is
      (0, 2), a third short of the upper end 3: -2 + (2 + 0 + 2)^2 + (-2 + 2)^2 = 14.
    """
    searched = slack == "searched"
    slacks = [[0.0, 2 / 3], [0.25, 2 / 3]] if searched else [[], []]
    theta = Scripted([[0.64, *slacks[0]], [0.36, *slacks[1]]])
    z = Scripted([CLIP_TREE, NONE_LINEAR])
    run(theta, z, iterations=2, slack=slack, warm=True)
    best_slack = [0.0, 2 / 3] if searched else []
    points, merits = theta.shown_at_first[0]
    assert_allclose(points, [[0.5, *best_slack]])
    assert_allclose(merits, [4])
    points, merits = theta.shown_at_first[1]
    assert_allclose(points, [[0.5, 0.5, *best_slack]])
    assert_allclose(merits, [14])


def test_cold_start_shows_no_old_evaluation():
    theta, z = Scripted([[0.64], [0.36]]), Scripted([CLIP_TREE, NONE_LINEAR])
    run(theta, z, iterations=2, slack="closed", warm=False)
    assert [len(merits) for _, merits in theta.shown_at_first] == [0, 0]


def test_failed_pipelines_leave_choices_hyper_parameters_and_multipliers_as_they_were():
    def fails(configuration):
        raise OSError("disk full")

    algorithm = fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(3), iterations=4)
    failing = fl.Problem(SPACE, fails, constraints=["latency <= 4"])
    result = fl.minimize(failing, evaluations=100, algorithm=algorithm)
    assert result.ended == "finished"
    last = result.iterations[-1]
    assert last.z == (0, 0)
    assert_allclose(last.theta, [0.5, 0.5])
    assert_allclose(last.mu, [0])


def test_the_first_pipeline_is_the_first_algorithm_of_each_module_in_the_middle():
    result = fl.minimize(problem(), evaluations=1, algorithm=fl.ADMM(theta=Random(), z=Random()))
    assert str(result.evaluations[0].configuration) == "none -> tree(depth=5)"


def test_balance_doubles_rho_while_the_primal_residual_dwarfs_the_dual():
    """delta never moves, so the dual residual is 0, and latency <= 1 is always broken."""
    algorithm = fl.ADMM(
        theta=Scripted(*[[[0.5]]] * 3),
        z=Scripted(*[[NONE_TREE]] * 3),
        rho=1.0,
        precision=fl.Fixed(1),
        balance=True,
        iterations=3,
    )
    result = fl.minimize(problem(["latency <= 1"]), evaluations=100, algorithm=algorithm)
    assert [i.rho for i in result.iterations] == [1.0, 2.0, 4.0]


def test_unit_scaling_makes_a_run_independent_of_the_units_of_loss_and_constraint():
    def in_other_units(configuration):
        metrics = measure(configuration)
        return metrics | {"loss": 1024 * metrics["loss"], "latency": metrics["latency"] / 4096}

    algorithm = fl.ADMM(theta=Random(), z=Bandit(), precision=fl.Fixed(4), units="unit")
    plain = fl.minimize(problem(["latency <= 4"]), evaluations=20, algorithm=algorithm)
    scaled = fl.minimize(
        fl.Problem(SPACE, in_other_units, constraints=[fl.metric("latency") <= 4 / 4096]),
        evaluations=20,
        algorithm=algorithm,
    )
    assert [e.configuration for e in plain.evaluations] == [
        e.configuration for e in scaled.evaluations
    ]
    assert_allclose([i.mu for i in plain.iterations], [i.mu for i in scaled.iterations], rtol=1e-12)
    # A price is loss per unit of the bound, in the user's own units.
    price, scaled_price = (
        np.array([[*i.prices.values()] for i in result.iterations]) for result in (plain, scaled)
    )
    assert price.max() > 0
    assert_allclose(price * 1024 * 4096, scaled_price, rtol=1e-12)


def test_paper_has_the_settings_of_the_seed():
    assert fl.ADMM.paper() == fl.ADMM(
        theta=Bayesian(initial=5),
        z=Bandit(prior=10.0, bound=0.7, remember=False),
        rho=1.0,
        precision=fl.Adaptive(16, 256, 8),
        slack="searched",
        units="raw",
        relax=True,
        warm=False,
        balance=False,
        iterations=100,
    )


def test_paper_can_be_varied_as_the_papers_figures_vary_it():
    varied = fl.ADMM.paper(z=Bayesian(), rho=0.1, precision=fl.Fixed(64), warm=True)
    assert (varied.z, varied.rho, varied.precision, varied.warm) == (
        Bayesian(),
        0.1,
        fl.Fixed(64),
        True,
    )
    assert (varied.units, varied.relax) == ("raw", True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rho": 0}, "rho must be a positive number; 1.0 is the paper's. Got 0"),
        ({"rho": -1.0}, "Got -1.0"),
        ({"rho": math.nan}, "Got nan"),
        ({"rho": math.inf}, "Got inf"),
        ({"rho": "1"}, "Got '1'"),
        ({"slack": "open"}, "slack must be 'closed' or 'searched'. Got 'open'"),
        ({"units": "metric"}, "units must be 'unit' or 'raw'. Got 'metric'"),
        (
            {"precision": 16},
            r"precision must be Adaptive\(start, stop, step\) or Fixed\(n\). Got 16",
        ),
        ({"iterations": 0}, "iterations must be a whole number of at least 1, or None. Got 0"),
        ({"iterations": 2.5}, "Got 2.5"),
        ({"theta": "bo"}, "theta must be a solver that fits: .* Got 'bo'"),
        ({"z": Bandit}, "z must be a solver that fits: .* Got <class"),
    ],
)
def test_bad_settings_are_refused_with_the_value_and_the_remedy(settings, told):
    with pytest.raises(DefinitionError, match=f"ADMM: .*{told}"):
        fl.ADMM(**settings)

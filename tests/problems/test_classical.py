import math
import pickle
from itertools import product

import numpy as np
import pytest

from fenceline.errors import DefinitionError
from fenceline.problems import (
    ackley_mixed,
    branin,
    classical,
    gramacy,
    mixed_rosenbrock,
    pressure_vessel,
    rastrigin_mixed,
    two_wells,
)

NAMES = sorted(classical())


def _measure(problem, algorithm, **params):
    (module,) = problem.space.modules
    return problem.measure(problem.space.configuration({module.name: (algorithm, params)}))


@pytest.mark.parametrize("name", NAMES)
def test_no_random_feasible_configuration_beats_the_optimum(name):
    problem = classical()[name]
    rng = np.random.default_rng(0)
    measured = [problem.check(problem.measure(problem.space.sample(rng))) for _ in range(3000)]
    feasible = [m["loss"] for m in measured if problem.violation(m) == 0.0]
    assert feasible
    assert min(feasible) >= problem.optimum


@pytest.mark.parametrize("name", NAMES)
def test_optimum_is_not_at_the_centre_where_searches_start(name):
    problem = classical()[name]
    centre = problem.space.decode(problem.space.first, problem.space.centre)
    measured = problem.measure(centre)
    assert problem.violation(measured) > 0 or measured["loss"] > problem.optimum + 0.01


@pytest.mark.parametrize("name", NAMES)
def test_problem_can_be_pickled(name):
    problem = classical()[name]
    configuration = problem.space.sample(np.random.default_rng(0))
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem
    assert copy.measure(configuration) == problem.measure(configuration, fidelity=0.5)


@pytest.mark.parametrize(("x1", "x2"), [(-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)])
def test_branin_has_three_equal_minima(x1, x2):
    problem = branin()
    assert _measure(problem, "plane", x1=x1, x2=x2)["loss"] == pytest.approx(problem.optimum)


def test_rosenbrock_is_zero_at_all_ones():
    problem = mixed_rosenbrock(reals=3, integers=1)
    assert _measure(problem, "valley", n1=1, x1=1.0, x2=1.0, x3=1.0)["loss"] == 0.0


@pytest.mark.parametrize(
    ("make", "algorithm"), [(ackley_mixed, "funnel"), (rastrigin_mixed, "grid")]
)
def test_rippled_functions_are_zero_at_the_origin(make, algorithm):
    problem = make(reals=1, integers=2)
    assert _measure(problem, algorithm, x1=0.0, n1=0, n2=0)["loss"] == pytest.approx(0.0, abs=1e-15)
    assert _measure(problem, algorithm, x1=0.01, n1=0, n2=0)["loss"] > 0.01


def test_ackley_agrees_with_the_textbook():
    x = np.array([2.0, -3.0, 0.37, 4.1])
    textbook = (
        -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
        - np.exp(np.mean(np.cos(2 * np.pi * x)))
        + 20
        + np.e
    )
    measured = _measure(ackley_mixed(), "funnel", n1=2, n2=-3, x1=0.37, x2=4.1)
    assert measured["loss"] == pytest.approx(textbook)


def test_narrow_well_is_deeper_and_mostly_worse():
    problem = two_wells()
    assert _measure(problem, "narrow", x=0.8, n=7)["loss"] == problem.optimum
    assert _measure(problem, "wide", x=0.3)["loss"] == pytest.approx(0.2)
    rng = np.random.default_rng(0)
    losses = {"wide": [], "narrow": []}
    for _ in range(1000):
        configuration = problem.space.sample(rng)
        losses[configuration["well"].algorithm].append(problem.measure(configuration)["loss"])
    assert max(losses["wide"]) < np.median(losses["narrow"])


def test_gramacy_optimum_agrees_with_brute_force():
    problem = gramacy()
    x1, x2 = np.meshgrid(np.linspace(0, 1, 2001), np.linspace(0, 1, 2001), sparse=True)
    wave = 1.5 - x1 - 2 * x2 - 0.5 * np.sin(2 * np.pi * (x1**2 - 2 * x2))
    feasible = (wave <= 0) & (x1**2 + x2**2 <= 1.5)
    best = np.where(feasible, x1 + x2, np.inf).min()
    assert problem.optimum <= best <= problem.optimum + 3 / 2000
    near = _measure(problem, "plane", x1=0.19512268, x2=0.40466538)
    assert near["loss"] == pytest.approx(problem.optimum, abs=1e-7)
    assert all(c.holds(near[c.metric]) for c in problem.constraints)


def test_pressure_vessel_optimum_agrees_with_brute_force():
    """For every pair of thicknesses and a grid of radii, the shortest length that holds enough."""
    best = math.inf
    for shell, head in product(range(1, 100), repeat=2):
        ts, th = shell / 16, head / 16
        largest = min(ts / 0.0193, th / 0.00954, 200.0)
        r = np.linspace(10.0, max(largest, 10.0), 401)
        length = np.maximum((1_296_000 - 4 / 3 * np.pi * r**3) / (np.pi * r**2), 10.0)
        cost = (
            0.6224 * ts * r * length
            + 1.7781 * th * r**2
            + 3.1661 * ts**2 * length
            + 19.84 * ts**2 * r
        )
        best = min(best, float(np.where((length <= 200) & (r <= largest), cost, np.inf).min()))
    assert best == pytest.approx(pressure_vessel().optimum, rel=1e-9)


def test_pressure_vessel_attains_its_optimum():
    problem = pressure_vessel()
    radius = 0.8125 / 0.0193
    length = (1_296_000 - 4 / 3 * math.pi * radius**3) / (math.pi * radius**2)
    measured = _measure(problem, "vessel", shell=13, head=7, radius=radius, length=length)
    assert measured["loss"] == pytest.approx(problem.optimum, rel=1e-12)
    assert problem.violation(measured) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("make", [mixed_rosenbrock, ackley_mixed, rastrigin_mixed])
@pytest.mark.parametrize(("reals", "integers"), [(-1, 3), (1.5, 2), (2, True), ("2", 2)])
def test_dimensions_must_be_whole_numbers(make, reals, integers):
    with pytest.raises(DefinitionError, match=f"{make.__name__}: reals and integers must be whole"):
        make(reals, integers)


def test_too_few_variables_are_refused():
    with pytest.raises(
        DefinitionError, match=r"at least 2 .*Got reals=1 and integers=0; raise one"
    ):
        mixed_rosenbrock(1, 0)
    with pytest.raises(DefinitionError, match=r"at least 1 .*Got reals=0 and integers=0"):
        ackley_mixed(0, 0)

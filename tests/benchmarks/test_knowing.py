"""The agent that knows the artificial problems: its formula is theirs, and it learns from what it measures."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from benchmarks import first_feasible, knowing
from benchmarks.first_feasible import CONSTRAINTS, CURVES, Row, table
from benchmarks.harness import Curve
from benchmarks.knowing import Pipelines, agreeing, values
from fenceline.baselines import RandomSearch
from fenceline.problems import artificial
from fenceline.problems.artificial_measure import SAMPLES


def coefficients(function):
    """Return a function of a problem as the agent writes it."""
    operators = [operator for row in function for operator in row]
    weights = np.concatenate([operator.weights for operator in operators])
    extremes = [operator.up for operator in operators] + [operator.down for operator in operators]
    return np.concatenate([weights, ndtri(ndtr(np.array(extremes)) ** SAMPLES)])[None]


@pytest.fixture
def problem():
    return artificial(3, constraints=1, feasible_fraction=0.1)


def measured(problem, pipelines):
    space = problem.space
    configurations = [
        space.decode(tuple(int(j) for j in z), theta)
        for z, theta in zip(pipelines.z, pipelines.theta, strict=True)
    ]
    return np.array([problem.measure(c)["g1"] for c in configurations])


def test_the_formula_is_that_of_the_problem(problem):
    pipelines = Pipelines.drawn(np.random.default_rng(0), 50)
    known = coefficients(problem.measure.functions[1])
    np.testing.assert_allclose(values(known, pipelines)[0], measured(problem, pipelines), rtol=1e-9)


def test_functions_come_to_agree_with_what_was_measured(problem):
    rng = np.random.default_rng(0)
    seen, unseen = Pipelines.drawn(rng, 8), Pipelines.drawn(rng, 200)
    before = rng.standard_normal((40, knowing._ALL))
    after = agreeing(before, seen, measured(problem, seen), rng)

    def miss(functions, pipelines):
        return np.median(np.abs(values(functions, pipelines) - measured(problem, pipelines)))

    assert miss(after, seen) < 0.2 < miss(before, seen)
    assert miss(after, unseen) < miss(before, unseen)


def test_variations_differ_in_at_most_two_modules():
    rng = np.random.default_rng(0)
    parent = Pipelines.drawn(rng, 1)
    children = parent.changed(rng, 100)
    differs = (children.z != parent.z).sum(axis=1)
    assert set(differs) == {0, 1, 2}


def test_a_run_ends_with_the_first_feasible_pipeline():
    row = first_feasible.first_feasible(Curve("random", RandomSearch), 1, 0, 0)
    assert 1 <= row.first <= first_feasible.MOST + 1
    assert row == first_feasible.first_feasible(Curve("random", RandomSearch), 1, 0, 0)


def test_the_table_has_medians_and_parts_of_tpes():
    rows = [
        Row(curve.name, k, problem, 0, first)
        for curve, first in zip(CURVES, (6, 12, 3), strict=True)
        for k in CONSTRAINTS
        for problem in range(3)
    ]
    assert table(rows).splitlines()[2:] == [
        "| Fenceline | 6 (0.50) | 6 (0.50) | 6 (0.50) |",
        "| constrained TPE (Optuna) | 12 (1.00) | 12 (1.00) | 12 (1.00) |",
        "| knows the formula | 3 (0.25) | 3 (0.25) | 3 (0.25) |",
    ]

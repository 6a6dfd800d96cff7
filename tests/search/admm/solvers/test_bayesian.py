from itertools import islice

import numpy as np
import pytest

from fenceline import Categorical, Integer, Real
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Bayesian, Random
from fenceline.testing import FakeSubproblem, SolverSuite


class TestBayesian(SolverSuite):
    solver = Bayesian()
    beats_random = 24


@pytest.mark.parametrize(
    "parameters",
    [
        [Real(0.0, 1.0), Integer(0, 4)],
        [Integer(0, 4), Real(0.0, 1.0)],
        [Categorical(list("abcde")), Integer(0, 4), Real(0.0, 1.0)],
    ],
    ids=["real first", "real last", "all kinds"],
)
def test_the_minimum_is_found_whatever_kinds_of_parameters_stand_together(parameters):
    target = np.array([0.37 if isinstance(p, Real) else 0.5 for p in parameters])
    task = FakeSubproblem(parameters)
    for point in islice(Bayesian().proposals(task, np.random.default_rng(1)), 25):
        task.tell(point[None], ((point[None] - target) ** 2).sum(axis=1))
    points, merits = task.observed()
    assert np.abs(points[np.argmin(merits)] - target).max() < 1e-2


def test_the_first_points_are_those_of_random_search():
    task = FakeSubproblem([Real(0.0, 1.0)] * 3)
    ours = Bayesian(initial=4).proposals(task, np.random.default_rng(0))
    randoms = Random().proposals(task, np.random.default_rng(0))
    for _ in range(4):
        point = next(ours)
        np.testing.assert_array_equal(point, next(randoms))
        task.tell(point[None], np.array([point.sum()]))
    assert not np.array_equal(next(ours), next(randoms))


def test_a_known_point_of_a_lattice_is_not_proposed_while_others_are_left():
    task = FakeSubproblem([Categorical(list("abc")), Integer(1, 4)])
    for point in islice(Bayesian(initial=1).proposals(task, np.random.default_rng(0)), 12):
        task.tell(point[None], np.array([point.sum()]))
    assert len(np.unique(task.observed()[0], axis=0)) == 12


def test_a_pending_point_is_not_proposed_again():
    parameters = [Categorical(list("abcd"))]
    task = FakeSubproblem(parameters, pending=np.array([[0.0], [1 / 3]]))
    task.tell(np.array([[2 / 3]] * 5), np.ones(5))
    assert next(Bayesian().proposals(task, np.random.default_rng(0))) == pytest.approx([1.0])


@pytest.mark.parametrize("initial", [0, -1])
def test_a_start_without_points_is_refused(initial):
    with pytest.raises(DefinitionError, match=f"initial must be at least 1. Got {initial}"):
        Bayesian(initial=initial)

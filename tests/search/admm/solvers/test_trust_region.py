from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize

from fenceline import Real
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import TrustRegion
from fenceline.testing import FakeSubproblem, SolverSuite


class TestTrustRegion(SolverSuite):
    solver = TrustRegion()
    beats_random = 40


def solve(count, start=None, merit=lambda x: ((x - 0.37) ** 2).sum(axis=1)):
    task = FakeSubproblem([Real(0.0, 1.0)] * 3)
    if start is not None:
        task.tell(start, merit(start))
    for point in islice(TrustRegion().proposals(task, np.random.default_rng(0)), count):
        task.tell(point[None], merit(point[None]))
    return task.observed()


def test_a_bowl_is_solved_in_few_evaluations():
    assert solve(20)[1].min() < 1e-6


def test_the_first_region_lies_around_the_best_point_known():
    known = np.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9]])
    points, _ = solve(3, start=known)
    assert np.abs(points[2:] - 0.1).max() <= 0.2 + 1e-9


def test_the_better_the_points_known_the_narrower_the_region():
    rng = np.random.default_rng(0)
    known = 0.3 + 0.01 * rng.random((8, 3))
    points, _ = solve(4, start=known)
    assert np.abs(points[8:] - 0.305).max() < 0.05


def test_the_merit_may_call_the_same_optimiser():
    """scipy runs one COBYQA at a time in a process: a search must not keep it while it waits."""

    def merit(points):
        minimize(lambda x: float(x @ x), [1.0], method="COBYQA")
        return ((points - 0.37) ** 2).sum(axis=1)

    assert len(solve(9, merit=merit)[1]) == 9


def test_a_second_region_starts_while_the_first_waits():
    """The point that is asked for stays pending, as with a worker that takes long."""
    task = FakeSubproblem([Real(0.0, 1.0)] * 3)
    search = TrustRegion().proposals(task, np.random.default_rng(0))
    first = next(search)
    task._pending = first[None]
    others = np.array(list(islice(search, 3)))
    assert not (others == first).all(axis=1).any()


@pytest.mark.parametrize("settings", [{"radius": 0.6}, {"precision": 0.0}, {"precision": 0.3}])
def test_a_region_that_cannot_be_is_refused_with_its_values(settings):
    with pytest.raises(DefinitionError, match=str(next(iter(settings.values())))):
        TrustRegion(**settings)

from itertools import islice

import numpy as np
import pytest

from fenceline import Real
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import DirectSearch
from fenceline.testing import FakeSubproblem, SolverSuite


class TestDirectSearch(SolverSuite):
    solver = DirectSearch()
    beats_random = 40


def solve(count, dimension, known=0):
    task = FakeSubproblem([Real(0.0, 1.0)] * dimension)
    start = np.random.default_rng(7).random((known, dimension))
    task.tell(start, ((start - 0.37) ** 2).sum(axis=1))
    for point in islice(DirectSearch().proposals(task, np.random.default_rng(0)), count):
        task.tell(point[None], ((point[None] - 0.37) ** 2).sum(axis=1))
    points, merits = task.observed()
    return points[known:], merits


def test_the_cube_is_divided_first_and_the_simplex_refines_its_best_point():
    points, merits = solve(60, 2)
    np.testing.assert_allclose(points[0], [0.5, 0.5])
    divided = {0.5, 1 / 6, 5 / 6}
    assert all(min(abs(x - d) for d in divided) < 1e-9 for x in points[:5].ravel())
    assert merits.min() < 1e-6


@pytest.mark.parametrize(("dimension", "known"), [(9, 0), (2, 20)])
def test_nothing_is_divided_in_many_dimensions_or_where_enough_is_known(dimension, known):
    points, _ = solve(3, dimension, known)
    assert not np.isclose(points, 0.5, atol=1e-9).all(axis=1).any()


@pytest.mark.parametrize("settings", [{"divisions": 0}, {"edge": 0.7}, {"precision": 0.0}], ids=str)
def test_bad_settings_are_refused_with_their_value(settings):
    with pytest.raises(DefinitionError, match=str(next(iter(settings.values())))):
        DirectSearch(**settings)

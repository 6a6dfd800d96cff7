from itertools import islice

import numpy as np
import pytest

from fenceline import Categorical
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import TreeSearch
from fenceline.testing import FakeSubproblem, SolverSuite


class TestTreeSearch(SolverSuite):
    solver = TreeSearch()
    continuous = False
    beats_random = 60


def choices(count, sizes=(4, 5, 6)):
    task = FakeSubproblem([Categorical([str(j) for j in range(n)]) for n in sizes])
    for point in islice(TreeSearch().proposals(task, np.random.default_rng(0)), count):
        task.tell(point[None], np.array([point @ [1.0, 2.0, 4.0]]))
    return task.observed()


def test_the_best_choices_of_every_module_are_found():
    _, merits = choices(60, sizes=(6, 7, 8))
    assert merits.min() == 0.0
    assert merits[30:].mean() < 3.0  # of random ones 3.5


def test_nothing_is_measured_twice_while_there_are_others():
    points, _ = choices(12, sizes=(2, 2, 3))
    assert len(np.unique(points, axis=0)) == 12


@pytest.mark.parametrize("settings", [{"exploration": -1.0}, {"widening": 0.0}], ids=str)
def test_bad_settings_are_refused_with_their_value(settings):
    with pytest.raises(DefinitionError, match=f"Got {next(iter(settings.values()))}"):
        TreeSearch(**settings)

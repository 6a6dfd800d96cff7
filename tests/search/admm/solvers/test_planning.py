from itertools import islice

import numpy as np
import pytest

from fenceline import Categorical
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Planning
from fenceline.testing import FakeSubproblem, SolverSuite


class TestPlanning(SolverSuite):
    solver = Planning()
    continuous = False
    beats_random = 60


def plan(count, sizes=(4, 5, 3), merit=lambda point: point @ [1.0, 2.0, 4.0]):
    task = FakeSubproblem([Categorical([str(j) for j in range(n)]) for n in sizes])
    for point in islice(Planning().proposals(task, np.random.default_rng(0)), count):
        task.tell(point[None], np.array([merit(point)]))
    return task.observed()


def test_every_choice_of_the_last_module_is_completed_three_times_before_any_is_refined():
    """One more where the worst seen may be a failure."""
    last = plan(10)[0][:, 2]
    assert np.unique(last, return_counts=True)[1].tolist() in ([3, 3, 4], [3, 4, 3], [4, 3, 3])


def test_the_best_pipeline_is_found_by_refining():
    assert plan(35)[1].min() == 0.0


def test_nothing_is_measured_twice_while_there_are_others():
    assert len(np.unique(plan(12, sizes=(2, 2, 3))[0], axis=0)) == 12


def test_modules_without_a_choice_are_passed_over():
    assert plan(6, sizes=(1, 6, 1))[1].min() == 0.0


def test_a_value_without_completions_is_refused():
    with pytest.raises(DefinitionError, match="at least 1"):
        Planning(completions=0)

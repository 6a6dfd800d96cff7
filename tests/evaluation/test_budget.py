import time

import pytest

import fenceline as fl
from fenceline.evaluation.budget import Budget


def test_a_look_counts_as_its_share():
    budget = Budget(1, None)
    budget.spent += 0.75
    assert not budget.measured_out
    budget.spent += 0.25
    assert budget.measured_out
    assert not budget.timed_out


def test_an_algorithm_is_told_the_time_only_where_it_alone_decides():
    assert Budget(5, 60.0).told is None
    assert Budget(5, None).told is None
    assert 59.0 < Budget(None, 60.0).told <= 60.0


def test_what_is_left_of_the_time_is_never_less_than_nothing():
    assert Budget(5, None).left is None
    spent = Budget(None, 1e-9)
    time.sleep(1e-3)
    assert spent.left == 0.0
    assert spent.timed_out
    assert spent.elapsed > 1e-3


def test_reserved_seconds_are_not_left_to_the_run():
    budget = Budget(None, 60.0)
    budget.reserved = 20.0
    assert 39.0 < budget.left <= 40.0
    assert not budget.timed_out
    budget.reserved = 60.0
    assert budget.timed_out


class NeedsTimeAfterwards:
    """Measures a number, and says how long its use takes if it is the best."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, configuration):
        return {"loss": configuration["module"].params["x"]}

    def seconds_after(self, best):
        return self.seconds


@pytest.mark.parametrize(("seconds", "ended"), [(1e6, "seconds"), (0.0, "evaluations")])
def test_a_run_leaves_the_time_that_is_needed_for_its_answer(seconds, ended):
    space = fl.Space([fl.Module("module", [fl.Algorithm("only", {"x": fl.Real(0.0, 1.0)})])])
    problem = fl.Problem(space, NeedsTimeAfterwards(seconds), objective="loss")
    result = fl.minimize(problem, evaluations=3, seconds=1000.0)
    assert result.ended == ended
    assert len(result.evaluations) == (1 if ended == "seconds" else 3)

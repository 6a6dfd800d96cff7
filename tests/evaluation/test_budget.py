import time

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

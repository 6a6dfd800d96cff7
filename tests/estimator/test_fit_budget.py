import math
import time

import pytest

from fenceline import FencelineClassifier, Limits
from fenceline.estimator.budget import DEFAULT_SECONDS, Budget


def begin(*, certified_rows=0, **settings):
    return Budget.begin(FencelineClassifier(**settings), certified_rows=certified_rows)


def test_without_a_budget_there_is_a_minute():
    before = time.monotonic()
    budget = begin()
    assert budget.seconds + budget.inspection == DEFAULT_SECONDS
    end = budget.deadline + budget.inspection
    assert before + DEFAULT_SECONDS <= end <= time.monotonic() + DEFAULT_SECONDS


def test_evaluations_alone_look_at_no_clock():
    budget = begin(evaluations=7)
    assert (budget.evaluations, budget.seconds, budget.limits) == (7, None, None)
    assert budget.deadline == math.inf


@pytest.mark.parametrize(
    ("certified_rows", "search"), [(0, 97.0), (5_000, 94.0), (10**6, 82.45), (1, 94.9998)]
)
def test_a_search_leaves_time_for_the_certificate_by_its_rows(certified_rows, search):
    assert begin(seconds=100.0, certified_rows=certified_rows).seconds == pytest.approx(search)


def test_a_search_leaves_a_quarter_to_choose_who_votes():
    budget = begin(seconds=100.0, ensemble=5, certified_rows=5_000)
    assert budget.seconds == 0.75 * 97.0
    assert budget.deadline > time.monotonic() + 90


@pytest.mark.parametrize(("seconds", "longest"), [(100.0, 24.25), (15.0, 5.0), (8.0, 3.88)])
def test_one_pipeline_may_take_a_quarter_of_the_search_some_seconds_at_least_and_half_at_most(
    seconds, longest
):
    budget = begin(seconds=seconds)
    assert budget.limits is not None
    assert budget.limits.seconds == pytest.approx(longest)
    assert budget.fold_seconds == pytest.approx(0.7 * longest)


def test_limits_of_memory_alone_give_folds_all_the_time():
    assert begin(seconds=100.0, limits=Limits(megabytes=500)).fold_seconds is None


def test_an_inspection_has_a_share_of_the_seconds_and_a_second_without_any():
    assert begin(seconds=100.0).inspection == pytest.approx(3.0)
    assert begin(evaluations=7).inspection == 1.0

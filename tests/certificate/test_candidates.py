import math

import pytest

from fenceline import metrics
from fenceline.certificate.candidates import shortlist
from fenceline.problem.problem import Evaluation, Problem
from fenceline.problem.space import Algorithm, Module, Space

SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
RATE = metrics.false_positive_rate()


def evaluation(loss, rate, se=0.01):
    known = {"loss": loss, "false_positive_rate": rate, "false_positive_rate/se": se}
    return Evaluation(SPACE.decode(SPACE.first, SPACE.centre), known, loss, 0.0)


def listed(evaluations, constraint=RATE <= 0.3, rows=(800, 200), **options):
    problem = Problem(SPACE, lambda c: {}, "loss", [constraint])
    known = {"false_positive_rate": RATE}
    chosen = shortlist(evaluations, problem, known, rows=rows, confidence=0.95, **options)
    return [e.objective for e in chosen]


# An error of 0.01 on 800 rows is 0.02 on 200; at 0.05 / 3 it reaches 2.13 times as far: 0.043.
def test_after_the_best_come_the_best_with_room_for_the_error_and_half_as_much_again():
    rates = [0.30, 0.29, 0.27, 0.255, 0.24, 0.23, 0.1]
    assert listed([evaluation(i, rate) for i, rate in enumerate(rates)]) == [0, 3, 5]


def test_where_none_has_the_room_the_one_with_most_comes_next():
    assert listed([evaluation(i, rate) for i, rate in enumerate([0.30, 0.299, 0.295])]) == [0, 2, 1]


def test_some_room_is_better_than_none_where_none_has_enough():
    rates = [0.30, 0.29, 0.275, 0.27, 0.265]
    assert listed([evaluation(i, rate) for i, rate in enumerate(rates)]) == [0, 2, 4]


def test_room_is_not_bought_at_any_price():
    rates = [0.30, 0.29, 0.275, 0.1, 0.0]
    evaluations = [evaluation(i, rate) for i, rate in enumerate(rates)]
    assert listed(evaluations) == [0, 3, 4]
    assert listed(evaluations, worst=2.5) == [0, 2, 1]
    assert listed(evaluations, worst=0.5) == [0, 1, 2]


def test_room_is_kept_for_what_grows_with_the_rows():
    size = metrics.size_mb()
    problem = Problem(SPACE, lambda c: {}, "loss", [size <= 10])
    first = SPACE.decode(SPACE.first, SPACE.centre)
    sizes = [10.0, 9.9, 8.5, 7.0]
    found = [Evaluation(first, {"size_mb": s}, i, 0.0) for i, s in enumerate(sizes)]

    def chosen(growth):
        settings = {"rows": (800, 200), "confidence": 0.95, "growth": growth}
        return [e.objective for e in shortlist(found, problem, {"size_mb": size}, **settings)]

    assert chosen({}) == [0, 1, 2]
    assert chosen({"size_mb": 1.1}) == [0, 2, 3]
    assert chosen({"size_mb": 1.3}) == [0, 3, 2]


def test_what_was_stopped_early_has_less_room():
    evaluations = [evaluation(i, rate) for i, rate in enumerate([0.30, 0.25, 0.25])]
    for found, folds in zip(evaluations, (3.0, 1.0, 3.0), strict=True):
        found.metrics["folds"] = folds
    assert listed(evaluations) == [0, 2, 1]


def test_few_candidates_are_all_listed():
    assert listed([evaluation(0, 0.3)]) == [0]
    assert listed([]) == []


def test_room_is_kept_on_the_other_side_of_a_lower_bound():
    rates = [0.30, 0.32, 0.4]
    assert listed([evaluation(i, r) for i, r in enumerate(rates)], RATE >= 0.3) == [0, 2, 1]


def test_room_is_kept_on_both_sides_of_an_equality():
    rates = [0.2, 0.4, 0.3]
    fence = RATE.equals(0.3, 0.1)
    assert listed([evaluation(i, r) for i, r in enumerate(rates)], fence) == [0, 2, 1]


def test_without_known_errors_the_best_come_first():
    evaluations = [evaluation(i, 0.3, math.nan) for i in range(4)]
    for e in evaluations:
        del e.metrics["false_positive_rate/se"]
    assert listed(evaluations) == [0, 1, 2]


@pytest.mark.parametrize(("unseen", "expected"), [(800, [0, 1, 2]), (200, [0, 2, 3])])
def test_fewer_unseen_rows_need_more_room(unseen, expected):
    rates = [0.30, 0.275, 0.255, 0.23]
    assert listed([evaluation(i, r) for i, r in enumerate(rates)], rows=(800, unseen)) == expected

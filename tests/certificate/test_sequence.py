import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenceline.certificate.sequence import FINE, START, STEPS, Option, fixed_sequence, walk
from fenceline.pipelines.ensemble import Candidate

REACH = 1.645


def option(objective, room, pipeline=None, seconds=0.0, log_odds=None, merit=0.0, gain=0.0):
    name = objective if pipeline is None else pipeline
    candidate = Candidate((name,), {}, seconds)
    return Option(candidate, objective, room, {}, log_odds, merit, gain, assurance=room - REACH)


def sequence(*options, **settings):
    chosen = fixed_sequence(options, **settings)
    return [o.objective for o in chosen]


def test_it_leads_from_safe_to_bold_and_from_worse_to_better():
    rooms = np.linspace(0.0, 6.0, 61)
    chosen = fixed_sequence([option(room, room) for room in rooms])
    assert len(chosen) == STEPS
    assert [o.room for o in chosen] == sorted((o.room for o in chosen), reverse=True)
    assert chosen[0].room == pytest.approx(REACH + START, abs=0.1)
    assert chosen[-1].room == 0.0


def test_it_is_the_chance_to_pass_that_counts_not_the_distance_to_the_fence():
    near, far = option(0, 1.0), replace(option(1, 6.0), assurance=-1.0)
    assert [o.objective for o in fixed_sequence([near, far])] == [0]


def test_the_best_comes_alone_if_it_has_all_the_room_that_a_start_needs():
    assert sequence(option(0, 5), option(1, 6), option(2, 7)) == [0]


def test_where_none_has_the_room_to_start_with_the_one_with_most_comes_first():
    assert sequence(option(0, 0.1), option(1, 1.2), option(2, 1.1)) == [1, 0]


def test_what_is_hardly_safer_and_gains_far_less_is_not_tested_first():
    # If the first fails nothing is certified: the weak one would cost as much as it protects.
    weak, good = option(0.30, 2.30, gain=0.20), option(0.02, 2.25, gain=0.48)
    assert sequence(weak, good) == [0.02]
    # What is far safer, or gains nearly as much, stays.
    assert sequence(option(0.30, 4.0, gain=0.20), good) == [0.30, 0.02]
    assert sequence(option(0.04, 2.30, gain=0.46), good) == [0.04, 0.02]


def test_what_is_no_better_than_a_safer_one_is_left_out():
    assert sequence(option(0, 0.5), option(2, 2.0), option(1, 3.0)) == [1, 0]


def test_nothing_outside_the_fence_is_tested():
    assert sequence(option(0, -0.1), option(1, 0.1)) == [1]
    assert sequence(option(0, -0.1)) == []


def test_thresholds_are_told_apart_by_merit_where_the_objective_only_ranks():
    given = [option(0, room, "a", log_odds=room, merit=room) for room in (0.5, 2.0, 9.0)]
    chosen = fixed_sequence(given)
    assert [o.merit for o in chosen] == [9.0, 2.0, 0.5]


def test_too_many_pipelines_are_thinned_and_thresholds_of_one_are_not():
    many = [option(room, room) for room in np.linspace(0.0, 4.5, 10)]
    assert len(sequence(*many)) > 3
    assert len(sequence(*many, pipelines=3)) == 3
    one = [option(room, room, "one", log_odds=room) for room in np.linspace(0.0, 4.5, 10)]
    assert len(sequence(*one, pipelines=1)) >= len(sequence(*many))


def test_between_two_steps_other_thresholds_of_the_same_pipelines_are_tested():
    rooms = np.linspace(0.0, 6.0, 601)
    chosen = fixed_sequence([option(room, room, "a", log_odds=room) for room in rooms])
    steps = [a.room - b.room for a, b in pairwise(chosen)]
    assert max(steps) < 2 * FINE
    assert min(steps) > 0.9 * FINE
    # A third pipeline may fail for reasons of its own: it is tested only where it is the best.
    others = [option(room + 1e-3, room, "b", log_odds=room) for room in rooms]
    again = fixed_sequence([o for o in chosen if o.room % 0.5 < 0.1] + others)
    assert {o.pipeline for o in again} == {("a",), ("b",)}


def test_what_is_too_slow_to_fit_gives_way_and_one_always_stays():
    given = [option(0, 0.5, seconds=1.0), option(1, 3, seconds=50.0), option(2, 5, seconds=1.0)]
    slow = {"fit_seconds": lambda candidate: candidate.seconds}
    assert sequence(*given, **slow) == [2, 1, 0]
    assert sequence(*given, **slow, seconds=10.0) == [2, 0]
    assert len(sequence(*given, **slow, seconds=0.0)) == 1


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-3, 8)), max_size=30),
    st.integers(1, 10),
)
def test_any_sequence_descends_in_room_and_improves(found, pipelines):
    options = [option(loss, room, i) for i, (loss, room) in enumerate(found)]
    chosen = fixed_sequence(options, pipelines=pipelines)
    inside = [o for o in options if o.room >= 0]
    assert bool(chosen) == bool(inside)
    assert len({o.pipeline for o in chosen}) <= pipelines
    for safe, bold in pairwise(chosen):
        assert safe.room >= bold.room
        assert safe.objective > bold.objective


def test_the_first_failure_ends_it_and_what_cannot_be_tested_does_not():
    verdicts = {1: True, 2: None, 3: True, 4: False, 5: True}
    asked = []

    def certified(o):
        asked.append(o.objective)
        return verdicts[o.objective]

    passed = walk([option(i, math.inf) for i in range(1, 6)], certified)
    assert [o.objective for o in passed] == [1, 3]
    assert asked == [1, 2, 3, 4]


def test_safer_thresholds_of_the_first_pipeline_come_before_it():
    rooms = np.linspace(0.0, 9.0, 10)
    one = [option(room, room, "a", log_odds=room) for room in rooms]
    other = [option(20.0, 12.0, "b", log_odds=1.0)]
    chosen = fixed_sequence([*one, *other])
    # Another pipeline, however safe, may fail for reasons of its own.
    assert {o.pipeline for o in chosen} == {("a",)}
    assert [o.room for o in chosen] == sorted(rooms, reverse=True)
    start = fixed_sequence([*one, *other], from_safest=False)
    assert start == chosen[-len(start) :]
    assert start[0].room == 4.0


def test_a_safer_threshold_that_is_no_weaker_or_hardly_safer_is_not_tested():
    given = [option(5, 5, "a", log_odds=1.0), option(0, 0, "a", log_odds=0.0)]
    better = option(5, 7, "a", log_odds=2.0)
    near = option(6, 5 + FINE / 2, "a", log_odds=1.1)
    assert sequence(*given, near) == [5, 0]
    assert [o.room for o in fixed_sequence([*given, better])] == [7, 0]


@given(st.lists(st.floats(0, 9), min_size=1, max_size=30, unique=True), st.floats(0, 9))
def test_where_a_rate_falls_with_the_threshold_safer_ones_cost_no_certificate(rooms, needed):
    given = [option(room, room, "a", log_odds=room) for room in rooms]

    def passed(**settings):
        line = fixed_sequence(given, **settings)
        return [o.objective for o in walk(line, lambda o: o.room >= needed)]

    before, after = passed(from_safest=False), passed()
    assert min(after, default=9) <= min(before, default=9)

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from fenceline import metrics
from fenceline.certificate.candidates import Rooms, options, typical_errors
from fenceline.pipelines.ensemble import Candidate
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.problem.measurement import Spread
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
FIRST = SPACE.decode(SPACE.first, SPACE.centre)
RATE = metrics.false_positive_rate()
KNOWN = {
    "false_positive_rate": RATE,
    "size_mb": metrics.size_mb(),
    "latency_us": metrics.latency_us(),
}


def rooms(*constraints, rows=(800, 200), typical=None, growth=None):
    problem = Problem(SPACE, lambda c: {}, "loss", list(constraints))
    return Rooms(
        problem, KNOWN, rows, 0.05, typical or {c.metric: 0.0 for c in constraints}, growth or {}
    )


def measured(rate, se=0.01, folds=3, **more):
    metrics = {"loss": 0.5, "false_positive_rate": rate}
    spreads = {"false_positive_rate": Spread(se, (rate,) * folds)}
    return Candidate((FIRST,), metrics, 1.0, spreads=spreads, **more)


def candidate(spreads=None, **metrics):
    return Candidate((FIRST,), metrics, 1.0, spreads=spreads or {})


def test_room_is_counted_in_errors_on_unseen_rows():
    # An error of 0.01 on 800 rows is 0.02 on 200.
    assert rooms(RATE <= 0.3).of(measured(0.26)).errors == pytest.approx(2.0)
    assert rooms(RATE <= 0.3, rows=(800, 800)).of(measured(0.26)).errors == pytest.approx(4.0)


def test_room_is_kept_on_the_side_that_matters():
    assert rooms(RATE >= 0.2).of(measured(0.26)).errors == pytest.approx(3.0)
    assert rooms(RATE.equals(0.25, 0.05)).of(measured(0.26)).errors == pytest.approx(2.0)
    assert rooms(RATE <= 0.25).of(measured(0.26)).errors == pytest.approx(-0.5)


def test_the_nearest_bound_counts():
    both = rooms(RATE <= 0.3, RATE >= 0.2)
    assert both.of(measured(0.26)).errors == pytest.approx(2.0)


def test_assurance_is_the_normal_score_of_the_chance_to_pass():
    # On 200 rows an error of 0.02, on 800 one of 0.01: the value must lie 1.645 of the former inside.
    found = rooms(RATE <= 0.3).of(measured(0.26)).assurance
    assert found == pytest.approx((0.04 - 1.645 * 0.02) / math.hypot(0.01, 0.02), rel=1e-3)
    both = rooms(RATE <= 0.3, RATE >= 0.22).of(measured(0.26)).assurance
    one = NormalDist().cdf(found)
    assert NormalDist().cdf(both) == pytest.approx(one**2)
    # However hopeless, it is a number, so that steps between two can be told.
    hopeless = rooms(RATE <= 0.3, RATE >= 0.3).of(measured(0.3, 1e-9), {RATE.name: -9.0})
    assert -7 < hopeless.assurance < -5


def test_a_difference_may_fail_on_either_side():
    def of(metric, value, bound):
        given = Candidate((FIRST,), {metric.name: value}, 1.0, spreads={metric.name: Spread(0.01)})
        constraint = metric >= bound if metric.larger_is_better else metric <= bound
        problem = Problem(SPACE, lambda c: {}, "loss", [constraint])
        known = Rooms(problem, {metric.name: metric}, (800, 200), 0.05, {metric.name: 0.0})
        return NormalDist().cdf(known.of(given).assurance)

    gap = metrics.demographic_parity_difference("g")
    # No difference at all by the folds: the truth may lie on either side of it.
    assert of(gap, 0.0, 0.06) == pytest.approx(2 * of(RATE, 0.0, 0.06) - 1)
    # Far from none, one side is all that matters.
    assert of(gap, 0.2, 0.26) == pytest.approx(of(RATE, 0.2, 0.26))
    assert of(RATE, 0.0, 0.001) > of(gap, 0.0, 0.001) >= 0
    # So may a ratio, whichever group it is in favour of.
    ratio, recall = metrics.selection_rate_ratio("g"), metrics.score("recall")
    assert of(ratio, 1.0, 0.94) == pytest.approx(2 * of(recall, 1.0, 0.94) - 1)
    assert of(ratio, 0.8, 0.74) == pytest.approx(of(recall, 0.8, 0.74))


def test_controls_make_it_likelier_to_pass_and_errors_of_rows_are_those_of_the_pipeline():
    given, typical = measured(0.26), {"false_positive_rate": 0.02}
    plain = rooms(RATE <= 0.3, typical=typical)
    controlled = replace(plain, controlled=True)
    assert plain.of(given).errors == pytest.approx(1.0)
    assert controlled.of(given).errors == pytest.approx(2.0)
    own = rooms(RATE <= 0.3)
    assert replace(own, controlled=True).of(given).assurance > own.of(given).assurance
    # What is measured on few folds, and no rate, is still known badly.
    clock = metrics.latency_us() <= 10
    slow = candidate({"latency_us": Spread(0.1)}, latency_us=9.0)
    timed = rooms(clock, typical={"latency_us": 0.5})
    assert replace(timed, controlled=True).of(slow) == timed.of(slow)


def test_a_lucky_error_counts_as_the_typical_one_and_a_large_one_as_it_is():
    typical = {"false_positive_rate": 0.01}
    assert rooms(RATE <= 0.3, typical=typical).of(measured(0.26, 0.001)).errors == pytest.approx(
        2.0
    )
    assert rooms(RATE <= 0.3, typical=typical).of(measured(0.26, 0.02)).errors == pytest.approx(1.0)


def test_the_typical_error_is_the_median_of_those_that_are_known():
    problem = Problem(SPACE, lambda c: {}, "loss", [RATE <= 0.3])
    found = [measured(0.1, se) for se in (0.01, 0.03, 0.02)] + [candidate(false_positive_rate=0.1)]
    assert typical_errors(problem, found) == {"false_positive_rate": 0.02}
    assert typical_errors(problem, found[3:]) == {"false_positive_rate": 0.0}


def test_what_is_exact_needs_no_room_but_must_be_inside():
    size = rooms(metrics.size_mb() <= 1)
    assert size.of(candidate(size_mb=1.0)).errors == math.inf
    assert size.of(candidate(size_mb=1.1)).errors == -math.inf


def test_a_latency_has_the_error_of_the_clock_whatever_the_rows():
    for rows in ((800, 200), (800, 800)):
        clock = rooms(metrics.latency_us() <= 10, rows=rows)
        # Student's t with three degrees of freedom reaches 2.353 errors, a normal one 1.645.
        found = clock.of(candidate({"latency_us": Spread(0.5)}, latency_us=9.0))
        assert found.errors == pytest.approx(2.0 * 1.645 / 2.353, rel=1e-3)


def test_room_is_kept_for_what_grows_with_the_rows():
    assert (
        rooms(metrics.size_mb() <= 10, growth={"size_mb": 1.1}).of(candidate(size_mb=9.0)).errors
        > 0
    )
    assert (
        rooms(metrics.size_mb() <= 10, growth={"size_mb": 1.2}).of(candidate(size_mb=9.0)).errors
        < 0
    )


def test_what_was_stopped_early_has_less_room():
    found = [options(measured(0.26, folds=folds), rooms(RATE <= 0.3), 4) for folds in (1, 4)]
    assert [o.room for (o,) in found] == pytest.approx([1.0, 2.0])


def curved(rates, selected, **values):
    size = len(rates)
    known = {"false_positive_rate": np.array(rates)} | {n: np.array(v) for n, v in values.items()}
    errors = {name: np.full(size, 0.01) for name in known}
    curve = ThresholdCurve(np.linspace(-1, 1, size), np.array(selected), known, errors)
    details = {"curve": curve.to_dict()}
    return measured(0.5, 9.9, details=details)


def test_thresholds_of_one_pipeline_are_options_with_values_of_their_own():
    given = curved([0.4, 0.26, 0.1], [0.9, 0.5, 0.1], loss=[0.1, 0.2, 0.3])
    found = options(given, rooms(RATE <= 0.3))
    assert [o.objective for o in found] == [0.1, 0.2, 0.3]
    assert [o.room for o in found] == pytest.approx([-5.0, 2.0, 10.0])
    assert [o.log_odds for o in found] == [-1.0, 0.0, 1.0]
    assert found[1].metrics["false_positive_rate"] == 0.26
    assert found[1].metrics["threshold"] == 0.0
    assert {o.merit for o in found} == {0.0}


def test_thresholds_at_which_everybody_or_nobody_is_chosen_are_no_options():
    given = curved([1.0, 0.26, 0.0], [1.0, 0.5, 0.0], loss=[0.1, 0.2, 0.3])
    assert [o.log_odds for o in options(given, rooms(RATE <= 0.3))] == [0.0]


def test_where_the_objective_only_ranks_balanced_accuracy_tells_thresholds_apart():
    given = curved([0.26, 0.1], [0.5, 0.1], balanced_accuracy=[0.8, 0.6])
    found = options(given, rooms(RATE <= 0.3))
    assert [o.objective for o in found] == [0.5, 0.5]
    assert [o.merit for o in found] == pytest.approx([0.2, 0.4])


def test_where_a_metric_is_not_defined_there_is_no_room():
    given = curved([0.26, math.nan, 0.1], [0.5, 0.2, 0.1], loss=[0.1, 0.2, math.nan])
    found = options(given, rooms(RATE <= 0.3))
    assert [o.room for o in found] == [pytest.approx(2.0), -math.inf]


def test_the_threshold_of_the_measurement_itself_has_all_digits():
    given = curved([0.26, 0.1], [0.5, 0.1], loss=[0.1235, 0.2])
    exact = given.metrics | {"threshold": -1.00001, "loss": 0.123456, "false_positive_rate": 0.26}
    found = options(replace(given, metrics=exact), rooms(RATE <= 0.3))
    assert [o.objective for o in found] == [0.123456, 0.2]
    assert found[0].log_odds == -1.00001

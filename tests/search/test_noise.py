import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import UCST, RandomSearch
from fenceline.errors import ConstraintError, MeasurementError
from fenceline.evaluation.repeats import MOST_AGAIN, SHARE, pooled, undecided
from fenceline.problem.evaluation import Evaluation

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 10)})])])


def noisy(configuration):
    """The latency falls with the loss's rise, and is uncertain by half a microsecond."""
    x = configuration["m"].params["x"]
    return {"loss": x, "latency_us": (12.0 - x, 0.5)}


PROBLEM = fl.Problem(SPACE, noisy, constraints=["latency_us <= 10"])


@pytest.mark.parametrize(
    ("sense", "inside"), [("<=", 9.0), (">=", 11.0)], ids=["at most", "at least"]
)
def test_a_value_must_stay_inside_by_as_many_errors_as_the_confidence_asks(sense, inside):
    constraint = fl.Constraint("g", sense, 10.0)
    assert constraint.holds(inside, error=1 / 1.65)
    assert not constraint.holds(inside, error=1 / 1.64)
    assert fl.Constraint("g", sense, 10.0, confidence=0.5).holds(10.0, error=3.0)
    assert not fl.Constraint("g", sense, 10.0, confidence=0.99).holds(inside, error=1 / 2.32)


def test_an_equality_must_hold_on_both_sides_with_the_confidence():
    constraint = fl.metric("g").equals(10.0, 1.0)
    for value in (9.5, 10.5):
        assert constraint.holds(value, error=0.3)
        assert not constraint.holds(value, error=0.31)


def test_exact_values_need_no_margin():
    assert fl.Constraint("g", "<=", 10.0, confidence=0.999).holds(10.0)


@pytest.mark.parametrize("confidence", [0.4, 1.0, -1.0, math.nan, "0.9"])
def test_confidence_must_be_a_probability_of_at_least_one_half(confidence):
    with pytest.raises(ConstraintError, match="confidence must"):
        fl.Constraint("g", "<=", 10.0, confidence=confidence)


def test_a_measurement_keeps_its_error_beside_plain_metrics():
    result = fl.minimize(PROBLEM, evaluations=5)
    for evaluation in result.evaluations:
        assert evaluation.errors == {"latency_us": 0.5}
        assert type(evaluation.metrics["latency_us"]) is float


def test_the_best_is_feasible_with_confidence_and_stays_as_near_as_that_allows():
    """latency + 1.645 * 0.5 <= 10 holds from x = 2.822 on."""
    best = fl.minimize(PROBLEM, evaluations=30).best
    assert best.objective == pytest.approx(2.8224, abs=0.05)
    assert best.objective >= 2.8224


def test_errors_survive_a_resumed_run(tmp_path):
    first = fl.minimize(PROBLEM, evaluations=6, run_dir=tmp_path)
    again = fl.minimize(PROBLEM, evaluations=9, run_dir=tmp_path)
    assert [e.errors for e in again.evaluations] == [{"latency_us": 0.5}] * 9
    assert [e.violation for e in again.evaluations[:6]] == [e.violation for e in first.evaluations]


@pytest.mark.parametrize(
    ("latency", "words"),
    [
        ((8.0, -0.1), "standard error of metric 'latency_us' must not be negative"),
        ((8.0, math.nan), r"'latency_us \(its standard error\)' must be finite"),
        ((8.0, None), r"'latency_us \(its standard error\)' must be a number"),
        ((math.nan, 0.1), "'latency_us' must be finite"),
        ((8.0, 0.1, 0.2), "'latency_us' must be a number"),
        ([8.0, 0.1], "'latency_us' must be a number"),
    ],
)
def test_an_error_that_is_none_is_explained_at_the_first_evaluation(latency, words):
    problem = fl.Problem(
        SPACE, lambda c: {"loss": 0.0, "latency_us": latency}, constraints=["latency_us <= 10"]
    )
    with pytest.raises(MeasurementError, match=words):
        fl.minimize(problem, evaluations=3)


class Timer:
    """A latency of 12 - x, read with an error of one half by a clock of its own."""

    def __init__(self, error=0.5, used=0):
        self.error = error
        self.clock = np.random.default_rng(1)
        self.clock.normal(size=used)
        self.asked = []

    def __call__(self, configuration):
        x = configuration["m"].params["x"]
        self.asked.append(configuration)
        return {"loss": x, "latency_us": (12.0 - x + self.error * self.clock.normal(), self.error)}


def timed(measure):
    return fl.Problem(SPACE, measure, constraints=["latency_us <= 10"])


def evaluation(x, value, error, problem=PROBLEM):
    configuration = SPACE.configuration({"m": ("a", {"x": x})})
    metrics, errors = {"loss": x, "latency_us": value}, {"latency_us": error}
    return Evaluation(configuration, metrics, x, problem.violation(metrics, errors), errors=errors)


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (9.0, 0.5, False),  # surely inside
        (9.5, 0.5, True),  # inside, and not surely
        (10.5, 0.5, True),  # outside, and not surely
        (11.0, 0.5, False),  # surely outside
        (10.5, 0.0, False),  # outside, and exact
    ],
)
def test_undecided_is_what_noise_alone_keeps_out(value, error, expected):
    assert undecided(PROBLEM, evaluation(1.0, value, error)) is expected


def test_a_second_constraint_that_is_surely_broken_ends_the_doubt():
    problem = fl.Problem(SPACE, noisy, constraints=["latency_us <= 10", "loss <= 0.5"])
    assert not undecided(problem, evaluation(1.0, 9.5, 0.5, problem))


def test_two_measurements_weigh_by_their_inverse_variances():
    both = pooled(PROBLEM, evaluation(1.0, 10.0, 0.6), evaluation(1.0, 9.0, 0.3))
    assert both.metrics["latency_us"] == pytest.approx(
        (10.0 / 0.36 + 9.0 / 0.09) / (1 / 0.36 + 1 / 0.09)
    )
    assert both.errors["latency_us"] == pytest.approx((1 / 0.36 + 1 / 0.09) ** -0.5)
    assert both.violation == PROBLEM.violation(both.metrics, both.errors)


def test_a_repetition_that_failed_leaves_what_was_known():
    earlier = evaluation(1.0, 9.5, 0.5)
    failed = replace(
        earlier, metrics={}, errors={}, objective=math.inf, violation=math.inf, status="error"
    )
    assert pooled(PROBLEM, earlier, failed) is failed
    assert not undecided(PROBLEM, failed)


@pytest.mark.parametrize(
    "algorithm", [fl.ADMM(), RandomSearch(), UCST()], ids=lambda a: type(a).__name__
)
def test_undecided_pipelines_are_measured_again_by_every_algorithm(algorithm):
    measure = Timer()
    result = fl.minimize(timed(measure), evaluations=60, algorithm=algorithm, seed=1)
    times = Counter(measure.asked)
    assert len(result.evaluations) == len(measure.asked) == 60
    assert 1 < max(times.values()) <= 1 + MOST_AGAIN
    assert 60 - len(times) <= SHARE * 60
    for n, e in enumerate(result.evaluations):
        first = [x.configuration for x in result.evaluations].index(e.configuration)
        if n == first:
            assert e.errors["latency_us"] == 0.5
            continue
        # Measured again: it was undecided then, it would have been the best, and it is surer now.
        before = [x for x in result.evaluations[:n] if x.configuration == e.configuration][-1]
        best = min((x.objective for x in result.evaluations[:n] if x.feasible), default=math.inf)
        assert undecided(result.problem, before)
        assert before.objective < best
        assert e.errors["latency_us"] == pytest.approx(0.5 / math.sqrt(times_until(result, n)))


def times_until(result, n):
    return sum(
        e.configuration == result.evaluations[n].configuration for e in result.evaluations[: n + 1]
    )


def test_values_that_come_again_to_the_last_bit_are_asked_for_only_once():
    result = fl.minimize(PROBLEM, evaluations=40)
    times = Counter(e.configuration for e in result.evaluations)
    assert sum(times.values()) - len(times) == 1
    assert {e.errors["latency_us"] for e in result.evaluations} == {0.5}


def test_exact_values_are_never_measured_again():
    measure = Timer(error=0.0)
    fl.minimize(timed(measure), evaluations=40)
    assert len(set(measure.asked)) == 40


def test_repetitions_do_not_exhaust_a_small_space():
    space = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Integer(1, 30)})])])
    clock = np.random.default_rng(0)

    def measure(configuration):
        x = configuration["m"].params["x"]
        return {"loss": x, "latency_us": (10.0 + 0.1 * clock.normal(), 1.0)}

    problem = fl.Problem(space, measure, constraints=["latency_us <= 10"])
    result = fl.minimize(problem, evaluations=100, algorithm=RandomSearch())
    assert result.ended == "exhausted"
    assert len({e.configuration for e in result.evaluations}) == 30
    assert len(result.evaluations) > 30


def test_a_run_with_repetitions_is_replayed_without_measuring(tmp_path):
    first = fl.minimize(timed(Timer()), evaluations=40, run_dir=tmp_path, seed=1)
    assert len({e.configuration for e in first.evaluations}) < 40
    silent = Timer()
    again = fl.minimize(timed(silent), evaluations=40, run_dir=tmp_path, seed=1)
    assert silent.asked == []
    assert again.evaluations == first.evaluations
    longer = fl.minimize(timed(silent), evaluations=45, run_dir=tmp_path, seed=1)
    assert longer.evaluations[:40] == first.evaluations
    assert len(silent.asked) == 5


@pytest.mark.parametrize("first", [9, 12, 21, 28, 39])
def test_a_run_with_repetitions_may_be_cut_anywhere(tmp_path, first):
    whole = fl.minimize(timed(Timer()), evaluations=40, seed=1)
    fl.minimize(timed(Timer()), evaluations=first, run_dir=tmp_path, seed=1)
    rest = fl.minimize(timed(Timer(used=first)), evaluations=40, run_dir=tmp_path, seed=1)
    assert [(e.configuration, e.metrics, e.errors) for e in rest.evaluations] == [
        (e.configuration, e.metrics, e.errors) for e in whole.evaluations
    ]


def test_the_nearest_miss_counts_all_that_is_known_of_a_pipeline():
    lucky, other = (SPACE.configuration({"m": ("a", {"x": x})}) for x in (1.0, 2.0))
    found = [
        Evaluation(configuration, {"loss": 1.0, "latency_us": 10.0 + miss}, 1.0, miss / 10)
        for configuration, miss in ((lucky, 0.1), (other, 0.2), (lucky, 0.3))
    ]
    result = fl.Result(PROBLEM, found, "evaluations", 1.0)
    assert result.nearest_miss is found[1]
    assert len(result.relaxations()) == 1

import math

import pytest

import fenceline as fl
from fenceline.errors import ConstraintError, MeasurementError

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

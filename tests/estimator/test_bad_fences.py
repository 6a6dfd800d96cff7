"""Fences that cannot be kept are refused before, or at, the first evaluation."""

import math

import pytest

import fenceline as fl
from fenceline.errors import ConstraintError, DefinitionError, MeasurementError

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])


def measuring(**metrics):
    asked = []

    def measure(configuration):
        asked.append(configuration)
        return {"loss": 0.5} | metrics

    return measure, asked


def test_an_unknown_metric_is_refused_at_the_first_evaluation():
    measure, asked = measuring(latency_us=5.0)
    problem = fl.Problem(SPACE, measure, constraints=["latency_ms <= 10"])
    with pytest.raises(MeasurementError, match=r"'latency_ms'. Did you mean 'latency_us'"):
        fl.minimize(problem, evaluations=20)
    assert len(asked) == 1


def test_an_unknown_metric_of_a_measure_that_declares_its_own_is_refused_before():
    measure, asked = measuring(latency_us=5.0)
    measure.metrics = ("loss", "latency_us")
    with pytest.raises(DefinitionError, match=r"no metric 'latency_ms'"):
        fl.Problem(SPACE, measure, constraints=["latency_ms <= 10"])
    assert asked == []


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "5", [5.0]])
def test_a_constraint_value_that_is_no_number_is_refused_at_the_first_evaluation(value):
    measure, asked = measuring(g=value)
    problem = fl.Problem(SPACE, measure, constraints=["g <= 10"])
    with pytest.raises(MeasurementError, match=r"'g' must be"):
        fl.minimize(problem, evaluations=20)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (["g <= 1", "g <= 2"], "keep the stricter"),
        (["g <= 1", "g >= 2"], "No value of 'g'"),
        (["g == 5 +- 1", "g <= 3"], "No value of 'g'"),
        (["g == 1 +- 1", "g == 2 +- 1"], "Two constraints"),
    ],
)
def test_duplicates_and_contradictions_are_refused_before_anything_is_measured(constraints, words):
    measure, asked = measuring(g=1.0)
    with pytest.raises(ConstraintError, match=words):
        fl.Problem(SPACE, measure, constraints=constraints)
    assert asked == []


def test_a_constraint_that_always_raises_ends_as_failed_and_says_why():
    def measure(configuration):
        raise ZeroDivisionError("no rows in the group 60-70")

    problem = fl.Problem(SPACE, measure, constraints=["gap <= 0.1"])
    result = fl.minimize(problem, evaluations=5)
    assert result.status == "failed"
    assert "no rows in the group 60-70" in result.message
    assert result.diagnosis is None
    assert result.relaxations().empty


def test_several_constraints_of_every_sign_hold_together():
    def measure(configuration):
        x = configuration["m"].params["x"]
        return {"loss": x, "margin": x - 0.5, "debt": -2 * x, "level": x}

    fence = ["margin >= 0", "debt >= -1.8", "level == 0.75 +- 0.2", "debt <= -0.5"]
    best = fl.minimize(fl.Problem(SPACE, measure, constraints=fence), evaluations=30).best
    assert best.objective == pytest.approx(0.55, abs=0.02)

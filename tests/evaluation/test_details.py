"""What a measurement brings beside its numbers: kept, written down, read back."""

import json

import pytest

from fenceline import Algorithm, Module, Problem, Real, Space, minimize
from fenceline.baselines import RandomSearch
from fenceline.errors import MeasurementError

SPACE = Space([Module("m", [Algorithm("a", {"x": Real(0, 1)})])])


def measure(configuration):
    x = configuration["m"].params["x"]
    return {"loss": x, "details": {"curve": [x, None, 2 * x], "kind": "square"}}


def test_details_travel_through_journal_and_replay(tmp_path):
    settings = {"algorithm": RandomSearch(), "run_dir": tmp_path / "run"}
    first = minimize(Problem(SPACE, measure), evaluations=3, **settings)
    for e in first.evaluations:
        x = e.configuration["m"].params["x"]
        assert e.details == {"curve": [x, None, 2 * x], "kind": "square"}
        assert "details" not in e.metrics
    again = minimize(Problem(SPACE, measure), evaluations=5, **settings)
    assert [e.details for e in again.evaluations[:3]] == [e.details for e in first.evaluations]
    assert len(again.evaluations) == 5


def test_a_metric_may_still_be_called_details():
    found = minimize(
        Problem(SPACE, lambda c: {"loss": 1.0, "details": 2.0}),
        evaluations=1,
        algorithm=RandomSearch(),
    )
    assert found.best.metrics["details"] == 2.0
    assert found.best.details == {}


@pytest.mark.parametrize("wrong", [{"a": object()}, {"a": float("nan")}])
def test_details_that_no_journal_can_hold_are_refused(wrong):
    problem = Problem(SPACE, lambda c: {"loss": 1.0})
    with pytest.raises(MeasurementError, match="JSON's types"):
        problem.check({"loss": 1.0, "details": wrong})
    assert problem.check({"loss": 1.0, "details": {"a": (1, 2)}}).details == {"a": [1, 2]}
    assert json.dumps(problem.check({"loss": 1.0}).details) == "{}"

"""Seconds in the acquisition: on a clock that only the test moves."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.problem.problem import BudgetSpent
from fenceline.search.structured.acquisition import ConstrainedImprovement, Toll
from fenceline.search.structured.clock import POWER, Clock
from fenceline.search.structured.data import Data
from fenceline.search.structured.models import Models

SPACE = fl.Space(
    [
        fl.Module(
            "model",
            [
                fl.Algorithm("quick", {name: fl.Real(0.0, 1.0) for name in "xyz"}),
                fl.Algorithm("slow", {name: fl.Real(0.0, 1.0) for name in "xyz"}),
            ],
        )
    ]
)
SECONDS = {"quick": 1.0, "slow": 10.0}


def measure(configuration):
    """Return a loss that both algorithms can make as small, and neither soon."""
    values = np.array([*configuration["model"].params.values()])
    return {"loss": float(np.sum((values - 0.3) ** 2) + 0.1 * np.sum(np.sin(25 * values)))}


class Clocked:
    """An evaluator whose clock is moved by what measurements would take."""

    def __init__(self, seconds, timed=True):
        self.seconds, self.timed, self.now = seconds, timed, 0.0
        self.history, self.pending, self.begun = [], (), []

    @property
    def seconds_left(self):
        return self.seconds - self.now if self.timed else None

    def known(self, configuration, fidelity=1.0):
        return next((e for e in self.history if e.configuration == configuration), None)

    def submit(self, configuration, fidelity=1.0):
        name = configuration["model"].algorithm
        self.begun.append(name)
        self.now += SECONDS[name]
        if self.now > self.seconds:
            raise BudgetSpent
        metrics = measure(configuration)
        self.history.append(
            fl.Evaluation(configuration, metrics, metrics["loss"], 0.0, seconds=SECONDS[name])
        )

    def drain(self):
        """Nothing is ever pending."""


def at(name):
    return SPACE.configuration({"model": (name, dict.fromkeys("xyz", 0.5))})


def searched(seconds, timed=True):
    problem, evaluator = fl.Problem(SPACE, measure), Clocked(seconds, timed)
    with pytest.raises(BudgetSpent):
        for _ in fl.StructuredBO().iterates(problem, evaluator, np.random.default_rng(0)):
            pass
    return evaluator


def test_of_two_that_promise_as_much_the_quicker_is_measured_more_often():
    def share(evaluator):
        return float(np.mean([name == "quick" for name in evaluator.begun[5:]]))

    assert share(searched(150.0)) > max(0.7, share(searched(150.0, timed=False)))


@pytest.mark.parametrize("seconds", [150.0, 200.0])
def test_no_time_is_lost_with_what_would_end_too_late(seconds):
    evaluator = searched(seconds)
    assert sum(e.seconds for e in evaluator.history) > seconds - 2 * SECONDS["quick"]


def test_what_is_likely_to_end_too_late_comes_last():
    evaluator, problem = searched(100.0), fl.Problem(SPACE, measure)
    data = Data(problem, evaluator)
    data.refresh()
    models = Models(data)
    clock = Clock(models, 100.0)
    slow, quick = (at(name) for name in ("slow", "quick"))
    assert clock.in_time_first([slow, quick]) == [slow, quick]  # nothing is known yet
    evaluator.now = 92.0
    clock.priced(ConstrainedImprovement.of(models))
    assert clock.in_time_first([slow, quick]) == [quick, slow]
    assert clock.ending
    evaluator.now = 40.0
    assert clock.in_time_first([slow, quick]) == [slow, quick]
    assert not clock.ending


def test_the_price_is_the_root_of_the_seconds_at_first_and_nothing_at_the_end():
    evaluator = searched(100.0)
    problem = fl.Problem(SPACE, measure)
    data = Data(problem, evaluator)
    data.refresh()
    models = Models(data)
    clock = Clock(models, 100.0)
    for now, power in ((0.0, POWER), (50.0, POWER / 2), (100.0, 0.0)):
        evaluator.now = now
        assert clock.power == pytest.approx(power)
        priced = clock.priced(ConstrainedImprovement.of(models))
        *_, toll = priced.chances
        assert isinstance(toll, Toll)
        z, theta = zip(*(SPACE.encode(at(name)) for name in SECONDS), strict=True)
        parts = models.structure.parts(np.array(z), np.array(theta))
        quick, slow = toll.log(*toll.process.predict_pipelines(parts))
        assert quick - slow == pytest.approx(power * np.log(10.1 / 1.1), rel=0.05, abs=1e-9)

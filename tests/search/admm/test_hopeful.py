import numpy as np
import pytest

import fenceline as fl
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.search.admm.hopeful import HopefulMerits
from fenceline.search.lagrangian import Lagrangian, Scales, slack_bounds

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"a": fl.Real(0.0, 4.0)})])])


class Measure:
    """A gap that fewer rows show too large, by at least .1."""

    fidelities = (0.1,)

    def __call__(self, configuration, fidelity=1.0):
        a = configuration["model"].params["a"]
        return {"loss": a, "gap": 0.5 + (0.1 + 0.1 * a) * (fidelity < 1.0)}


def at(a):
    return SPACE.configuration({"model": ("ridge", {"a": a})})


@pytest.fixture
def desk():
    problem = fl.Problem(SPACE, Measure(), constraints=[fl.metric("gap") <= 0.4])
    return RunEvaluator(problem, Serial(), 100)


def merits(desk):
    problem = desk.problem
    lagrangian = Lagrangian(problem, Scales.raw(problem), 1.0, np.zeros(1), slack_bounds(problem))
    return HopefulMerits(lagrangian, desk)


def test_a_look_is_not_dropped_for_a_bound_before_anything_is_known(desk):
    desk.submit(at(1.0), 0.1)
    assert merits(desk)(desk.history[-1]) == pytest.approx(1.0)  # its loss alone


def test_a_bound_counts_as_far_as_no_full_measurement_was_that_much_better(desk):
    for a in (0.0, 1.0, 2.0):
        desk.submit(at(a), 0.1)
        desk.submit(at(a))
    desk.submit(at(3.0), 0.1)
    # It shows .9, which is .5 beyond; at best .3 of that was noise, so .2 count: 3 + .2^2 / 2.
    assert merits(desk)(desk.history[-1]) == pytest.approx(3.02)

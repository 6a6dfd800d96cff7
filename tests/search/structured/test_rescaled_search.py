"""Searches on ranges that were given on the wrong scale."""

import math

import numpy as np
import pytest

import fenceline as fl
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent
from fenceline.problems import artificial
from fenceline.search.structured.data import Data
from fenceline.search.structured.models import Models

LINEAR = fl.Space([fl.Module("m", [fl.Algorithm("a", {"rate": fl.Real(1e-6, 1.0)})])])


def measure(configuration):
    """Best at a rate of 1e-4; the bound on the steps, -log10(rate) <= 3.5, keeps from there."""
    decades = math.log10(configuration["m"].params["rate"])
    return {"loss": (decades + 4.0) ** 2, "steps": -decades}


def search(problem, evaluations, algorithm=None, seed=0):
    evaluator = RunEvaluator(problem, Serial(), evaluations)
    try:
        for _ in (algorithm or fl.StructuredBO()).iterates(
            problem, evaluator, np.random.default_rng(seed)
        ):
            pass
    except BudgetSpent:
        pass
    return evaluator.history


@pytest.mark.parametrize("seed", range(3))
def test_a_rate_far_down_a_linear_range_is_found(seed):
    problem = fl.Problem(LINEAR, measure)
    found = fl.minimize(problem, evaluations=30, seed=seed).best
    assert found.objective < 1e-3


def test_a_price_does_not_depend_on_the_scale_that_the_range_was_given_on():
    # The loss at the bound is (4 - steps)^2: by one unit of the bound it changes by 1.
    told = fl.Space([fl.Module("m", [fl.Algorithm("a", {"rate": fl.Real(1e-6, 1.0, log=True)})])])
    for space in (LINEAR, told):
        result = fl.minimize(
            fl.Problem(space, measure, constraints=["steps <= 3.5"]), evaluations=40
        )
        assert result.best.objective == pytest.approx(0.25, abs=0.01)
        (price,) = result.prices.values()
        assert price == pytest.approx(1.0, abs=0.15)


def test_ranges_on_the_right_scale_are_searched_as_if_scales_were_not_learnt():
    problem = artificial(0)
    learnt = search(problem, 40)
    fixed = search(problem, 40, fl.StructuredBO(rescale=False))
    assert [e.configuration for e in learnt] == [e.configuration for e in fixed]


def test_all_models_are_on_the_scale_that_was_learnt():
    problem = fl.Problem(LINEAR, measure, constraints=["steps <= 3.5"])
    evaluator = RunEvaluator(problem, Serial(), 100)
    models = Models(Data(problem, evaluator), rescale=True)
    for rate in 10.0 ** np.linspace(-6, 0, 9):
        evaluator.submit(LINEAR.configuration({"m": ("a", {"rate": float(rate)})}))
    models.refresh()
    models.fit()
    assert models.structure.rescaling.bends[0] > 1e4
    assert models.lattice.rescaling == models.structure.rescaling
    assert all(
        m.structure is models.structure
        for m in (models.objective, *models.constraints, models.failure, models.elsewhere)
    )

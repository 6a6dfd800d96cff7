"""The models of a search: what each learns from, and when it has to learn anew."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.search.structured.acquisition import ConstrainedImprovement
from fenceline.search.structured.data import Data
from fenceline.search.structured.models import Models

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)}), fl.Algorithm("b")])])


def at(x):
    return SPACE.configuration({"m": ("a", {"x": x})})


def measure(configuration):
    if configuration["m"].algorithm == "b":
        raise RuntimeError("does not converge")
    x = configuration["m"].params["x"]
    return {"loss": (x - 0.8) ** 2, "x": x}


@pytest.fixture
def models():
    problem = fl.Problem(SPACE, measure, constraints=["x <= 0.5"])
    evaluator = RunEvaluator(problem, Serial(), 100, None, (), None)
    models = Models(Data(problem, evaluator))
    for x in np.linspace(0.0, 1.0, 9):
        evaluator.submit(at(float(x)))
    models.refresh()
    return models


def predicted(process, models, x):
    z, theta = SPACE.encode(at(x))
    mean, _ = process.predict_pipelines(models.structure.parts(np.array([z]), theta[None]))
    return mean[0]


def test_each_metric_has_a_model_of_its_own(models):
    loss, (excess,) = models.fit()
    assert predicted(loss, models, 0.8) < predicted(loss, models, 0.3)
    assert predicted(excess, models, 0.8) > predicted(excess, models, 0.3)


def test_failures_are_learned_once_there_is_one(models):
    assert models.fit_failures() is None
    models.data.evaluator.submit(SPACE.configuration({"m": ("b", {})}))
    models.refresh()
    assert models.fit_failures() is not None
    assert len(models.everything[0]) == len(models.successful[0]) + 1


def test_the_acquisition_of_what_lies_well_outside_is_small(models):
    acquisition = ConstrainedImprovement.of(models)
    z, theta = zip(*(SPACE.encode(at(x)) for x in (0.45, 0.8)), strict=True)
    parts = models.structure.parts(np.array(z), np.array(theta))
    inside, outside = acquisition.value([p.predict_pipelines(parts) for p in acquisition.processes])
    assert inside > outside + 5


def test_the_best_loss_counts_only_the_rows_it_is_asked_for(models):
    process, _ = models.fit()
    feasible = models.data.feasible()
    assert models.best_loss(process, feasible[:0]) is None
    everywhere = np.arange(len(models.data.loss))
    assert models.best_loss(process, everywhere) < models.best_loss(process, feasible)


def test_a_value_that_changed_is_learned_anew(models):
    models.fit()
    assert models.learned
    again = models.data.evaluator.history[3]
    models.data.evaluator.history.append(again)
    models.refresh()
    assert not models.learned

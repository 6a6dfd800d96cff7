"""What was good on other problems: preferred at first, forgotten as evidence grows."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.search.structured.acquisition import ConstrainedImprovement
from fenceline.search.structured.data import Data
from fenceline.search.structured.experience import STRENGTH, Experience
from fenceline.search.structured.models import Models

NAMES = ("a", "b", "c")
SPACE = fl.Space(
    [fl.Module("model", [fl.Algorithm(name, {"x": fl.Real(0.0, 1.0)}) for name in NAMES])]
)


def at(name, x=0.5):
    return SPACE.configuration({"model": (name, {"x": x})})


def measure(configuration):
    return {"loss": 1.0 + configuration["model"].params["x"]}


KNOWN = tuple((at(name, x), 0.0 if name == "b" else 1.0) for name in NAMES for x in (0.2, 0.5, 0.8))


def weighed(measured, expected=KNOWN):
    """Return how much more each algorithm is worth after so many evaluations than without experience."""
    problem = fl.Problem(SPACE, measure, expected=expected)
    evaluator = RunEvaluator(problem, Serial(), evaluations=9)
    for configuration, _ in KNOWN[::2]:
        evaluator.submit(configuration)
    evaluator.drain()
    data = Data(problem, evaluator)
    data.refresh()
    models = Models(data)
    plain = ConstrainedImprovement.of(models)
    told = Experience(problem).weigh(plain, models.structure, measured)
    z, theta = zip(*(SPACE.encode(at(name)) for name in NAMES), strict=True)
    parts = models.structure.parts(np.array(z), np.array(theta))

    def value(acquisition):
        predictions = [p.predict_pipelines(parts) for p in acquisition.processes]
        return acquisition.value(predictions)

    return value(told) - value(plain)


def test_what_was_good_elsewhere_is_worth_more_and_less_so_as_evidence_grows():
    soon, late = weighed(10), weighed(1000)
    assert np.argmax(soon) == 1
    # A regret of 1 instead of 0 counts as a factor of e after STRENGTH evaluations.
    assert soon[1] - soon[0] == pytest.approx(STRENGTH / 10, rel=0.3)
    assert late[1] - late[0] == pytest.approx(STRENGTH / 1000, rel=0.3)


def test_as_long_as_nothing_is_inside_the_fence_experience_has_no_say():
    problem = fl.Problem(SPACE, measure, constraints=["loss <= 0.5"], expected=KNOWN)
    evaluator = RunEvaluator(problem, Serial(), evaluations=9)
    for x in (0.1, 0.2, 0.3):
        evaluator.submit(at("a", x))
    evaluator.drain()
    data = Data(problem, evaluator)
    data.refresh()
    models = Models(data)
    acquisition = ConstrainedImprovement.of(models)
    assert acquisition.best is None
    assert Experience(problem).weigh(acquisition, models.structure, 3) is acquisition


def test_searches_begin_with_what_was_good_elsewhere():
    def share(expected):
        problem = fl.Problem(SPACE, measure, expected=expected)
        found = fl.minimize(problem, evaluations=20, seed=0).evaluations[5:]
        return np.mean([e.configuration["model"].algorithm == "b" for e in found])

    assert share(KNOWN) > share(()) + 0.2

from itertools import islice

import numpy as np
import pytest

import fenceline as fl
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Bayesian, Derivations
from fenceline.testing import SolverSuite
from fenceline.testing.solvers import FakeSubproblem

GRAMMAR = fl.Grammar(
    """
    all   = first? -> step{0,2} -> last
    step  = pick | (pick + make)
    first = f1 | f2
    pick  = p1 | p2 | p3
    make  = m1 | m2
    last  = l1 | l2 | vote(l1, l2)
    """
)


class TestDerivations(SolverSuite):
    solver = Derivations()
    continuous = False
    beats_random = 40


def measure(configuration):
    """Best: f2 -> (m1 + p3) -> l2."""
    text = str(configuration)
    wanted = ("f2", "m1", "p3", "l2", "+")
    return {"loss": sum(part not in text for part in wanted) + 0.1 * len(text) / 60}


def test_it_asks_for_nothing_that_is_known():
    space = GRAMMAR.space
    task = FakeSubproblem(space.choices)
    asked = set()
    for point in islice(Derivations(GRAMMAR).proposals(task, np.random.default_rng(0)), 40):
        z = space.z_at(point)
        assert z not in asked
        asked.add(z)
        task.tell(point[None], np.array([measure(space.decode(z, space.start))["loss"]]))


def test_rules_are_learnt_wherever_they_are_used():
    """With 60 of 500 pipelines measured it has found the best; each part was seen many times."""
    result = fl.minimize(
        fl.Problem(GRAMMAR.space, measure),
        evaluations=60,
        algorithm=fl.ADMM(theta=Bayesian(), z=Derivations(GRAMMAR), precision=fl.Fixed(30)),
    )
    random = fl.minimize(
        fl.Problem(GRAMMAR.space, measure), evaluations=60, algorithm=fl.baselines.RandomSearch()
    )
    assert result.best.objective < random.best.objective
    assert result.best.objective < 1.0


def test_modules_beside_the_grammar_are_searched_too():
    space = fl.pipelines.with_encoder(GRAMMAR.space)
    task = FakeSubproblem(space.choices)
    points = list(islice(Derivations(GRAMMAR).proposals(task, np.random.default_rng(0)), 20))
    encoders = {space.decode(space.z_at(p), space.start)["encoder"].algorithm for p in points}
    assert len(encoders) > 1


def test_another_space_is_refused():
    task = FakeSubproblem([fl.Categorical(["a", "b"])])
    with pytest.raises(DefinitionError, match=r"search grammar\.space"):
        next(Derivations(GRAMMAR).proposals(task, np.random.default_rng(0)))
    with pytest.raises(DefinitionError, match="must be a Grammar"):
        Derivations("p = a")

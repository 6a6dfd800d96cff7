"""Every pair of solvers that makes sense, with a fence, several workers, a kill and a resume."""

from itertools import cycle

import numpy as np
import pytest

import fenceline as fl
from fenceline import solvers
from fenceline.errors import DefinitionError
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent
from fenceline.search.admm.settings import fitting
from fenceline.testing.algorithms import _Tardy

SPACE = fl.Space(
    [
        fl.Module(
            "scaler", [fl.Algorithm("none"), fl.Algorithm("robust", {"q": fl.Real(0.0, 1.0)})]
        ),
        fl.Module(
            "model",
            [
                fl.Algorithm("nearest", {"k": fl.Integer(1, 9), "p": fl.Categorical([1, 2])}),
                fl.Algorithm("ridge", {"a": fl.Real(1e-3, 1e3, log=True)}),
                fl.Algorithm("bayes"),
            ],
        ),
    ]
)
EVALUATIONS = 6


class Measure:
    """A loss, and a cost that opposes it; with fewer rows the loss is blurred, and the cost smaller."""

    fidelities = (1 / 9, 1 / 3)

    def __init__(self, dies_at=None):
        self.dies_at = dies_at
        self.asked = []

    def __call__(self, configuration, fidelity=1.0):
        self.asked.append((configuration, fidelity))
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        numbers = [float(v) for choice in configuration.values() for v in choice.params.values()]
        length = sum(len(choice.algorithm) for choice in configuration.values())
        loss = sum(abs(x - 2.0) for x in numbers) - 0.1 * length
        return {"loss": loss + (1.0 - fidelity) * np.sin(sum(numbers)), "cost": length * fidelity}

    def __repr__(self):
        return "Measure()"


def problem(measure):
    return fl.Problem(SPACE, measure, constraints=["cost <= 11.5"])


THETAS = fitting("theta")
CHOICES = fitting("z")
# Every solver of a block meets every one of the other; Bayesian is slow, and meets a few.
PAIRS = [
    (theta, z)
    for theta in THETAS
    for z in CHOICES
    if "Bayesian" not in (theta, z)
    or (theta, z) in (("Bayesian", "Bandit"), ("Random", "Bayesian"))
]


def admm(theta, z):
    made = getattr(solvers, theta)(), getattr(solvers, z)()
    return fl.ADMM(theta=made[0], z=made[1], precision=fl.Fixed(2))


def trail(result):
    return [(e.configuration, e.fidelity, e.metrics) for e in result.evaluations]


@pytest.mark.parametrize(("theta", "z"), PAIRS)
def test_a_pair_resumes_where_it_was_killed_and_finds_a_feasible_pipeline(tmp_path, theta, z):
    whole = fl.minimize(
        problem(Measure()), evaluations=EVALUATIONS, algorithm=admm(theta, z), seed=1
    )
    measure = Measure(dies_at=5)
    budget = {"evaluations": EVALUATIONS, "algorithm": admm(theta, z), "seed": 1}
    killed = fl.minimize(problem(measure), run_dir=tmp_path, **budget)
    assert killed.ended == "interrupted"
    measure.dies_at = None
    resumed = fl.minimize(problem(measure), run_dir=tmp_path, **budget)
    assert trail(resumed) == trail(whole)
    assert len(measure.asked) == len(whole.evaluations) + 1  # the one that was cut short
    assert whole.status == "feasible"
    assert whole.best.fidelity == 1.0
    assert whole.best.metrics["cost"] <= 11.5


@pytest.mark.parametrize(("theta", "z"), list(zip(cycle(THETAS), CHOICES, strict=False)))
def test_a_pair_keeps_its_budget_while_measurements_are_pending(theta, z):
    """Three workers whose latest task finishes first, as real ones may."""
    measure = Measure()
    desk = RunEvaluator(problem(measure), _Tardy(workers=3), EVALUATIONS)
    with pytest.raises(BudgetSpent):
        for _ in admm(theta, z).iterates(desk.problem, desk, np.random.default_rng(0)):
            pass
    assert len(measure.asked) == len(set(measure.asked)) == len(desk.history)
    spent = sum(e.fidelity for e in desk.history)
    assert EVALUATIONS <= spent < EVALUATIONS + 1.0 + 1e-9
    assert any(not e.look for e in desk.history)


@pytest.mark.parametrize(
    ("theta", "z"), [("TrustRegion", "TreeSearch"), ("BOHB", "SuccessiveHalving")]
)
def test_a_pair_runs_with_real_workers(theta, z):
    result = fl.minimize(
        problem(Measure()), evaluations=6, algorithm=admm(theta, z), seed=1, workers=2
    )
    assert result.status == "feasible"


@pytest.mark.parametrize("block", ["theta", "z"])
def test_a_solver_that_does_not_fit_is_refused_with_those_that_do(block):
    wrong = {"theta": solvers.Bandit(), "z": solvers.TrustRegion()}[block]
    with pytest.raises(
        DefinitionError, match=f"ADMM: {block} must be a solver that fits: "
    ) as told:
        fl.ADMM(**{block: wrong})
    for name in fitting(block):
        assert f"{name}()" in str(told.value)
    assert f"{type(wrong).__name__}()" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["Hyperband", "BOHB", "SuccessiveHalving", "IncrementalAllocation"]
)
def test_without_a_fidelity_a_solver_of_looks_is_refused_before_anything_is_measured(name):
    asked = []
    without = fl.Problem(SPACE, lambda c: asked.append(c) or {"loss": 0.0})
    with pytest.raises(DefinitionError, match="no fidelity") as told:
        fl.minimize(without, evaluations=5, algorithm=fl.ADMM(theta=getattr(solvers, name)()))
    assert asked == []
    assert "Random()" in str(told.value)
    assert "BOHB()" not in str(told.value).partition("or take")[2]


def test_where_there_was_time_for_looks_only_the_best_of_them_is_measured_in_full():
    measure = Measure()
    algorithm = fl.ADMM(theta=solvers.Hyperband(), z=solvers.Random(), precision=fl.Fixed(1))
    fl.minimize(problem(measure), evaluations=4, algorithm=algorithm)
    looked = [c for c, fidelity in measure.asked if fidelity < 1.0]
    assert looked
    full = [c for c, fidelity in measure.asked[1:] if fidelity == 1.0]
    assert full[0] in looked

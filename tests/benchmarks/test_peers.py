"""Only where the rivals are installed; elsewhere every test is skipped."""

import importlib

import pytest

import fenceline as fl
from fenceline import Algorithm, Categorical, Integer, Module, Problem, Real, Space

SPACE = Space(
    [
        Module("first", [Algorithm("plain"), Algorithm("scaled", {"width": Real(0.1, 10, log=True)})]),
        Module(
            "second",
            [
                Algorithm("tree", {"depth": Integer(1, 64, log=True), "rule": Categorical(["a", None])}),
                Algorithm("linear", {"power": Real(-1.0, 1.0), "folds": Integer(2, 5)}),
            ],
        ),
    ]
)  # fmt: skip

PEERS = [
    ("optuna", "fenceline.baselines", "OptunaTPE", {}),
    ("optuna", "fenceline.baselines", "OptunaTPE", {"group": True}),
    ("smac", "fenceline.baselines", "SMAC", {"initial": 5}),
    ("skopt", "benchmarks.peer_skopt", "SkoptJoint", {}),
    ("hyperopt", "benchmarks.peer_hyperopt", "HyperoptTPE", {}),
]


def loss(configuration: fl.Configuration) -> dict[str, float]:
    second = configuration["second"]
    if second.algorithm == "tree":
        return {"loss": 2.0 + second.params["depth"] / 64}
    return {"loss": (second.params["power"] - 0.5) ** 2}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("package", "module", "name", "settings"), PEERS)
def test_a_peer_stays_in_the_space_learns_and_repeats_itself(package, module, name, settings):
    pytest.importorskip(package)
    peer = getattr(importlib.import_module(module), name)(**settings)
    problem = Problem(SPACE, loss)
    result = fl.minimize(problem, evaluations=40, algorithm=peer, seed=3)
    assert len(result.evaluations) == 40
    late = [e.configuration["second"].algorithm for e in result.evaluations[25:]]
    assert late.count("linear") > len(late) / 2
    again = fl.minimize(problem, evaluations=40, algorithm=peer, seed=3)
    assert [e.objective for e in again.evaluations] == [e.objective for e in result.evaluations]

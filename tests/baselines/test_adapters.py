"""Other packages behind our interface; their own tests run where they are installed."""

import importlib.util

import pytest

import fenceline as fl
from fenceline.baselines import SMAC, OptunaTPE
from fenceline.errors import MissingDependencyError
from fenceline.problems import artificial
from fenceline.testing import AlgorithmSuite

PROBLEM = artificial(0, constraints=1, feasible_fraction=0.5)


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@pytest.mark.skipif(not installed("optuna"), reason="needs fenceline[optuna]")
@pytest.mark.filterwarnings("ignore::Warning:optuna")
class TestOptunaTPE(AlgorithmSuite):
    algorithm = OptunaTPE()


@pytest.mark.skipif(not installed("smac"), reason="needs fenceline[smac]")
@pytest.mark.filterwarnings("ignore")
class TestSMAC(AlgorithmSuite):
    algorithm = SMAC(initial=5)
    budget = 8


@pytest.mark.parametrize(
    ("algorithm", "package", "extra"),
    [(OptunaTPE(), "optuna", "fenceline[optuna]"), (SMAC(), "smac", "fenceline[smac]")],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    algorithm, package, extra, monkeypatch
):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingDependencyError) as caught:
        fl.minimize(PROBLEM, evaluations=3, algorithm=algorithm)
    assert extra in str(caught.value)


@pytest.mark.skipif(not installed("optuna"), reason="needs fenceline[optuna]")
def test_constrained_tpe_prefers_the_inside():
    result = fl.minimize(PROBLEM, evaluations=60, algorithm=OptunaTPE())
    late = [e.feasible for e in result.evaluations[30:]]
    assert sum(late) / len(late) > 0.6


@pytest.mark.skipif(not installed("optuna"), reason="needs fenceline[optuna]")
@pytest.mark.filterwarnings("ignore::Warning:optuna")
@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        (OptunaTPE(), {"multivariate": None, "group": False}),
        (OptunaTPE(group=True), {"multivariate": True, "group": True}),
    ],
)
def test_a_rival_runs_with_its_own_defaults(algorithm, settings, monkeypatch):
    import optuna

    made = []

    class Sampler(optuna.samplers.TPESampler):
        def __init__(self, **given):
            made.append(given)
            super().__init__(**given)

    monkeypatch.setattr(optuna.samplers, "TPESampler", Sampler)
    fl.minimize(PROBLEM, evaluations=3, algorithm=algorithm)
    assert [{k: v for k, v in given.items() if k != "seed"} for given in made] == [settings]

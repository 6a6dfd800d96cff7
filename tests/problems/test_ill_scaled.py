"""Ranges on the wrong scale: linear, where the effect is not."""

import math
import pickle

import numpy as np
import pytest

from fenceline.errors import DefinitionError
from fenceline.problem.parameter import Integer
from fenceline.problems import ill_scaled
from fenceline.problems.ill_scaled import Effect

SEEDS = range(8)


def best_value(effect, parameter):
    """The value at which an effect is lowest, by the inverse of its scale."""
    place = effect.best
    if effect.scale == "logarithm":
        place = math.expm1(place * math.log(effect.strength)) / (effect.strength - 1.0)
    elif effect.scale == "power":
        place = place**effect.strength
    value = effect.low + (effect.high - effect.low) * (1.0 - place if effect.mirrored else place)
    return round(value) if isinstance(parameter, Integer) else value


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_algorithm_reaches_the_optimum_and_nothing_beats_it(seed):
    problem, rng = ill_scaled(seed), np.random.default_rng(0)
    best = problem.space.modules[0].algorithms[0]
    effects = problem.measure.effects[best.name]
    params = {name: best_value(effects[name], p) for name, p in best.params.items()}
    there = problem.space.configuration({"model": (best.name, params)})
    assert problem.measure(there)["loss"] == pytest.approx(problem.optimum, abs=1e-12)
    drawn = (problem.space.sample(rng) for _ in range(200))
    assert min(problem.measure(c)["loss"] for c in drawn) > problem.optimum


def test_ranges_say_linear_where_most_effects_do_not():
    problems = [ill_scaled(seed) for seed in range(20)]
    assert not any(p.log for problem in problems for p in problem.space.parameters)
    effects = [
        e for problem in problems for m in problem.measure.effects.values() for e in m.values()
    ]
    curved = [e for e in effects if e.scale != "linear"]
    assert 0.7 < len(curved) / len(effects) < 0.9
    assert any(e.mirrored for e in curved)


def test_a_logarithm_over_four_decades_has_its_middle_at_a_hundredth():
    # 1e-4 to 1: the middle of the logarithm is 1e-2.
    effect = Effect(1e-4, 1.0, "logarithm", 1e4, mirrored=False, best=0.5, weight=2.0)
    assert effect.place(1e-2) == pytest.approx(0.5)
    assert effect(1e-2) == pytest.approx(0.0)
    assert effect(1.0) == pytest.approx(2.0 * 0.25)


def test_a_seed_is_a_problem_and_problems_travel():
    configuration = ill_scaled(3).space.sample(np.random.default_rng(0))
    again = pickle.loads(pickle.dumps(ill_scaled(3)))
    assert again.measure(configuration) == ill_scaled(3).measure(configuration)


@pytest.mark.parametrize(
    "arguments", [{"seed": -1}, {"seed": True}, {"seed": 1.5}, {"seed": 0, "algorithms": 0}]
)
def test_what_is_no_count_is_refused(arguments):
    with pytest.raises(DefinitionError, match="must be a whole number"):
        ill_scaled(**arguments)

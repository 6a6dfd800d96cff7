"""Decoys: what is soon good is not what is best."""

import pickle

import numpy as np
import pytest

from fenceline.errors import DefinitionError
from fenceline.problems import decoy

SEEDS = range(8)


def losses(problem, algorithm, rng, count=400):
    (module,) = problem.space.modules
    drawn = (problem.space.sample(rng) for _ in range(count * len(module.algorithms)))
    return np.array(
        [problem.measure(c)["loss"] for c in drawn if c["model"].algorithm == algorithm]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_soon_good_is_better_almost_everywhere_and_worse_at_best(seed):
    problem, rng = decoy(seed), np.random.default_rng(0)
    basins = problem.measure.basins
    ready, tuned = (losses(problem, name, rng) for name in ("ready", "tuned"))
    assert np.quantile(ready, 0.9) < np.quantile(tuned, 0.5)
    assert basins["ready"].floor > 0.02
    assert basins["tuned"](basins["tuned"].centre) == problem.optimum == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_beats_the_optimum_and_the_others_do_not_beat_what_is_soon_good(seed):
    problem, rng = decoy(seed), np.random.default_rng(1)
    assert all(losses(problem, f"other{k}", rng).min() >= 0.1 for k in range(1, 5))
    assert losses(problem, "tuned", rng).min() >= 0.0


def test_a_seed_is_a_problem_and_problems_travel():
    configuration = decoy(3).space.sample(np.random.default_rng(0))
    again = pickle.loads(pickle.dumps(decoy(3)))
    assert again.measure(configuration) == decoy(3).measure(configuration)
    assert decoy(4).measure.basins != decoy(3).measure.basins


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"seed": True}, {"seed": 0, "others": 1.5}])
def test_a_bad_number_is_named(arguments):
    with pytest.raises(DefinitionError, match=r"decoy: .* must be a whole number"):
        decoy(**arguments)

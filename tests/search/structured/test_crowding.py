"""When a search looks elsewhere, and what for."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.problem.measurement import Spread
from fenceline.problems import decoy
from fenceline.search.structured.crowding import CROWD, Crowd, crowd
from fenceline.search.structured.data import Data

SPACE = fl.Space([fl.Module("m", [fl.Algorithm(n, {"x": fl.Real(0, 1)}) for n in "abc"])])
PROBLEM = fl.Problem(SPACE, lambda c: {}, objective="f")
N = 3 * CROWD


class Evaluator:
    """A history that a test writes."""

    def __init__(self, algorithms, losses, error=None):
        self.pending = []
        spreads = {} if error is None else {"f": Spread(error)}
        self.history = [
            fl.Evaluation(
                SPACE.configuration({"m": (name, {"x": k / 1000})}),
                {"f": loss},
                loss,
                0.0,
                "ok",
                spreads=spreads,
            )
            for k, (name, loss) in enumerate(zip(algorithms, losses, strict=True))
        ]


def crowd_of(algorithms, losses, error=None):
    data = Data(PROBLEM, Evaluator(algorithms, losses, error))
    data.refresh()
    return crowd(data)


STUCK = "bca" + "a" * (N - 3)
LOSSES = np.array([0.5, 0.4, 0.1] + [0.1] * (N - 3))


def test_an_algorithm_that_has_most_evaluations_and_gains_nothing_is_avoided():
    assert crowd_of(STUCK, LOSSES) == Crowd(0, (0,))


def test_an_algorithm_that_gains_is_left_alone():
    falling = LOSSES.copy()
    falling[-3] = 0.05
    assert crowd_of(STUCK, falling) is None


def test_last_digits_are_no_gain():
    falling = LOSSES.copy()
    falling[-3] -= 1e-5
    assert crowd_of(STUCK, falling) == Crowd(0, (0,))


def test_what_is_less_than_the_noise_is_no_gain():
    falling = LOSSES.copy()
    falling[-3] -= 0.02
    assert crowd_of(STUCK, falling, error=0.05) is None
    assert crowd_of(STUCK, falling, error=0.1) == Crowd(0, (0,))


def test_what_was_tuned_for_long_is_avoided_as_well_until_all_were():
    tuned = "c" + "b" * CROWD + "a" * (N - CROWD - 1)
    losses = np.array([0.5] + [0.4] * CROWD + [0.1] * (N - CROWD - 1))
    assert crowd_of(tuned, losses) == Crowd(0, (0, 1))
    both = "b" * CROWD + "a" * (N - CROWD)
    assert crowd_of(both, [*losses[1:].tolist(), 0.1]) == Crowd(0, (0,))


def test_where_evaluations_are_spread_nothing_is_avoided():
    assert crowd_of(("abc" * N)[:N], LOSSES) is None


def test_an_algorithm_without_company_cannot_be_avoided():
    assert crowd_of("a" * N, LOSSES) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_a_decoy_does_not_keep_the_search(seed):
    result = fl.minimize(decoy(seed), evaluations=60, seed=seed)
    assert result.best.objective < 0.02

from itertools import islice

import numpy as np
import pytest

from fenceline import Categorical
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Bandit
from fenceline.testing import FakeSubproblem, SolverSuite


class TestBandit(SolverSuite):
    solver = Bandit()
    continuous = False
    beats_random = 200


class TestBanditOfThePaper(SolverSuite):
    solver = Bandit(bound=0.7)
    continuous = False
    beats_random = 200


class TestBanditThatRemembers(SolverSuite):
    solver = Bandit(remember=True)
    continuous = False


def pulls(bandit, merits_of_arms, count=400):
    """Play one module whose arms have fixed merits; return how often each was pulled."""
    task = FakeSubproblem([Categorical([str(arm) for arm in range(len(merits_of_arms))])])
    last = max(1, len(merits_of_arms) - 1)
    for point in islice(bandit.proposals(task, np.random.default_rng(0)), count):
        task.tell(point[None], np.array([merits_of_arms[round(point[0] * last)]]))
    return np.bincount(np.rint(task.observed()[0][:, 0] * last).astype(int), minlength=last + 1)


def test_the_best_arm_is_pulled_most():
    assert np.argmax(pulls(Bandit(), [0.6, 0.1, 0.5])) == 1


def test_merits_beyond_the_papers_bound_earn_nothing_so_arms_there_are_pulled_alike():
    counts = pulls(Bandit(bound=0.7), [0.7, 7.0, 70.0])
    assert counts.min() > 0.15 * counts.sum()


def test_a_moving_bound_tells_arms_apart_wherever_merits_lie():
    assert np.argmax(pulls(Bandit(), [-1e6, 1e6, 0.0])) == 0


def test_a_bandit_that_remembers_starts_from_earlier_iterations():
    """Elsewhere arm b did well and a badly; nothing is observed here yet."""

    class Told(FakeSubproblem):
        def elsewhere(self):
            return np.array([[0.0], [1.0]] * 100), np.array([1.0, 0.0] * 100)

    first = {
        remember: [
            next(
                Bandit(remember=remember).proposals(
                    Told([Categorical(["a", "b"])]), np.random.default_rng(seed)
                )
            )[0]
            for seed in range(40)
        ]
        for remember in (False, True)
    }
    assert np.mean(first[True]) == 1.0
    assert 0.2 < np.mean(first[False]) < 0.8


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"prior": 0.0}, "prior must be positive. Got 0.0"),
        ({"prior": float("nan")}, "prior must be positive. Got nan"),
        ({"bound": -1.0}, "bound must be positive or None. Got -1.0"),
    ],
)
def test_bad_settings_are_refused_with_their_value(settings, told):
    with pytest.raises(DefinitionError, match=f"Bandit: {told}"):
        Bandit(**settings)

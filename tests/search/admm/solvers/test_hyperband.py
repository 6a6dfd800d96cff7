from itertools import islice

import numpy as np
import pytest

from fenceline import Real
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Hyperband, Look
from fenceline.testing import FakeSubproblem, SolverSuite


class TestHyperband(SolverSuite):
    solver = Hyperband()
    fidelities = (1 / 9, 1 / 3)
    beats_random = 24


def shares_of(count):
    task = FakeSubproblem([Real(0.0, 1.0)], fidelities=(1 / 9, 1 / 3))
    found = []
    for proposed in islice(Hyperband().proposals(task, np.random.default_rng(0)), count):
        look = isinstance(proposed, Look)
        point = proposed.point if look else proposed
        share = proposed.fidelity if look else 1.0
        found.append((share, float(point[0])))
        task.tell(point[None], point, share)
    return found


def test_brackets_are_those_of_the_paper():
    """R/r = 9 and eta = 3: brackets of 9, 5 and 3 configurations, worked out by hand."""
    shares = [share for share, _ in shares_of(13 + 6 + 3)]
    assert shares == [1 / 9] * 9 + [1 / 3] * 3 + [1.0] + [1 / 3] * 5 + [1.0] + [1.0] * 3


def test_the_best_third_is_promoted():
    found = shares_of(13)
    looked, promoted = [x for _, x in found[:9]], [x for _, x in found[9:12]]
    assert promoted == sorted(looked)[:3]
    assert found[12][1] == min(looked)


@pytest.mark.parametrize("eta", [1.0, 0.0, -3])
def test_a_rate_at_which_nothing_is_left_out_is_refused(eta):
    with pytest.raises(DefinitionError, match=f"Got {eta}"):
        Hyperband(eta=eta)

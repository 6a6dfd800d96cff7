from itertools import islice

import numpy as np
import pytest

from fenceline import Categorical
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import Look, SuccessiveHalving
from fenceline.testing import FakeSubproblem, SolverSuite


class TestSuccessiveHalving(SolverSuite):
    solver = SuccessiveHalving()
    fidelities = (1 / 9, 1 / 3)
    beats_random = 24


def test_every_candidate_of_a_small_set_is_looked_at_once_and_a_third_goes_on():
    task = FakeSubproblem([Categorical(list("abcdefghi"))], fidelities=(0.1, 0.3))
    shares = []
    for proposed in islice(SuccessiveHalving().proposals(task, np.random.default_rng(0)), 13):
        look = isinstance(proposed, Look)
        point = proposed.point if look else proposed
        shares.append(proposed.fidelity if look else 1.0)
        task.tell(point[None], point, shares[-1])
    assert shares == [0.1] * 9 + [0.3] * 3 + [1.0]
    assert len(np.unique(task.looks()[0][:9])) == 9
    assert task.observed()[0].item() == 0.0  # the best of all


@pytest.mark.parametrize("candidates", [1, 0])
def test_a_tournament_of_one_is_refused(candidates):
    with pytest.raises(DefinitionError, match=f"at least 2. Got {candidates}"):
        SuccessiveHalving(candidates=candidates)

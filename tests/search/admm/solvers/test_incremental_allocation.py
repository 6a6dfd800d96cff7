from itertools import islice

import numpy as np

from fenceline import Categorical
from fenceline.search.admm.solvers import IncrementalAllocation, Look
from fenceline.testing import FakeSubproblem, SolverSuite


class TestIncrementalAllocation(SolverSuite):
    solver = IncrementalAllocation()
    fidelities = (0.1, 0.15, 0.225, 0.4, 0.6)
    beats_random = 24


def test_rows_go_to_the_candidate_whose_curve_promises_most():
    """Curve b falls and c is flat: b gets all rows first, and c none beyond the first looks."""
    shares = (0.1, 0.2, 0.3, 0.5, 0.7)
    curves = {0.0: lambda s: 0.9 - 0.1 * s, 0.5: lambda s: 0.8 - 0.6 * s, 1.0: lambda s: 0.7}
    task = FakeSubproblem([Categorical(["a", "b", "c"])], fidelities=shares)
    asked = []
    search = IncrementalAllocation().proposals(task, np.random.default_rng(0))
    for proposed in islice(search, 12):
        look = isinstance(proposed, Look)
        point = proposed.point if look else proposed
        share = proposed.fidelity if look else 1.0
        asked.append((float(point[0]), share))
        task.tell(point[None], np.array([curves[float(point[0])](share)]), share)
    assert sorted(asked[:9]) == sorted((c, s) for c in curves for s in shares[:3])
    assert asked[9:] == [(0.5, 0.5), (0.5, 0.7), (0.5, 1.0)]


def test_a_steep_beginning_promises_no_more_than_learning_curves_keep():
    """Curve a ends at .6, which its first looks tell; a straight line over the rows would promise .2."""
    shares = (0.1, 0.2, 0.3, 0.5, 0.7)
    curves = {0.0: lambda s: 0.5 + 0.1 / s**0.5, 1.0: lambda s: 0.55}
    task = FakeSubproblem([Categorical(["a", "b"])], fidelities=shares)
    asked = []
    for proposed in islice(IncrementalAllocation().proposals(task, np.random.default_rng(0)), 9):
        look = isinstance(proposed, Look)
        point = proposed.point if look else proposed
        share = proposed.fidelity if look else 1.0
        asked.append((float(point[0]), share))
        task.tell(point[None], np.array([curves[float(point[0])](share)]), share)
    assert asked[6:] == [(1.0, 0.5), (1.0, 0.7), (1.0, 1.0)]

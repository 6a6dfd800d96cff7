import numpy as np
import pytest

from fenceline import Categorical, Real
from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers import BOHB, Look
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.densities import split
from fenceline.testing import FakeSubproblem, SolverSuite


class TestBOHB(SolverSuite):
    solver = BOHB()
    fidelities = (1 / 9, 1 / 3)
    beats_random = 24


def test_candidates_of_the_model_lie_where_looks_were_good():
    rng = np.random.default_rng(0)
    task = FakeSubproblem([Real(0.0, 1.0)] * 2, fidelities=(0.1,))
    points = rng.random((60, 2))
    task.tell(points, ((points - 0.8) ** 2).sum(axis=1), 0.1)
    search = BOHB(random=0.0).proposals(task, np.random.default_rng(0))
    found = []
    for _ in range(2):  # its first bracket has two rungs and two candidates at the first
        proposed = next(search)
        assert isinstance(proposed, Look)
        found.append(proposed.point)
        task.tell(proposed.point[None], np.zeros(1), proposed.fidelity)
    assert np.abs(np.array(found) - 0.8).max() < 0.3


def test_densities_are_split_at_the_best_share_and_higher_where_their_points_are():
    cube = Cube((Real(0.0, 1.0), Categorical(["a", "b"])))
    points = np.column_stack([np.linspace(0, 1, 20), np.repeat([0.0, 1.0], 10)])
    good, bad = split(points, points[:, 0], 0.15, cube)
    assert len(good.points) == 3
    assert len(bad.points) == 17
    ratio = good.log(points) - bad.log(points)
    assert np.argmax(ratio) < 3
    assert ratio[0] > ratio[-1]


def test_a_density_integrates_to_one():
    cube = Cube((Real(0.0, 1.0), Categorical(["a", "b", "c"])))
    points = np.array([[0.1, 0.0], [0.2, 0.5], [0.9, 0.0], [0.15, 0.0]])
    good, _ = split(points, np.arange(4.0), 0.75, cube)
    grid = np.linspace(0, 1, 2001)
    total = sum(
        np.exp(good.log(np.column_stack([grid, np.full_like(grid, c)]))).mean() for c in (0, 0.5, 1)
    )
    assert total * np.sqrt(1 / (2 * np.pi)) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    "settings", [{"random": 1.5}, {"good": -0.1}, {"draws": 0}, {"widen": 0.0}], ids=str
)
def test_bad_settings_are_refused_with_their_value(settings):
    with pytest.raises(DefinitionError, match=str(next(iter(settings.values())))):
        BOHB(**settings)

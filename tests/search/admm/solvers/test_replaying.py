import numpy as np

from fenceline import Integer
from fenceline.search.admm.solvers.replaying import replayed
from fenceline.testing import FakeSubproblem


def walk(function):
    """An optimiser that asks for one point after another of a line, and stops where it rises."""
    last = np.inf
    for x in np.linspace(0.0, 1.0, 11):
        value = function(np.array([x]))
        if value > last:
            return
        last = value


def drive(task, count, values):
    search = replayed(task, np.random.default_rng(0), lambda points, merits: walk)
    points = []
    for _ in range(count):
        points.append(float(next(search)[0]))
        task.tell(np.array([[points[-1]]]), np.array([values(points[-1])]))
    return points


def test_every_value_is_handed_back_in_turn():
    task = FakeSubproblem([Integer(0, 10)])
    points = drive(task, 5, lambda x: abs(x - 0.3))
    np.testing.assert_allclose(points, [0.0, 0.1, 0.2, 0.3, 0.4])


def test_what_is_known_is_not_proposed_again():
    task = FakeSubproblem([Integer(0, 10)])
    task.tell(np.array([[0.0], [0.2]]), np.array([0.3, 0.1]))
    np.testing.assert_allclose(drive(task, 3, lambda x: abs(x - 0.3)), [0.1, 0.3, 0.4])


def test_when_every_optimiser_asks_for_known_points_random_ones_are_drawn():
    task = FakeSubproblem([Integer(0, 10)])
    points = drive(task, 9, lambda x: abs(x - 0.3))
    assert len(set(np.round(points[5:], 6)) - {0.0, 0.1, 0.2, 0.3, 0.4}) > 0


def test_a_failure_is_as_bad_as_the_worst_seen_and_the_optimiser_goes_on():
    task = FakeSubproblem([Integer(0, 10)])
    search = replayed(task, np.random.default_rng(0), lambda points, merits: walk)
    first, second = next(search), next(search)  # nothing was told of the first
    np.testing.assert_allclose([first[0], second[0]], [0.0, 0.1])

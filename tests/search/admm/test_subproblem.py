from itertools import chain, repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenceline as fl
from fenceline.search.admm.subproblem import Archive, Block

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("tree", {"depth": fl.Integer(0, 10)})])])


class Notebook:
    """An evaluator that finishes what it is asked to only when told to, or drained."""

    def __init__(self, failing=()):
        self.failing = failing
        self.history = []
        self.pending = []

    def submit(self, configuration, fidelity=1.0):
        if self.known(configuration) is None and configuration not in self.pending:
            self.pending.append(configuration)

    def known(self, configuration, fidelity=1.0):
        return next((e for e in self.history if e.configuration == configuration), None)

    def finish(self):
        configuration = self.pending.pop(0)
        depth = configuration["model"].params["depth"]
        if depth in self.failing:
            failed = fl.Evaluation(configuration, {}, np.inf, np.inf, "error")
            self.history.append(failed)
        else:
            loss = abs(depth - 7.0)
            self.history.append(fl.Evaluation(configuration, {"loss": loss}, loss, 0.0))

    def drain(self):
        while self.pending:
            self.finish()


class Scripted:
    """A solver that proposes given depths."""

    def __init__(self, *depths):
        self.depths = depths

    def proposals(self, task, rng):
        return chain((np.array([depth / 10]) for depth in self.depths), repeat(np.zeros(1)))


def block(evaluator, **options):
    return Block(
        SPACE.parameters,
        lambda point: SPACE.decode((0,), point),
        lambda point, evaluation: evaluation.objective + 100.0 * point[0],
        evaluator,
        **options,
    )


def solve(task, *depths):
    return task.solve(Scripted(*depths), len(depths), np.random.default_rng(0))


def test_the_best_point_is_returned():
    # merits: 2 + 50, 6 + 10, 1 + 80
    assert_allclose(solve(block(Notebook()), 5, 1, 8), [0.1])


def test_the_given_number_of_proposals_is_spent():
    evaluator = Notebook()
    solve(block(evaluator), 5, 1, 8)
    assert [e.configuration["model"].params["depth"] for e in evaluator.history] == [5, 1, 8]


def test_a_point_told_beforehand_competes():
    evaluator = Notebook()
    evaluator.submit(SPACE.decode((0,), np.zeros(1)))
    evaluator.drain()
    task = block(evaluator)
    task.tell(np.zeros(1), evaluator.history[0])
    assert_allclose(solve(task, 5, 8), [0.0])


def test_a_failed_pipeline_counts_as_the_worst_that_was_seen():
    task = block(Notebook(failing=(1,)))
    assert_allclose(solve(task, 5, 1, 8), [0.5])
    points, merits = task.observed()
    assert_allclose(points, [[0.5], [0.1], [0.8]])
    assert_allclose(merits, [52, 81, 81])


def test_nothing_is_observed_and_nothing_returned_when_every_pipeline_failed():
    task = block(Notebook(failing=(1, 5)))
    assert solve(task, 5, 1) is None
    points, merits = task.observed()
    assert points.shape == (0, 1)
    assert merits.shape == (0,)


def test_a_point_is_pending_until_its_configuration_is_known():
    evaluator = Notebook()
    task = block(evaluator)
    shown = []

    class Watching(Scripted):
        def proposals(self, task, rng):
            for point in super().proposals(task, rng):
                shown.append((task.pending().ravel().tolist(), task.observed()[1].tolist()))
                if len(evaluator.pending) == 2:
                    evaluator.finish()
                yield point

    task.solve(Watching(5, 1, 8), 3, np.random.default_rng(0))
    assert shown == [([], []), ([0.5], []), ([0.5, 0.1], [])]
    assert task.pending().shape == (0, 1)
    assert_allclose(task.observed()[1], [52, 16, 81])


def test_points_of_one_configuration_are_each_observed():
    """Off the lattice two points can share a pipeline and still differ in merit."""
    evaluator = Notebook()
    task = block(evaluator)
    solve(task, 5.2, 4.9)
    assert len(evaluator.history) == 1
    assert_allclose(task.observed()[1], [2 + 52, 2 + 49])


def test_what_is_known_from_elsewhere_has_todays_merit():
    evaluator = Notebook(failing=(3,))
    for depth in (2, 3, 9):
        evaluator.submit(SPACE.decode((0,), np.array([depth / 10])))
    evaluator.drain()
    past = [(np.array([0.4]), evaluation) for evaluation in evaluator.history]
    points, merits = block(evaluator, past=lambda: past).elsewhere()
    assert_allclose(points, [[0.4]] * 3)
    assert_allclose(merits, [5 + 40, 45, 2 + 40])


@pytest.mark.parametrize("known", [0, 2])
def test_an_archive_encodes_the_history_as_it_grows(known):
    evaluator = Notebook()
    archive = Archive(SPACE, evaluator)
    for depth in range(known):
        evaluator.submit(SPACE.decode((0,), np.array([depth / 10])))
    evaluator.drain()
    assert len(list(archive)) == known
    evaluator.submit(SPACE.decode((0,), np.array([0.9])))
    evaluator.drain()
    z, theta, evaluation = list(archive)[-1]
    assert len(list(archive)) == known + 1
    assert z == (0,)
    assert_allclose(theta, [0.9])
    assert evaluation is evaluator.history[-1]

"""How many configurations are pending, and what a journal says of them."""

from collections import deque

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])


def measure(configuration):
    return {"loss": configuration["model"].params["alpha"]}


PROBLEM = fl.Problem(SPACE, measure)


class Patient:
    """An engine that finishes its oldest tasks, some at a time, when somebody waits for one."""

    def __init__(self, workers, seconds, at_a_time=1):
        self.workers, self.seconds, self.at_a_time = workers, seconds, at_a_time
        self.most = 0
        self._open, self._finished = deque(), deque()

    def put(self, function):
        pass

    def submit(self, ticket, argument):
        self._open.append(
            (ticket, Outcome("ok", {"metrics": measure(argument)}, seconds=self.seconds))
        )
        self.most = max(self.most, len(self._open) + len(self._finished))

    def next(self, timeout=None):
        while timeout != 0.0 and self._open and len(self._finished) < self.at_a_time:
            self._finished.append(self._open.popleft())
        return self._finished.popleft() if self._finished else None

    def cancel(self, ticket):
        pass

    def close(self):
        pass


def search(evaluator, count):
    with pytest.raises(BudgetSpent):
        for _ in RandomSearch().iterates(PROBLEM, evaluator, np.random.default_rng(0)):
            pass
    assert len(evaluator.history) == count
    return evaluator.engine.most


@pytest.mark.parametrize(
    ("workers", "seconds", "pending"),
    [
        (7, 1e-9, 7),  # too few workers: a spare one would know too little
        (8, 1e-9, 9),
        (32, 1e-9, 36),
        (32, 1e9, 32),  # a suggestion takes no time in comparison
    ],
)
def test_some_configurations_wait_for_a_worker_where_suggestions_take_their_time(
    workers, seconds, pending
):
    assert search(RunEvaluator(PROBLEM, Patient(workers, seconds), evaluations=100), 100) == pending


def test_a_suggestion_knows_every_outcome_that_is_there():
    evaluator = RunEvaluator(PROBLEM, Patient(4, 1.0, at_a_time=3), evaluations=100)
    rng = np.random.default_rng(0)
    for _ in range(4):
        evaluator.submit(SPACE.sample(rng))
    assert (len(evaluator.history), len(evaluator.pending)) == (3, 1)


@pytest.mark.parametrize("evaluations", [40, 60], ids=["as it ended", "extended"])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_of_many_workers_is_continued_by_few(tmp_path, workers, evaluations):
    def minimize(engine, evaluations):
        return fl.minimize(
            PROBLEM,
            evaluations=evaluations,
            engine=engine,
            run_dir=tmp_path / "run",
            algorithm=RandomSearch(),
        )

    first = minimize(Patient(16, 1e-9), 40).evaluations
    again = minimize(Patient(workers, 1e-9), evaluations).evaluations
    assert [e.configuration for e in again[:40]] == [e.configuration for e in first]
    assert len(again) == evaluations


def test_a_smaller_budget_takes_what_was_pending_there_from_the_journal(tmp_path):
    options = {"run_dir": tmp_path / "run", "algorithm": RandomSearch()}
    first = fl.minimize(PROBLEM, evaluations=40, engine=Patient(16, 1e-9), **options)
    engine = Patient(16, 1e-9)
    again = fl.minimize(PROBLEM, evaluations=25, engine=engine, **options)
    assert {e.configuration for e in again.evaluations} <= {
        e.configuration for e in first.evaluations
    }
    assert len(again.evaluations) == 25
    assert engine.most == 0, "nothing is measured again"

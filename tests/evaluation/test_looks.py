"""Looks: measurements with a part of the rows, which inform a search and are never its answer."""

import pytest

import fenceline as fl
from fenceline.errors import DefinitionError
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent
from fenceline.store import Proposal, read_run

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])


class Rows:
    """Measures alpha, less what the share of the rows leaves out; a run may be killed at a call."""

    fidelities = (0.1,)

    def __init__(self, dies_at=None):
        self.dies_at = dies_at
        self.asked = []

    def __call__(self, configuration, fidelity=1.0):
        self.asked.append((configuration, fidelity))
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        return {"loss": configuration["model"].params["alpha"] - (1.0 - fidelity)}


def at(alpha):
    return SPACE.configuration({"model": ("ridge", {"alpha": alpha})})


def evaluating(measure, **budget):
    return RunEvaluator(fl.Problem(SPACE, measure), Serial(), **(budget or {"evaluations": 10}))


def test_a_look_is_measured_with_its_share_and_is_not_the_best():
    evaluator = evaluating(Rows())
    evaluator.submit(at(2.0))
    evaluator.submit(at(1.0), 0.1)
    assert [e.fidelity for e in evaluator.history] == [1.0, 0.1]
    assert evaluator.history[1].objective == pytest.approx(0.1)
    assert not evaluator.history[1].feasible
    assert evaluator._known.best is evaluator.history[0]
    assert evaluator.known(at(1.0)) is None
    assert evaluator.known(at(1.0), 0.1) is evaluator.history[1]


def test_nothing_is_measured_twice_at_the_same_fidelity():
    measure = Rows()
    evaluator = evaluating(measure)
    for fidelity in (0.1, 0.1, 1.0, 1.0, 0.1, 0.2):
        evaluator.submit(at(1.0), fidelity)
    assert [fidelity for _, fidelity in measure.asked] == [0.1, 1.0, 0.2]


def test_a_measure_without_fidelity_is_measured_in_full():
    evaluator = evaluating(lambda configuration: {"loss": 1.0})
    evaluator.submit(at(1.0), 0.1)
    assert evaluator.history[0].fidelity == 1.0
    assert evaluator.known(at(1.0)) is evaluator.history[0]


def test_a_share_that_is_none_is_refused():
    with pytest.raises(DefinitionError, match="fidelity must lie in"):
        evaluating(Rows()).submit(at(1.0), 0.0)


def test_a_budget_in_evaluations_counts_a_look_as_its_share():
    evaluator = evaluating(Rows(), evaluations=1)
    for alpha in range(8):
        evaluator.submit(at(alpha / 2), 0.125)
    with pytest.raises(BudgetSpent):
        evaluator.submit(at(4.0), 0.125)


def test_only_a_budget_in_seconds_alone_lets_an_algorithm_see_the_clock():
    assert evaluating(Rows(), evaluations=5).seconds_left is None
    assert evaluating(Rows(), evaluations=5, seconds=60.0).seconds_left is None
    evaluator = evaluating(Rows(), seconds=60.0)
    before = evaluator.seconds_left
    evaluator.submit(at(1.0))
    assert 0.0 < evaluator.seconds_left <= before <= 60.0


class Impatient:
    """An algorithm whose proposals depend on the time that is left, to the millisecond."""

    def __init__(self, most):
        self.most = most

    def iterates(self, problem, evaluator, rng):
        for step in range(self.most):
            alpha = step / 2 + 0.5 * ((evaluator.seconds_left * 7919.0) % 1.0)
            evaluator.submit(at(alpha), 0.1 if rng.random() < 0.7 else 1.0)
        yield from ()

    def __repr__(self):
        return "Impatient()"


def run(measure, most, path):
    problem = fl.Problem(SPACE, measure)
    return fl.minimize(problem, seconds=60.0, algorithm=Impatient(most), run_dir=path, seed=1)


@pytest.mark.parametrize("dies_at", [1, 3, 6])
def test_a_run_killed_at_a_look_resumes_exactly(tmp_path, dies_at):
    measure = Rows(dies_at)
    killed = run(measure, 8, tmp_path)
    assert killed.ended == "interrupted"
    assert measure.asked[-1][1] == 0.1  # it was a look
    measure.dies_at = None
    again = run(measure, 8, tmp_path)
    asked = [(e.configuration, e.fidelity) for e in again.evaluations]
    assert asked[: dies_at - 1] == [(e.configuration, e.fidelity) for e in killed.evaluations]
    # The look that was cut short is repeated, and nothing else.
    assert measure.asked == [*asked[: dies_at - 1], asked[dies_at - 1], *asked[dies_at - 1 :]]
    assert len(asked) == 8


def test_a_finished_run_is_read_back_whatever_the_clock_says_now(tmp_path):
    first = run(Rows(), 8, tmp_path)
    measure = Rows()
    again = run(measure, 8, tmp_path)
    assert measure.asked == []
    assert [(e.configuration, e.fidelity, e.metrics) for e in again.evaluations] == [
        (e.configuration, e.fidelity, e.metrics) for e in first.evaluations
    ]


def test_a_journal_without_fidelities_is_one_of_full_measurements(tmp_path):
    problem = fl.Problem(SPACE, Rows())
    fl.minimize(problem, evaluations=4, run_dir=tmp_path)
    text = (tmp_path / "journal.jsonl").read_text()
    assert "fidelity" not in text
    assert "left" not in text
    proposals = [e for e in read_run(tmp_path)[1] if isinstance(e, Proposal)]
    assert {p.fidelity for p in proposals} == {1.0}
    assert len(fl.minimize(problem, evaluations=4, run_dir=tmp_path).full) == 4

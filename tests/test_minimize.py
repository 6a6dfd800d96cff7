import math
import time
from itertools import pairwise

import numpy as np
import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.errors import BudgetError, DefinitionError, MeasurementError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent
from fenceline.search.admm.solvers import Random

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("robust")]),
        fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})]),
    ]
)


def measure(configuration):
    alpha = configuration["model"].params["alpha"]
    return {"loss": (alpha - 1.0) ** 2, "latency_us": 4.0 - alpha}


def problem(measure=measure, constraints=()):
    return fl.Problem(SPACE, measure, constraints=list(constraints))


def search(measure=measure, constraints=(), **options):
    options = {"evaluations": 10, "algorithm": RandomSearch()} | options
    return fl.minimize(problem(measure, constraints), **options)


def after(calls, then):
    """Measure as usual for some calls, and let `then` answer the later ones."""
    count = 0

    def measured(configuration):
        nonlocal count
        count += 1
        return measure(configuration) if count <= calls else then(configuration)

    return measured


@pytest.mark.parametrize(
    "evaluations", [0, -1, 1.5, 10.0, math.nan, math.inf, True, "10", [10], np.float64(3)]
)
def test_a_bad_number_of_evaluations_is_refused_with_its_value(evaluations):
    with pytest.raises(
        BudgetError, match=r"evaluations must be a whole number of at least 1\. Got"
    ):
        search(evaluations=evaluations)


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan, math.inf, True, "10", [10]])
def test_bad_seconds_are_refused_with_their_value(seconds):
    with pytest.raises(BudgetError, match=r"seconds must be a positive, finite number\. Got"):
        search(evaluations=None, seconds=seconds)


def test_a_run_without_an_end_is_refused():
    with pytest.raises(BudgetError, match="evaluations=, seconds= or both; a run needs an end"):
        search(evaluations=None)


def test_a_bad_budget_is_refused_even_beside_a_good_one():
    with pytest.raises(BudgetError, match="seconds"):
        search(evaluations=10, seconds=-1)


def test_numpy_numbers_are_numbers():
    result = search(evaluations=np.int64(3), seconds=np.float32(100), seed=np.uint8(1))
    assert len(result.evaluations) == 3


@pytest.mark.parametrize("seed", [-1, 1.5, None, "0", True])
def test_a_bad_seed_is_refused_with_its_value(seed):
    with pytest.raises(DefinitionError, match=f"seed must be .* Got {seed!r}"):
        search(seed=seed)


@pytest.mark.parametrize("algorithm", ["admm", fl.ADMM, RandomSearch, object()])
def test_something_that_is_no_algorithm_is_refused(algorithm):
    with pytest.raises(
        DefinitionError, match=r"algorithm must be one such as StructuredBO\(\)\. Got"
    ):
        search(algorithm=algorithm)


def test_something_that_is_no_problem_is_refused():
    with pytest.raises(DefinitionError, match=r"problem must be a Problem\. Got <function"):
        fl.minimize(measure, evaluations=10)


def test_without_an_algorithm_admm_searches():
    result = fl.minimize(problem(), evaluations=3)
    assert len(result.evaluations) == 3
    assert str(result.evaluations[0].configuration) == "none -> ridge(alpha=2)"


def test_evaluations_are_spent_exactly():
    result = search(evaluations=7)
    assert len(result.evaluations) == 7
    assert result.ended == "evaluations"


def test_seconds_end_a_run():
    def slow(configuration):
        time.sleep(0.02)
        return measure(configuration)

    began = time.perf_counter()
    result = search(slow, evaluations=None, seconds=0.2)
    assert result.ended == "seconds"
    assert 0.2 <= time.perf_counter() - began < 30.0
    assert 1 <= len(result.evaluations) <= 10
    assert result.seconds >= 0.2


def test_the_first_budget_to_be_spent_ends_the_run():
    assert search(evaluations=2, seconds=1000.0).ended == "evaluations"


def test_seconds_end_a_run_that_has_nothing_new_to_measure():
    class Stuck:
        def iterates(self, problem, evaluator, rng):
            only = problem.space.sample(rng)
            while True:
                evaluator.submit(only)
                time.sleep(0.001)
            yield

    result = search(evaluations=None, seconds=0.05, algorithm=Stuck())
    assert result.ended == "seconds"
    assert len(result.evaluations) == 1


def test_an_algorithm_that_repeats_itself_for_ever_is_stopped():
    class Stuck:
        def iterates(self, problem, evaluator, rng):
            only = problem.space.sample(rng)
            while True:
                evaluator.submit(only)
            yield

    result = search(evaluations=10, algorithm=Stuck())
    assert result.ended == "exhausted"
    assert len(result.evaluations) == 1


def test_an_algorithm_may_end_by_itself():
    class Single:
        def iterates(self, problem, evaluator, rng):
            evaluator.submit(problem.space.sample(rng))
            return iter(())

    assert search(algorithm=Single()).ended == "finished"


def test_interrupting_a_measurement_returns_the_best_so_far():
    def interrupt(configuration):
        raise KeyboardInterrupt

    result = search(after(4, interrupt), evaluations=100)
    assert result.ended == "interrupted"
    assert len(result.evaluations) == 4
    assert result.status == "feasible"
    assert result.best.objective == min(e.objective for e in result.evaluations)


def test_interrupting_the_first_measurement_returns_an_empty_result():
    def interrupt(configuration):
        raise KeyboardInterrupt

    result = search(interrupt)
    assert (result.ended, result.status, result.best) == ("interrupted", "empty", None)


def test_interrupting_keeps_the_iterates_so_far():
    def interrupt(configuration):
        raise KeyboardInterrupt

    algorithm = fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(2))
    result = search(after(8, interrupt), evaluations=100, algorithm=algorithm)
    assert result.ended == "interrupted"
    assert len(result.iterations) >= 1


def test_a_measurement_that_raises_is_data():
    def fails(configuration):
        raise ValueError("bad scaler\nsecond line")

    result = search(after(4, fails))
    failed = result.evaluations[4]
    assert (failed.status, failed.objective, failed.violation) == ("error", math.inf, math.inf)
    assert failed.message == "ValueError: bad scaler"
    assert "second line" in failed.traceback
    assert not failed.feasible
    assert len(result.evaluations) == 10


BREACHES = {
    "None": (lambda c: None, "must return a mapping from metric names to numbers. Got None"),
    "a number": (lambda c: 0.5, "Got 0.5; return {'loss': ...}"),
    "no objective": (lambda c: {"lost": 1.0}, "objective metric 'loss'. Did you mean 'lost'?"),
    "no constrained metric": (
        lambda c: {"loss": 1.0, "latency": 2.0},
        "constrained metric 'latency_us'. Did you mean 'latency'?",
    ),
    "NaN": (lambda c: {"loss": math.nan, "latency_us": 1}, "'loss' must be finite. Got nan"),
    "infinite": (lambda c: {"loss": 1, "latency_us": math.inf}, "'latency_us' must be finite"),
    "an array": (
        lambda c: {"loss": np.zeros(2), "latency_us": 1.0},
        "'loss' must be a number. Got array([0., 0.]) (ndarray)",
    ),
    "a text": (lambda c: {"loss": "0.5", "latency_us": 1.0}, "'loss' must be a number. Got '0.5'"),
    "a missing value": (lambda c: {"loss": None, "latency_us": 1.0}, "'loss' must be a number"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_broken_contract_at_the_first_evaluation_stops_the_run(breach):
    answer, told = BREACHES[breach]
    with pytest.raises(MeasurementError) as raised:
        search(answer, ["latency_us <= 2"])
    assert told in str(raised.value)


@pytest.mark.parametrize("breach", BREACHES)
def test_a_broken_contract_later_on_is_a_failed_pipeline(breach):
    answer, told = BREACHES[breach]
    result = search(after(3, answer), ["latency_us <= 2"])
    assert [e.status for e in result.evaluations] == ["ok"] * 3 + ["error"] * 7
    assert told in result.evaluations[3].message


def test_the_first_proposal_alone_decides_whether_a_broken_contract_stops_the_run():
    """Not what finished first, which several workers would leave to chance."""

    def fails(configuration):
        raise ValueError("bad scaler")

    answers = iter([fails, *[lambda c: {}] * 9])
    result = search(lambda configuration: next(answers)(configuration))
    assert [e.status for e in result.evaluations] == ["error"] * 10
    assert "objective metric 'loss'" in result.evaluations[1].message


class InOrder:
    """Proposes 0, 1, 2, ..."""

    def iterates(self, problem, evaluator, rng):
        for alpha in range(10):
            evaluator.submit(problem.space.configuration({"model": ("ridge", {"alpha": alpha})}))
        evaluator.drain()
        yield from ()


@pytest.mark.parametrize("slow", [0, 1])
@pytest.mark.parametrize("bad", [0, 1])
def test_with_two_workers_the_first_proposal_decides_as_with_one(bad, slow):
    """Whichever of two finishes first."""
    space = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Integer(0, 9)})])])

    def measure(configuration):
        alpha = configuration["model"].params["alpha"]
        time.sleep(0.3 if alpha == slow else 0.0)
        return {"loss": math.nan if alpha == bad else alpha}

    def run():
        problem = fl.Problem(space, measure)
        return fl.minimize(problem, evaluations=10, workers=2, algorithm=InOrder())

    if bad == 0:
        with pytest.raises(MeasurementError, match="must be finite"):
            run()
    else:
        assert sorted(e.status for e in run().evaluations) == ["error"] + ["ok"] * 9


def test_callbacks_are_told_of_every_evaluation_in_order():
    told, also = [], []
    result = search(constraints=["latency_us <= 2"], callbacks=[told.append, also.append])
    assert told == also
    assert tuple(p.evaluation for p in told) == result.evaluations
    assert [p.count for p in told] == list(range(1, 11))
    assert [p.feasible for p in told] == np.cumsum(
        [e.feasible for e in result.evaluations]
    ).tolist()
    best = [math.inf if p.best is None else p.best.objective for p in told]
    assert best == result.trajectory.tolist()
    assert all(a.seconds <= b.seconds for a, b in pairwise(told))


def test_a_callback_can_end_the_run_as_control_c_does():
    def enough(progress):
        if progress.count == 4:
            raise KeyboardInterrupt

    result = search(callbacks=[enough])
    assert result.ended == "interrupted"
    assert len(result.evaluations) == 4


@pytest.mark.parametrize(
    "algorithm", [RandomSearch(), fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(3))]
)
def test_the_same_seed_gives_the_same_run(algorithm):
    runs = [search(algorithm=algorithm, evaluations=15, seed=seed) for seed in (5, 5, 6)]
    first, second, other = ([(e.configuration, e.metrics) for e in r.evaluations] for r in runs)
    assert first == second
    assert first != other


def test_a_longer_run_begins_as_a_shorter_one():
    short, long = (search(evaluations=n, algorithm=fl.ADMM.paper()) for n in (6, 14))
    assert [e.configuration for e in long.evaluations[:6]] == [
        e.configuration for e in short.evaluations
    ]


def test_times_are_recorded_for_every_evaluation():
    result = search()
    assert len(result.finished_at) == len(result.suggest_seconds) == 10
    assert list(result.finished_at) == sorted(result.finished_at)
    assert result.finished_at[-1] <= result.seconds
    assert all(s >= 0 for s in result.suggest_seconds)


class SlowEngine:
    """Two workers that never finish within a timeout; a cancelled task reports itself."""

    workers = 2

    def __init__(self):
        self.reported = []

    def put(self, function):
        self.function = function

    def submit(self, ticket, argument):
        self.last = ticket

    def next(self, timeout=None):
        return self.reported.pop(0) if self.reported else None

    def cancel(self, ticket):
        self.reported.append((ticket, Outcome("cancelled", message="the budget is spent")))

    def close(self):
        pass


def test_what_is_still_running_at_the_deadline_is_cancelled_and_filed():
    evaluator = RunEvaluator(problem(), SlowEngine(), seconds=0.01)
    with pytest.raises(BudgetSpent):
        next(RandomSearch().iterates(evaluator.problem, evaluator, np.random.default_rng(0)))
    assert evaluator.ending == "seconds"
    assert not evaluator.pending
    assert {e.status for e in evaluator.history} == {"cancelled"}


def test_a_configuration_being_measured_is_pending_and_is_not_measured_twice():
    evaluator = RunEvaluator(problem(), SlowEngine(), evaluations=10)
    configuration = SPACE.sample(np.random.default_rng(0))
    evaluator.submit(configuration)
    evaluator.submit(configuration)
    assert evaluator.pending == (configuration,)
    assert evaluator.known(configuration) is None

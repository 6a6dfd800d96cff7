"""Looks before full measurements, where the budget is in seconds: on a clock that only the test moves."""

import math

import numpy as np
import pytest

import fenceline as fl
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent
from fenceline.problem.starts import space_starts
from fenceline.search.structured import fidelity
from fenceline.search.structured.fidelity import CHEAP, ENOUGH, LOOKS_SHARE, looks_pay
from fenceline.search.structured.looks import GROWTH, OVERHEAD, SPLITS, Costs

SHARE = 0.1
SPACE = fl.Space(
    [
        fl.Module("scale", [fl.Algorithm("none"), fl.Algorithm("standard")]),
        fl.Module(
            "model",
            [
                fl.Algorithm("linear", {"x": fl.Real(0.0, 1.0)}, start={"x": 0.5}),
                fl.Algorithm("boosting", {"x": fl.Real(0.0, 1.0)}, start={"x": 0.5}),
                fl.Algorithm("forest", {"x": fl.Real(0.0, 1.0)}, start={"x": 0.5}),
                fl.Algorithm("slow", {"x": fl.Real(0.0, 1.0)}, start={"x": 0.5}),
            ],
        ),
    ]
)
LOSS = {"linear": 0.4, "boosting": 0.2, "forest": 0.22, "slow": 0.1}
SECONDS = {"linear": 0.3, "boosting": 2.0, "forest": 4.0, "slow": 90.0}


class Table:
    """Pipelines whose time grows with the rows, and which lose a little with fewer."""

    fidelities = (SHARE,)

    def __call__(self, configuration, fidelity=1.0):
        model = configuration["model"]
        lost = 0.05 * (1.0 - fidelity) * (1.0 + 0.2 * math.sin(50.0 * model.params["x"]))
        loss = LOSS[model.algorithm] + 0.1 * (model.params["x"] - 0.8) ** 2 + lost
        return {"loss": loss, "latency_us": 10.0 * SECONDS[model.algorithm] * (0.5 + fidelity / 2)}


class Clocked:
    """An evaluator whose clock is moved by what measurements would take."""

    def __init__(self, problem, seconds, timed=True):
        self.problem, self.seconds, self.timed, self.now = problem, seconds, timed, 0.0
        self.history, self.ends, self.pending, self._known = [], [], (), {}

    @property
    def seconds_left(self):
        return round(self.seconds - self.now, 3) if self.timed else None

    def known(self, configuration, fidelity=1.0):
        return self._known.get((configuration, fidelity))

    def drain(self):
        """Nothing is ever pending."""

    def submit(self, configuration, fidelity=1.0):
        assert self.known(configuration, fidelity) is None or len(self.history) < 6
        took = SECONDS[configuration["model"].algorithm]
        took *= fidelity / 3.0 if fidelity < 1.0 else 1.0
        self.now += took + OVERHEAD
        if self.now > self.seconds:
            raise BudgetSpent
        metrics = self.problem.measure(configuration, fidelity)
        violation = self.problem.violation(metrics)
        found = fl.Evaluation(
            configuration, metrics, metrics["loss"], violation, seconds=took, fidelity=fidelity
        )
        self._known[configuration, fidelity] = found
        self.history.append(found)
        self.ends.append(self.now)


def searched(seconds=60.0, timed=True, constraints=(), measure=None):
    problem = fl.Problem(SPACE, measure or Table(), constraints=constraints)
    evaluator = Clocked(problem, seconds, timed)
    with pytest.raises(BudgetSpent):
        for _ in fl.StructuredBO().iterates(problem, evaluator, np.random.default_rng(0)):
            pass
    return evaluator


@pytest.fixture
def _looks_always_pay(monkeypatch):
    monkeypatch.setattr(fidelity, "ENOUGH", math.inf)


@pytest.fixture(scope="module")
def run():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fidelity, "ENOUGH", math.inf)
        return searched()


def test_nothing_is_looked_at_where_there_is_time_for_enough_full_measurements():
    begun = SECONDS["linear"] + SECONDS["boosting"] + 2 * OVERHEAD
    for share, looks in ((0.99, True), (1.01, False)):
        problem = fl.Problem(SPACE, Table())
        evaluator = Clocked(problem, begun + share * ENOUGH * SECONDS["boosting"])
        for start in space_starts(SPACE)[:2]:
            evaluator.submit(start)
        assert looks_pay(evaluator, (CHEAP,)) is looks
        assert not looks_pay(evaluator, (1.01 * CHEAP,))
        assert not looks_pay(evaluator, ())
    assert not any(e.look for e in searched(2 * ENOUGH * SECONDS["boosting"]).history)


def test_two_pipelines_are_measured_at_once_and_every_start_is_looked_at(run):
    assert [e.look for e in run.history[:3]] == [False, False, True]
    looked = {e.configuration["model"].algorithm for e in run.history[2:6]}
    assert looked == set(LOSS)
    assert all(e.look for e in run.history[2:6])


def test_full_measurements_are_of_pipelines_looked_at_unless_looks_had_their_share(run):
    seen, looks, full = set(), 0.0, 0.0
    for i, e in enumerate(run.history):
        if i >= 6 and not e.look and looks <= LOOKS_SHARE * (looks + full):
            assert e.configuration in seen
        if e.look:
            seen.add(e.configuration)
            looks += e.seconds + OVERHEAD
        else:
            full += e.seconds + OVERHEAD
    assert sum(not e.look for e in run.history[6:]) >= 5


def test_looks_never_take_more_than_their_share_of_the_time(run):
    looks = full = 0.0
    for e in run.history[6:]:
        if e.look:
            looks += e.seconds + OVERHEAD
        else:
            full += e.seconds + OVERHEAD
    begun = sum(e.seconds + OVERHEAD for e in run.history[:6])
    longest = max(e.seconds for e in run.history) + OVERHEAD
    assert looks <= LOOKS_SHARE * (looks + full + begun) + longest


def test_a_pipeline_that_would_not_end_in_time_is_not_begun(run):
    full = [e.configuration["model"].algorithm for e in run.history if not e.look]
    assert "slow" not in full


def test_the_answer_is_better_than_that_of_a_search_without_looks(run):
    def best(evaluator, seconds):
        full = zip(evaluator.ends, evaluator.history, strict=True)
        return min(e.objective for t, e in full if e.feasible and t <= seconds)

    without = searched(timed=False)
    assert not any(e.look for e in without.history)
    assert best(run, 10.0) < 0.23
    assert best(run, 60.0) < 0.202
    assert best(run, 60.0) <= best(without, 60.0)


@pytest.mark.usefixtures("_looks_always_pay")
def test_a_fence_on_what_grows_with_the_rows_is_kept_by_full_measurements():
    # A look at boosting shows 11 us, inside; in full it has 20.
    run = searched(constraints=["latency_us <= 15"])
    full = [e for e in run.history if not e.look]
    assert any(e.configuration["model"].algorithm == "boosting" for e in full)
    assert min(full, key=lambda e: (e.violation, e.objective)).configuration["model"].algorithm == (
        "linear"
    )


class Dying(Table):
    """Ends the run like Ctrl-C in the middle of a measurement."""

    def __init__(self):
        self.dies_at = math.inf
        self.asked = []

    def __call__(self, configuration, fidelity=1.0):
        self.asked.append((configuration, fidelity))
        if len(self.asked) == self.dies_at:
            raise KeyboardInterrupt
        return super().__call__(configuration, fidelity)


def test_what_a_full_measurement_takes_is_told_from_a_look_by_how_the_pipeline_grows():
    class Known(Table):
        def growth(self, configuration):
            return 0.3 if configuration["model"].algorithm == "boosting" else 0.8

    found = {}
    for measure in (Table(), Known()):
        problem = fl.Problem(SPACE, measure)
        costs = Costs(problem)
        looks = [
            fl.Evaluation(
                SPACE.configuration(choices), {"loss": 0.2}, 0.2, 0.0, seconds=0.4, fidelity=SHARE
            )
            for name in ("boosting", "forest")
            for choices in [{"scale": ("none", {}), "model": (name, {"x": 0.5})}]
        ]
        costs.refresh(looks)
        found[type(measure)] = np.exp(costs.log_seconds)
    assert found[Table] - OVERHEAD == pytest.approx(2 * [SPLITS * 0.4 * 10**GROWTH])
    expected = [SPLITS * 0.4 * 10**0.3, SPLITS * 0.4 * 10**0.8]
    assert found[Known] - OVERHEAD == pytest.approx(expected)


@pytest.mark.usefixtures("_looks_always_pay")
def test_a_search_killed_at_a_look_is_replayed_to_the_letter(tmp_path, monkeypatch):
    def absorb(self):
        raise AssertionError("The search proposed something else than the journal holds.")

    monkeypatch.setattr(RunEvaluator, "_absorb", absorb)
    measure = Dying()
    problem = fl.Problem(SPACE, measure)
    for dies_at in (5, 12, 30):
        measure.dies_at = dies_at
        result = fl.minimize(problem, seconds=60.0, seed=3, run_dir=tmp_path)
        assert result.ended == "interrupted"
    assert any(fidelity < 1.0 for _, fidelity in measure.asked[12:])
    # Of what was asked, the calls that were cut short were repeated, and nothing else.
    assert len(measure.asked) - len(set(measure.asked)) == 2
    assert len(result.evaluations) == 27

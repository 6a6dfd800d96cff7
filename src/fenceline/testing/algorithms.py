"""What anything accepted as ``algorithm=`` must do, as tests to inherit."""

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.engines.serial import call
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.minimize import SearchAlgorithm, minimize
from fenceline.problem.configuration import Configuration
from fenceline.problem.constraint import metric
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.problem import BudgetSpent, Problem
from fenceline.problem.space import Algorithm as Entry
from fenceline.problem.space import Module, Space

BUDGET = 24
"""Evaluations of one run: past every algorithm's random start, and quick."""


class Recorder:
    """A `measure` that remembers what it was asked."""

    def __init__(self, measure: Callable[[Configuration], dict[str, float]]) -> None:
        self.measure = measure
        self.asked: list[Configuration] = []

    def __call__(self, configuration: Configuration) -> dict[str, float]:
        """Measure and remember."""
        self.asked.append(configuration)
        return self.measure(configuration)


def _numbers(configuration: Configuration) -> list[float]:
    """Everything numeric in a configuration."""
    return [
        float(value)
        for choice in configuration.values()
        for value in choice.params.values()
        if isinstance(value, int | float)
    ]


def _plain(configuration: Configuration) -> dict[str, float]:
    """A loss that prefers long names and numbers near 2, and a cost that opposes it."""
    length = sum(len(choice.algorithm) for choice in configuration.values())
    numbers = _numbers(configuration)
    loss = sum((x - 2.0) ** 2 for x in numbers) / (1 + len(numbers)) - 0.1 * length
    return {"loss": loss, "cost": length + sum(map(abs, numbers)) / (1 + len(numbers))}


def _constant(configuration: Configuration) -> dict[str, float]:
    return {"loss": 0.5, "cost": 1.0}


def _huge(configuration: Configuration) -> dict[str, float]:
    sign = 1.0 if len(str(configuration)) % 2 else -1.0
    return {"loss": sign * 1e300, "cost": 1e300 * _plain(configuration)["cost"]}


def _tiny(configuration: Configuration) -> dict[str, float]:
    return {name: 1e-300 * value for name, value in _plain(configuration).items()}


def _sometimes(configuration: Configuration) -> dict[str, float]:
    if len(configuration.key) % 3 == 0:
        raise ArithmeticError("did not converge")
    return _plain(configuration)


def _never(configuration: Configuration) -> dict[str, float]:
    raise FileNotFoundError("no such table: credit.csv")


_MIXED = Space(
    [
        Module("scaler", [Entry("none"), Entry("robust", {"q": Real(0.001, 0.3)})]),
        Module(
            "model",
            [
                Entry("nearest", {"k": Integer(1, 100, log=True), "p": Categorical([1, 2])}),
                Entry("logit", {"C": Real(1e-3, 1e3, log=True), "tries": Integer(1, 5)}),
            ],
        ),
    ]
)
_ONE_PIPELINE = Space([Module("model", [Entry("ridge", {"alpha": Real(0.0, 4.0)})])])
_MODULES = Space(
    [Module(f"step{i}", [Entry("skip"), Entry("scale", {"by": Real(0.0, 4.0)})]) for i in range(50)]
)
_PARAMETERS = Space(
    [
        Module(
            "model",
            [
                Entry("small", {"x": Real(0.0, 4.0)}),
                Entry(
                    "large",
                    {f"n{i}": Integer(0, 1000) for i in range(150)}
                    | {f"x{i}": Real(0.0, 4.0) for i in range(50)},
                ),
            ],
        )
    ]
)
_FINITE = Space(
    [Module(m, [Entry(a) for a in ("none", "linear", "quadratic")]) for m in ("map", "model")]
)

_CHEAP = metric("cost") <= 11.0
_COARSE = metric("loss") >= -0.9

PROBLEMS: dict[str, Problem] = {
    "mixed": Problem(_MIXED, _plain),
    "constrained": Problem(_MIXED, _plain, constraints=[_CHEAP, _COARSE]),
    "equality": Problem(_MIXED, _plain, constraints=[metric("cost").equals(12.0, 1.0)]),
    "zero bound": Problem(_MIXED, _plain, constraints=[metric("loss") <= 0.0]),
    "constant": Problem(_MIXED, _constant, constraints=[_CHEAP]),
    "huge values": Problem(_MIXED, _huge, constraints=[_CHEAP]),
    "tiny values": Problem(_MIXED, _tiny, constraints=[_CHEAP]),
    "sometimes raises": Problem(_MIXED, _sometimes),
    "always raises": Problem(_MIXED, _never, constraints=[_CHEAP]),
    "one pipeline": Problem(_ONE_PIPELINE, _plain),
    "fifty modules": Problem(_MODULES, _plain),
    "two hundred hyper-parameters": Problem(_PARAMETERS, _plain),
}
"""What every algorithm is tried on; each space holds more pipelines than the budget."""


class AlgorithmSuite:
    """Subclass it, set `algorithm`, inherit every test.

    Attributes
    ----------
    algorithm : SearchAlgorithm, or a callable without arguments that makes one
        What is tested: anything that `minimize` accepts as ``algorithm=``.
    budget : int
        Evaluations of one run; more than the algorithm's random start.

    Examples
    --------
    ::

        from fenceline.testing import AlgorithmSuite

        class TestRandomSearch(AlgorithmSuite):
            algorithm = RandomSearch()
    """

    algorithm: ClassVar[Any]
    budget: ClassVar[int] = BUDGET

    @pytest.mark.parametrize("name", PROBLEMS)
    def test_budget_is_kept_on_distinct_configurations_of_the_space(self, name: str) -> None:
        """Not one evaluation more, fewer or twice, whatever `measure` does."""
        recorder, problem = _recorded(PROBLEMS[name])
        result = minimize(problem, evaluations=self.budget, algorithm=self._make())
        assert result.ended == "evaluations", result.message
        assert len(recorder.asked) == len(result.evaluations) == self.budget
        assert len(set(recorder.asked)) == self.budget
        for configuration in recorder.asked:
            assert problem.space.configuration(configuration.to_dict()) == configuration
        assert [e.configuration for e in result.evaluations] == recorder.asked

    @pytest.mark.parametrize("budget", [1, 2, 3])
    def test_the_smallest_budgets_are_kept_too(self, budget: int) -> None:
        """A budget of one still returns a pipeline."""
        result = minimize(PROBLEMS["mixed"], evaluations=budget, algorithm=self._make())
        assert len(result.evaluations) == budget
        assert result.best is not None

    @pytest.mark.parametrize("name", ["constrained", "sometimes raises"])
    def test_equal_seeds_give_equal_runs(self, name: str) -> None:
        """A run can be repeated, and a resumed one replayed."""
        first, second, other = (
            [
                (e.configuration, e.metrics, e.status)
                for e in minimize(
                    PROBLEMS[name], evaluations=self.budget, algorithm=self._make(), seed=seed
                ).evaluations
            ]
            for seed in (3, 3, 4)
        )
        assert first == second
        assert first != other

    def test_two_runs_of_one_algorithm_do_not_disturb_each_other(self) -> None:
        """An algorithm is a record of settings; its state lives in its generator."""
        algorithm = self._make()
        settings = repr(algorithm)
        runs = [
            minimize(PROBLEMS["mixed"], evaluations=self.budget, algorithm=algorithm)
            for _ in range(2)
        ]
        first, second = ([e.configuration for e in run.evaluations] for run in runs)
        assert first == second
        assert repr(algorithm) == settings

    def test_a_measure_that_always_raises_ends_as_failed_with_the_reason(self) -> None:
        """Failures are data: the run goes on to its end, and says what to mend."""
        result = minimize(
            PROBLEMS["always raises"], evaluations=self.budget, algorithm=self._make()
        )
        assert result.status == "failed"
        assert result.best is None
        assert "FileNotFoundError: no such table: credit.csv" in result.message

    def test_failed_pipelines_do_not_hide_the_best(self) -> None:
        """What succeeded is compared, what failed is recorded."""
        result = minimize(
            PROBLEMS["sometimes raises"], evaluations=self.budget, algorithm=self._make()
        )
        measured = [e.objective for e in result.evaluations if e.feasible]
        assert result.best is not None
        assert result.best.objective == min(measured)
        for evaluation in result.evaluations:
            if not evaluation.ok:
                assert evaluation.message == "ArithmeticError: did not converge"

    def test_a_space_without_hyper_parameters_is_measured_completely(self) -> None:
        """Nine pipelines are nine evaluations: no more, and no endless loop."""
        recorder, problem = _recorded(Problem(_FINITE, _plain))
        result = minimize(problem, evaluations=10_000, algorithm=self._make())
        assert result.ended == "exhausted"
        assert len(recorder.asked) == len(set(recorder.asked)) == _FINITE.size
        assert result.best is not None
        assert str(result.best.configuration) == "quadratic -> quadratic"

    def test_a_single_configuration_is_measured_once(self) -> None:
        """The smallest space of all."""
        space = Space([Module("model", [Entry("bayes")])])
        result = minimize(Problem(space, _plain), evaluations=50, algorithm=self._make())
        assert result.ended == "exhausted"
        assert len(result.evaluations) == 1

    def test_an_infeasible_problem_says_so_and_names_the_binding_constraint(self) -> None:
        """No silent substitute: best is None, and the message says what to loosen."""
        constraints = [metric("cost") <= 1.0, metric("loss") <= 1e6]
        problem = Problem(_MIXED, _plain, constraints=constraints)
        result = minimize(problem, evaluations=self.budget, algorithm=self._make())
        assert result.status == "infeasible"
        assert result.best is None
        assert "'cost <= 1' binds most" in result.message
        assert "loosen cost from 1 to" in result.message

    def test_a_feasible_problem_ends_with_a_feasible_best(self) -> None:
        """The answer satisfies every constraint and is the best measured that does."""
        problem = PROBLEMS["constrained"]
        result = minimize(problem, evaluations=self.budget, algorithm=self._make())
        assert result.status == "feasible", result.message
        assert result.best is not None
        assert all(c.holds(result.best.metrics[c.metric]) for c in problem.constraints)
        feasible = [e.objective for e in result.evaluations if problem.violation(e.metrics) == 0.0]
        assert result.best.objective == min(feasible)

    @pytest.mark.parametrize("name", ["constrained", "sometimes raises", "always raises"])
    def test_measurements_may_be_pending_and_finish_in_another_order(self, name: str) -> None:
        """With three workers the same loop proposes from history and pending."""
        recorder, problem = _recorded(PROBLEMS[name])
        evaluator = RunEvaluator(problem, _Tardy(workers=3), self.budget)
        with pytest.raises(BudgetSpent):
            for _ in self._make().iterates(problem, evaluator, np.random.default_rng(0)):
                pass
        assert len(evaluator.history) == len(set(recorder.asked)) == self.budget
        assert not evaluator.pending

    def _make(self) -> SearchAlgorithm:
        """Return the algorithm, freshly made where a factory was given."""
        algorithm = type(self).algorithm  # from the class, so that a function is not bound
        ready = hasattr(algorithm, "iterates") and not isinstance(algorithm, type)
        return cast(SearchAlgorithm, algorithm if ready else algorithm())


class _Tardy:
    """An engine whose latest task finishes first, and only once somebody waits for it."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._finished: list[tuple[int, Outcome]] = []

    def put(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def submit(self, ticket: int, argument: Any) -> None:
        self._finished.append((ticket, call(self._function, argument)))

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        return None if timeout == 0.0 else self._finished.pop()

    def cancel(self, ticket: int) -> None:
        pass

    def close(self) -> None:
        pass


def _recorded(problem: Problem) -> tuple[Recorder, Problem]:
    recorder = Recorder(problem.measure)  # type: ignore[arg-type]
    return recorder, Problem(
        problem.space, recorder, objective=problem.objective, constraints=problem.constraints
    )

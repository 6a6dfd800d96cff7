"""minimize(): where space, algorithm and engine are wired together, and nowhere else."""

import math
import numbers
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fenceline.admm import ADMM
from fenceline.configuration import Configuration
from fenceline.errors import BudgetError, DefinitionError, MeasurementError
from fenceline.evaluation.engine import Engine, Outcome
from fenceline.evaluation.serial import Serial
from fenceline.iterate import Iterate
from fenceline.problem import BudgetSpent, Evaluation, Evaluator, Problem
from fenceline.result import Ending, Result


class Algorithm(Protocol):
    """Anything `minimize` accepts as ``algorithm=``: it submits configurations until the budget is spent."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search; yield ADMM iterates, or nothing."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after each evaluation."""

    evaluation: Evaluation
    best: Evaluation | None
    count: int
    feasible: int
    seconds: float


def minimize(
    problem: Problem,
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    algorithm: Algorithm | None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[[Progress], None]] = (),
) -> Result:
    """Find the best feasible configuration within a budget.

    Parameters
    ----------
    problem : Problem
        What to minimise and the constraints that must hold.
    evaluations, seconds : int, float
        The budget; at least one is needed, the first to be spent ends the run.
    algorithm : ADMM or a baseline
        ``ADMM()`` by default.
    seed : int
        Same seed, same run.
    callbacks : sequence of callables
        Each is called with a :class:`Progress` after every evaluation.

    Returns
    -------
    Result
        With the best feasible evaluation, or a message that says why there is none.
    """
    if not isinstance(problem, Problem):
        raise DefinitionError(f"minimize: problem must be a Problem. Got {problem!r}.")
    _check_budget(evaluations, seconds)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise DefinitionError(f"minimize: seed must be a whole number of at least 0. Got {seed!r}.")
    algorithm = ADMM() if algorithm is None else algorithm
    if isinstance(algorithm, type) or not hasattr(algorithm, "iterates"):
        raise DefinitionError(f"minimize: algorithm must be one such as ADMM(). Got {algorithm!r}.")

    engine = Serial()
    desk = Desk(problem, engine, evaluations, seconds, callbacks)
    iterates: deque[Iterate] = deque()
    ended: Ending = "finished"
    try:
        iterates.extend(algorithm.iterates(problem, desk, np.random.default_rng(int(seed))))
    except BudgetSpent:
        ended = desk.ending
    except KeyboardInterrupt:
        ended = "interrupted"
    finally:
        engine.close()
    return Result(
        problem,
        tuple(desk.history),
        ended,
        time.perf_counter() - desk.started,
        tuple(iterates),
        tuple(desk.finished_at),
        tuple(desk.suggest_seconds),
    )


class Desk:
    """The Evaluator of a run: hands configurations to the engine, files what comes back, keeps the budget."""

    def __init__(
        self,
        problem: Problem,
        engine: Engine,
        evaluations: int | None = None,
        seconds: float | None = None,
        callbacks: Sequence[Callable[[Progress], None]] = (),
    ) -> None:
        self.problem = problem
        self.engine = engine
        self.limit = math.inf if evaluations is None else evaluations
        self.started = self._idle_since = time.perf_counter()
        self.deadline = math.inf if seconds is None else self.started + seconds
        self.callbacks = callbacks
        self.history: list[Evaluation] = []
        self.finished_at: list[float] = []
        self.suggest_seconds: list[float] = []
        self.ending: Ending = "evaluations"
        self._known: dict[Configuration, Evaluation] = {}
        self._tickets: dict[int, Configuration] = {}
        self._submitted = 0
        self._repeats = 0
        self._best: Evaluation | None = None
        self._feasible = 0
        engine.put(problem.measure)

    @property
    def pending(self) -> Sequence[Configuration]:
        """Submitted and not finished."""
        return tuple(self._tickets.values())

    def known(self, configuration: Configuration) -> Evaluation | None:
        """Return the evaluation of a configuration, if it has finished."""
        return self._known.get(configuration)

    def submit(self, configuration: Configuration) -> None:
        """Measure a configuration unless it is known; return when a worker is free again."""
        spent = time.perf_counter() - self._idle_since
        if configuration in self._known or configuration in self._tickets.values():
            self._count_repeat()
            return
        self._repeats = 0
        self._stop_if(self._submitted >= self.limit, "evaluations")
        self._stop_if(time.perf_counter() >= self.deadline, "seconds")
        self.suggest_seconds.append(spent)
        self._tickets[self._submitted] = configuration
        self.engine.submit(self._submitted, configuration)
        self._submitted += 1
        while len(self._tickets) >= self.engine.workers:
            self._collect()
        self._idle_since = time.perf_counter()

    def drain(self) -> None:
        """Wait until nothing is pending."""
        while self._tickets:
            self._collect()
        self._idle_since = time.perf_counter()

    def _stop_if(self, over: bool, ending: Ending) -> None:
        if over:
            self.drain()
            self.ending = ending
            raise BudgetSpent

    def _count_repeat(self) -> None:
        """End a run that has nothing new to measure: every configuration known, or a solver that repeats itself."""
        self._repeats += 1
        self._stop_if(time.perf_counter() >= self.deadline, "seconds")
        self._stop_if(
            len(self._known) + len(self._tickets) >= self.problem.space.cardinality, "exhausted"
        )
        self._stop_if(self._repeats >= _MOST_REPEATS, "exhausted")

    def _collect(self) -> None:
        """File the next outcome."""
        timeout = (
            None if math.isinf(self.deadline) else max(0.0, self.deadline - time.perf_counter())
        )
        finished = self.engine.next(timeout)
        if finished is None:
            for ticket in tuple(self._tickets):
                self.engine.cancel(ticket)
            finished = self.engine.next(None)
            assert finished is not None, "a cancelled task is reported"
        ticket, outcome = finished
        self._file(self._judge(self._tickets.pop(ticket), outcome))

    def _judge(self, configuration: Configuration, outcome: Outcome) -> Evaluation:
        metrics: dict[str, float] = {}
        objective = violation = math.inf
        status, message = outcome.status, outcome.message
        if status == "ok":
            try:
                metrics = self.problem.check(outcome.value)
                objective = metrics[self.problem.objective]
                violation = self.problem.violation(metrics)
            except MeasurementError as mistake:
                # At the first evaluation it is the contract that is broken, and time should not be
                # spent on it; later on it is one pipeline that misbehaves, and the run goes on.
                if not any(e.ok for e in self.history):
                    raise
                status, message = "error", str(mistake)
        return Evaluation(
            configuration,
            metrics,
            objective,
            violation,
            status,
            outcome.seconds,
            message,
            outcome.traceback,
            outcome.cpu_seconds,
            outcome.megabytes,
        )

    def _file(self, evaluation: Evaluation) -> None:
        self.history.append(evaluation)
        self.finished_at.append(time.perf_counter() - self.started)
        self._known[evaluation.configuration] = evaluation
        self._feasible += evaluation.feasible
        if evaluation.feasible and (
            self._best is None or evaluation.objective < self._best.objective
        ):
            self._best = evaluation
        progress = Progress(
            evaluation, self._best, len(self.history), self._feasible, self.finished_at[-1]
        )
        for callback in self.callbacks:
            callback(progress)


_MOST_REPEATS = 1000


def _check_budget(evaluations: object, seconds: object) -> None:
    if evaluations is None and seconds is None:
        raise BudgetError("minimize: give evaluations=, seconds= or both; a run needs an end.")
    if evaluations is not None and (
        isinstance(evaluations, bool)
        or not isinstance(evaluations, numbers.Integral)
        or evaluations < 1
    ):
        raise BudgetError(
            f"minimize: evaluations must be a whole number of at least 1. Got {evaluations!r}."
        )
    if seconds is not None and (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float | np.number)
        or not 0 < seconds < math.inf
    ):
        raise BudgetError(f"minimize: seconds must be a positive, finite number. Got {seconds!r}.")

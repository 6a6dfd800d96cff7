"""The Evaluator of a run: it hands configurations to the engine, files what comes back, keeps the budget."""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from fenceline.errors import MeasurementError
from fenceline.evaluation import Engine, Outcome
from fenceline.evaluation.incumbent import Comparing, Incumbent, wants_incumbent
from fenceline.evaluation.repeats import Doubts, pooled
from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import BudgetSpent, Evaluation, Problem
from fenceline.result.result import Ending
from fenceline.search.iterate import Iterate
from fenceline.store import Event, Finish, Proposal, RunDirectory

_MOST_REPEATS = 1000
_WORKERS_PER_SPARE = 8
_SHORT = 0.01
"""A suggestion that takes less than this share of a measurement may as well be waited for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after each evaluation."""

    evaluation: Evaluation
    best: Evaluation | None
    count: int
    feasible: int
    seconds: float
    iterate: Iterate | None = None
    """The last one, of algorithms that have them."""


class Desk:
    """The Evaluator of a run: hands configurations to the engine, files what comes back, keeps the budget."""

    def __init__(
        self,
        problem: Problem,
        engine: Engine,
        evaluations: int | None = None,
        seconds: float | None = None,
        callbacks: Sequence[Callable[[Progress], None]] = (),
        store: RunDirectory | None = None,
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
        self.iterate: Iterate | None = None
        self._known: dict[Configuration, Evaluation] = {}
        self._doubts = Doubts(problem)
        self._tickets: dict[int, Configuration] = {}
        self._submitted = 0
        self._repeats = 0
        self._best: Evaluation | None = None
        self._feasible = 0
        self._store = store
        self._script: deque[Event] = deque(() if store is None else store.events)
        self._comparing = wants_incumbent(problem.measure)
        engine.put(Comparing(problem.measure) if self._comparing else problem.measure)

    @property
    def pending(self) -> Sequence[Configuration]:
        """Submitted and not finished."""
        return tuple(self._tickets.values())

    def known(self, configuration: Configuration) -> Evaluation | None:
        """Return the evaluation of a configuration, if it has finished."""
        return self._known.get(configuration)

    def submit(self, configuration: Configuration) -> None:
        """Measure a configuration unless it is known; return when another one is wanted.

        Before it, a known one is measured again if noise alone keeps it from being the best.
        """
        spent = time.perf_counter() - self._idle_since
        if configuration in self._known or configuration in self._tickets.values():
            self._count_repeat()
            return
        if not self.problem.allows(configuration):
            # Known from the rules alone: it costs nothing, and the algorithm may ask why.
            self._known[configuration] = Evaluation(
                configuration, {}, math.inf, math.inf, "forbidden", message="A rule forbids it."
            )
            self._count_repeat()
            return
        self._repeats = 0
        # Here and nowhere else: the journal then shows the same outcomes before the same proposal.
        while (doubtful := self._doubts.greatest(self._best, self.pending)) is not None:
            self._measure(doubtful, 0.0)
        self._measure(configuration, spent)

    def _measure(self, configuration: Configuration, spent: float) -> None:
        """Have a configuration measured, and take in what has finished meanwhile."""
        self._stop_if(self._submitted >= self.limit, "evaluations")
        self._stop_if(time.perf_counter() >= self.deadline, "seconds")
        self.suggest_seconds.append(spent)
        ticket = self._submitted
        self._submitted += 1
        self._tickets[ticket] = configuration
        if self._script:
            self._replay(configuration)
        else:
            if self._store is not None:
                self._store.propose(ticket, configuration)
            self._start(ticket, configuration)
        if not self._script:
            while len(self._tickets) >= self._room():
                self._collect()
            while self._tickets and (finished := self.engine.next(0.0)) is not None:
                self._take(*finished)  # the next suggestion is to know all that is known
        self._idle_since = time.perf_counter()

    def drain(self) -> None:
        """Wait until nothing is pending."""
        if self._script and self._tickets:
            self._recall()
        while self._tickets:
            self._collect()
        self._idle_since = time.perf_counter()

    def _room(self) -> int:
        """Return how many configurations may be pending: one for each worker, and a few to spare.

        A spare one waits for the next worker to be free, so that the worker need not wait for a
        suggestion. Its price is that it was suggested without the outcomes that came meanwhile:
        therefore one for eight workers, and none where a suggestion takes next to no time.
        """
        workers = self.engine.workers
        spare = workers // _WORKERS_PER_SPARE
        if not (spare and self.history):
            return workers
        suggesting = fmean(self.suggest_seconds[-workers:])
        measuring = fmean(e.seconds for e in self.history[-workers:])
        return workers + (spare if suggesting > _SHORT * measuring else 0)

    def _start(self, ticket: int, configuration: Configuration) -> None:
        """Have a configuration measured; a measure that likes to know the best so far is told."""
        task: object = configuration
        if self._comparing:
            task = configuration, Incumbent.of(self._best, self.problem.objective)
        self.engine.submit(ticket, task)

    def _stop_if(self, over: bool, ending: Ending) -> None:
        if over:
            self.drain()
            self.ending = ending
            raise BudgetSpent

    def _count_repeat(self) -> None:
        """End a run that has nothing new to measure: every configuration known, or a solver that repeats itself."""
        self._repeats += 1
        self._stop_if(time.perf_counter() >= self.deadline, "seconds")
        new = sum(c not in self._known for c in self._tickets.values())
        self._stop_if(len(self._doubts.times) + new >= self.problem.cardinality, "exhausted")
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
        self._take(*finished)

    def _take(self, ticket: int, outcome: Outcome) -> None:
        evaluation = self._judge(self._tickets.pop(ticket), outcome)
        if (earlier := self._known.get(evaluation.configuration)) is not None:
            evaluation = pooled(self.problem, earlier, evaluation)
        # A task stopped by the end of this run is no outcome: a continued run measures it again.
        if self._store is not None and outcome.status != "cancelled":
            self._store.finish(ticket, evaluation)
        self._file(evaluation)

    def _replay(self, configuration: Configuration) -> None:
        """Let the journal speak instead of the engine: what finished before the next proposal, in order.

        The algorithm is deterministic, so it proposes what it proposed then; if it does not (other
        library versions, say), everything measured is taken in at once and the search goes on.
        """
        first = self._script.popleft()
        same = isinstance(first, Proposal) and first.configuration == configuration.to_dict()
        if not same:
            self._script.appendleft(first)
            self._absorb()
            return
        while self._script and not isinstance(self._script[0], Proposal):
            event = self._script.popleft()
            if isinstance(event, Finish):
                self._file(self._judge(self._tickets.pop(event.ticket), _outcome(event)))
        if not self._script:
            self._start_again()

    def _recall(self) -> None:
        """Take from the journal what is pending where this run's budget ends, and no more."""
        for event in self._script:
            if isinstance(event, Finish) and event.ticket in self._tickets:
                self._file(self._judge(self._tickets.pop(event.ticket), _outcome(event)))
        self._script.clear()
        self._start_again()

    def _start_again(self) -> None:
        """Measure what was being measured when the journal ended."""
        for ticket, unfinished in self._tickets.items():
            self._start(ticket, unfinished)

    def _absorb(self) -> None:
        """Take in all that the journal still holds, whatever this run would have proposed."""
        _, configuration = self._tickets.popitem()
        self.suggest_seconds.pop()
        for event in self._script:
            if isinstance(event, Proposal):
                self._tickets[event.ticket] = self.problem.space.configuration(event.configuration)
                self._submitted = event.ticket + 1
            elif isinstance(event, Finish):
                self._file(self._judge(self._tickets.pop(event.ticket), _outcome(event)))
        self._script.clear()
        self._start_again()
        self.submit(configuration)

    def _judge(self, configuration: Configuration, outcome: Outcome) -> Evaluation:
        metrics: dict[str, float] = {}
        errors: dict[str, float] = {}
        objective = violation = math.inf
        status, message = outcome.status, outcome.message
        if status == "ok":
            try:
                metrics = self.problem.check(outcome.value)
                objective = metrics[self.problem.objective]
                errors = self.problem.errors(outcome.value)
                violation = self.problem.violation(metrics, errors)
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
            errors,
        )

    def _file(self, evaluation: Evaluation) -> None:
        self.history.append(evaluation)
        self.finished_at.append(time.perf_counter() - self.started)
        configuration = evaluation.configuration
        self._doubts.file(evaluation)
        if evaluation.ok or configuration not in self._known:
            self._known[configuration] = evaluation
        self._feasible += evaluation.feasible
        if evaluation.feasible and (
            self._best is None or evaluation.objective < self._best.objective
        ):
            self._best = evaluation
        progress = Progress(
            evaluation,
            self._best,
            len(self.history),
            self._feasible,
            self.finished_at[-1],
            self.iterate,
        )
        for callback in self.callbacks:
            callback(progress)


def _outcome(event: Finish) -> Outcome:
    """Return what an engine would have reported."""
    return Outcome(
        event.status,
        {n: (v, event.errors[n]) if n in event.errors else v for n, v in event.metrics.items()},
        event.message,
        event.traceback,
        event.seconds,
        event.cpu_seconds,
        event.megabytes,
    )

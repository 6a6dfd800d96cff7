"""The Evaluator of a run: it hands configurations to the engine, files what comes back, keeps the budget."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from fenceline.errors import DefinitionError, MeasurementError
from fenceline.evaluation import Engine, Outcome
from fenceline.evaluation.budget import Budget
from fenceline.evaluation.checked import Checked
from fenceline.evaluation.incumbent import Incumbent, WithKeywords
from fenceline.evaluation.known import Known
from fenceline.evaluation.repeats import pooled
from fenceline.evaluation.replay import Replay
from fenceline.evaluation.sandbox.child import read_outbox
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Ended, Evaluation
from fenceline.problem.measurement import Measurement
from fenceline.problem.problem import BudgetSpent, Problem, takes
from fenceline.result.result import Ending
from fenceline.search.iterate import Iterate
from fenceline.store import Finish, Proposal, RunDirectory
from fenceline.store.older import as_plain

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
    looks: int = 0
    """How many of the evaluations were cheap looks, with a part of the rows."""


class RunEvaluator:
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
        self.budget = Budget(evaluations, seconds)
        self.callbacks = callbacks
        self.finished_at: list[float] = []
        self.suggest_seconds: list[float] = []
        self.ending: Ending = "evaluations"
        self.iterate: Iterate | None = None
        self._known = Known(problem)
        self._tickets: dict[int, tuple[Configuration, float]] = {}
        self._submitted = 0
        self._repeats = 0
        self._store = store
        self._replay = Replay(() if store is None else store.events)
        self._idle_since = self.budget.started
        self._left = self._replay.told if self._replay else self.budget.told
        self._keywords = {n for n in ("fidelity", "incumbent") if takes(problem.measure, n)}
        measure = WithKeywords(problem.measure) if self._keywords else problem.measure
        engine.put(Checked.of(problem, measure))
        if hasattr(engine, "outbox"):
            engine.outbox = None if store is None else self._outbox

    @property
    def history(self) -> Sequence[Evaluation]:
        """Finished evaluations, in the order in which they finished."""
        return self._known.history

    @property
    def pending(self) -> Sequence[Configuration]:
        """Submitted and not finished."""
        return tuple(configuration for configuration, _ in self._tickets.values())

    @property
    def seconds_left(self) -> float | None:
        """What is left of the budget in seconds, as of the last submission, now or in the journal."""
        return self._left

    def known(self, configuration: Configuration, fidelity: float = 1.0) -> Evaluation | None:
        """Return the evaluation of a configuration at a fidelity, if it has finished."""
        return self._known.of(configuration, fidelity)

    def submit(self, configuration: Configuration, fidelity: float = 1.0) -> None:
        """Measure a configuration unless it is known; return when another one is wanted.

        Before it, a known one is measured again if noise alone keeps it from being the best.
        """
        spent = time.perf_counter() - self._idle_since
        if not 0.0 < fidelity <= 1.0:
            raise DefinitionError(f"submit: fidelity must lie in (0, 1]. Got {fidelity!r}.")
        if "fidelity" not in self._keywords:
            fidelity = 1.0
        if self._decided(configuration, fidelity):
            self._count_repeat()
            return
        if not self.problem.allows(configuration):
            # Known from the rules alone: it costs nothing, and the algorithm may ask why.
            forbidden = Outcome("forbidden", message="A rule forbids it.")
            self._known.refuse(self.problem.evaluation(configuration, forbidden))
            self._count_repeat()
            return
        self._repeats = 0
        # Here and nowhere else: the journal then shows the same outcomes before the same proposal.
        while (doubtful := self._doubtful()) is not None:
            self._measure(doubtful, 1.0, 0.0)
        self._measure(configuration, fidelity, spent)

    def _doubtful(self) -> Configuration | None:
        return self._known.doubts.greatest(self._known.best, self.pending)

    def _decided(self, configuration: Configuration, fidelity: float) -> bool:
        """Tell whether a measurement at this fidelity is known or under way."""
        return (
            self.known(configuration, fidelity) is not None
            or (configuration, fidelity) in self._tickets.values()
        )

    def _measure(self, configuration: Configuration, fidelity: float, spent: float) -> None:
        """Have a configuration measured, and take in what has finished meanwhile."""
        self._stop_if(self.budget.measured_out, "evaluations")
        self._stop_if(self.budget.timed_out, "seconds")
        self.suggest_seconds.append(spent)
        ticket = self._submitted
        self._submitted += 1
        self.budget.spent += fidelity
        self._tickets[ticket] = configuration, fidelity
        if self._replay:
            self._repeat(configuration, fidelity)
        else:
            if self._store is not None:
                self._store.propose(ticket, configuration, fidelity, self._left)
            self._start(ticket)
        if not self._replay:
            while len(self._tickets) >= self._room():
                self._collect()
            while self._tickets and (finished := self.engine.next(0.0)) is not None:
                self._take(*finished)  # the next suggestion is to know all that is known
        self._left = self._replay.told if self._replay else self.budget.told
        self._idle_since = time.perf_counter()

    def drain(self) -> None:
        """Wait until nothing is pending."""
        if self._replay and self._tickets:
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

    def _start(self, ticket: int) -> None:
        """Have a configuration measured; a measure that likes to know the best so far is told."""
        configuration, fidelity = self._tickets[ticket]
        keywords: dict[str, object] = {}
        if "fidelity" in self._keywords:
            keywords["fidelity"] = fidelity
        if "incumbent" in self._keywords:
            best = (
                self._known.best if fidelity == 1.0 else None
            )  # a look has no other to compare with
            keywords["incumbent"] = Incumbent.of(best, self.problem.objective)
        self.engine.submit(ticket, (configuration, keywords) if self._keywords else configuration)

    def _stop_if(self, over: bool, ending: Ending) -> None:
        if over:
            self.drain()
            # Where the clock cut short what was waited for, it was the clock that ended the run.
            late = ending == "exhausted" and self.budget.timed_out
            self.ending = "seconds" if late else ending
            raise BudgetSpent

    def _count_repeat(self) -> None:
        """End a run that has nothing new to measure: every configuration known, or a solver that repeats itself."""
        self._repeats += 1
        self._stop_if(self.budget.timed_out, "seconds")
        new = sum(f == 1.0 and self.known(c) is None for c, f in self._tickets.values())
        measured = len(self._known.doubts.times)
        self._stop_if(measured + new >= self.problem.cardinality, "exhausted")
        self._stop_if(self._repeats >= _MOST_REPEATS, "exhausted")

    def _collect(self) -> None:
        """File the next outcome."""
        finished = self.engine.next(self.budget.left)
        if finished is None:
            for ticket in tuple(self._tickets):
                self.engine.cancel(ticket)
            finished = self.engine.next(None)
            assert finished is not None, "a cancelled task is reported"
        self._take(*finished)

    def _take(self, ticket: int, outcome: Outcome) -> None:
        """File an outcome of the engine."""
        try:
            evaluation = self._evaluation(ticket, outcome, _measured(outcome))
        except MeasurementError as mistake:
            # At the first proposal it is the contract that is broken, and time should not be
            # spent on it; later on it is one pipeline that misbehaves, and the run goes on.
            # The first proposal decides, whatever finishes first: if it breaks the contract, all would.
            if ticket == 0:
                raise
            failed = replace(outcome, status="error", message=str(mistake))
            evaluation = self._evaluation(ticket, failed)
        del self._tickets[ticket]
        earlier = self.known(evaluation.configuration, evaluation.fidelity)
        if earlier is not None:
            evaluation = pooled(self.problem, earlier, evaluation)
        # A task stopped by the end of this run is no outcome: a continued run measures it again.
        if self._store is not None and outcome.status != "cancelled":
            self._store.finish(ticket, evaluation)
        self._file(evaluation)

    def _take_back(self, event: Finish) -> None:
        """File what the journal holds."""
        try:
            evaluation = self._evaluation(event.ticket, event, event.measurement)
        except MeasurementError as mistake:
            failed = replace(event, status="error", message=str(mistake))
            evaluation = self._evaluation(event.ticket, failed)
        del self._tickets[event.ticket]
        self._file(evaluation)

    def _evaluation(self, ticket: int, ended: Ended, measured: object = None) -> Evaluation:
        configuration, fidelity = self._tickets[ticket]
        return self.problem.evaluation(configuration, ended, measured, fidelity)

    def _outbox(self, ticket: int) -> str:
        assert self._store is not None
        return str(self._store.outbox(ticket, *self._tickets[ticket]))

    def _repeat(self, configuration: Configuration, fidelity: float) -> None:
        """Let the journal speak instead of the engine: what finished before the next proposal, in order.

        The algorithm is deterministic, so it proposes what it proposed then; if it does not (other
        library versions, say), everything measured is taken in at once and the search goes on.
        """
        if not self._replay.repeats(configuration, fidelity):
            self._absorb()
            return
        for event in self._replay.outcomes():
            self._take_back(event)
        if not self._replay:
            self._start_again()

    def _recall(self) -> None:
        """Take from the journal what is pending where this run's budget ends, and no more."""
        for event in self._replay.rest():
            if isinstance(event, Finish) and event.ticket in self._tickets:
                self._take_back(event)
        self._start_again()

    def _start_again(self) -> None:
        """Measure what was being measured when the journal ended, unless its outcome lies ready."""
        limits = getattr(self.engine, "limits", None)
        for ticket in tuple(self._tickets):
            found = read_outbox(Path(self._outbox(ticket)), limits and limits.seconds)
            if found is not None:
                self._take(ticket, found)
        for ticket in self._tickets:
            self._start(ticket)

    def _absorb(self) -> None:
        """Take in all that the journal still holds, whatever this run would have proposed."""
        _, (configuration, fidelity) = self._tickets.popitem()
        self.budget.spent -= fidelity
        self.suggest_seconds.pop()
        for event in self._replay.rest():
            if isinstance(event, Proposal):
                found = self.problem.space.configuration(event.configuration)
                self._tickets[event.ticket] = found, event.fidelity
                self._submitted = event.ticket + 1
                self.budget.spent += event.fidelity
            elif isinstance(event, Finish):
                self._take_back(event)
        self._start_again()
        self.submit(configuration, fidelity)

    def _file(self, evaluation: Evaluation) -> None:
        """Take in what was measured, and tell the callbacks."""
        self._known.file(evaluation)
        if self._known.best is not None:
            self.budget.reserved = self.problem.seconds_after(self._known.best)
        self.finished_at.append(self.budget.elapsed)
        progress = Progress(
            evaluation,
            self._known.best,
            len(self.history),
            self._known.feasible,
            self.finished_at[-1],
            self.iterate,
            self._known.looks,
        )
        for callback in self.callbacks:
            callback(progress)


def _measured(outcome: Outcome) -> Measurement | None:
    """Return what the guarded measure has sent: a measurement, or a text that says what is wrong."""
    value = outcome.value
    if outcome.status != "ok":
        return None
    if isinstance(value, str):
        raise MeasurementError(value)
    if isinstance(value, dict) and not isinstance(value.get("metrics"), dict):
        value = as_plain(value)  # from the outbox of a run of before
    return Measurement.from_plain(value)

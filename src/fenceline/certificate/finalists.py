"""After the search: the best candidates fitted on all its rows, and measured on rows it never saw."""

import contextlib
import math
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import NormalDist

from fenceline.certificate.candidates import ROOM, Growth, shortlist
from fenceline.certificate.certify import TOO_FEW_ROWS, VERDICTS, Certificate, certify, uncertified
from fenceline.errors import MeasurementError
from fenceline.metrics.trial import Rows, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.ensemble import Candidate, assemble
from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluation, Problem
from fenceline.result.result import Result
from fenceline.threads import one_thread

CANDIDATES = len(ROOM)
"""How many may be tried on the rows kept from the search."""
GRACE_SECONDS = 5.0
"""How long after the budget a second candidate may still be fitted, and errors estimated with full care.

The first candidate may take what it takes."""


@dataclass(frozen=True)
class Finalist:
    """A candidate, fitted and measured on unseen rows."""

    candidate: Candidate
    trial: Trial
    certificate: Certificate | None

    @property
    def rank(self) -> int:
        """0 if nothing better can be wished for."""
        return 0 if self.certificate is None else VERDICTS.index(self.certificate.status)

    @property
    def safety(self) -> float:
        """How sure it is that the fence holds: by all rows together, and by the unseen ones alone.

        The smaller counts, for the rows of the search flatter what they chose. In standard errors
        at the constraint that is least sure; more than the certificate's confidence asks for
        count as no more.
        """
        if self.certificate is None or not self.certificate.rows:
            return 0.0
        share = self.certificate.rows / len(self.trial.table.y)
        rooms = [NormalDist().inv_cdf(self.certificate.confidence)]
        for check in self.certificate.checks:
            unseen = check.constraint.room(check.value)
            searched = check.constraint.room(self.candidate.metrics[check.constraint.metric])
            room = min(unseen, share * unseen + (1 - share) * searched)
            error = check.reach / self.certificate.reach * math.sqrt(share)
            rooms.append(room / error if error else math.copysign(math.inf, room))
        return min(rooms)


@dataclass(frozen=True)
class Refit:
    """Turns what a search found into a model.

    Parameters
    ----------
    problem : Problem
        The objective and the fence.
    measure : CrossValidation
        On the whole table.
    search, unseen : array of int
        The rows to fit on, and those to certify on; there may be none of the latter.
    confidence : float
        Of the certificate.
    deadline : float
        Of :func:`time.monotonic`, when the budget ends.
    """

    problem: Problem
    measure: CrossValidation
    search: Rows
    unseen: Rows
    confidence: float
    deadline: float

    def candidates(
        self, result: Result, searched: CrossValidation, votes: int
    ) -> tuple[Result, list[Candidate]]:
        """Return what to try first, and the result if it has become another.

        Parameters
        ----------
        result : Result
            Of the search. If time was too short to measure anything, the first pipeline of the
            space is fitted, so that there is a model, and the result then holds it.
        searched : CrossValidation
            What measured it.
        votes : int
            How many votes several pipelines together may have; 0 for none.
        """
        if result.ended == "seconds" and not any(e.ok for e in result.full):
            evaluation, first = self.first()
            alone = replace(
                result,
                evaluations=(evaluation,),
                finished_at=(result.seconds + evaluation.seconds,),
                suggest_seconds=(0.0,),
            )
            return alone, [first] if evaluation.ok else []
        if result.best is None:
            nearest = result.nearest_miss
            return result, [] if nearest is None else [Candidate.alone(nearest)]
        feasible = _feasible(result)
        candidates = [Candidate.alone(feasible[0])]
        if votes and result.ended != "interrupted":
            with contextlib.suppress(
                KeyboardInterrupt
            ):  # what the search found is there without it
                voters = assemble(self.problem, searched, feasible, votes, self.deadline)
                if voters is not None:
                    candidates.insert(0, voters)
        return result, candidates

    def following(self, result: Result, growth: Growth) -> list[Candidate]:
        """Return what to try when the best is not certified: those with room to spare."""
        chosen = shortlist(
            _feasible(result),
            self.problem,
            self.measure.metrics,
            rows=(self.search.size, self.unseen.size),
            confidence=self.confidence,
            worst=self._simple(result),
            growth=growth,
        )
        return [Candidate.alone(evaluation) for evaluation in chosen[1:]]

    def best(
        self,
        candidates: Sequence[Candidate],
        following: Callable[[Growth], Sequence[Candidate]] = lambda growth: (),
    ) -> Finalist:
        """Fit one candidate after the other until unseen rows certify one, and return the best.

        One that cannot be fitted makes room for the next. So does one that is not certified, as
        long as there is time. If none is, then of those with the best verdict the first that is
        safe enough, or the safest: a fence is stated in order to hold. Ctrl-C returns the best so far.

        Parameters
        ----------
        candidates : sequence of Candidate
            The first to be tried.
        following : callable
            Returns the others, when it is known how the first have grown; the last are the safest.
        """
        tried: list[Finalist] = []
        failures: list[str] = []

        def line() -> Iterator[Candidate]:
            yield from candidates
            yield from following(self._growth(tried))[len(candidates) - CANDIDATES :]

        try:
            for candidate in islice(line(), CANDIDATES):
                if tried and time.monotonic() + candidate.seconds > self.deadline + GRACE_SECONDS:
                    break
                with warnings.catch_warnings(), one_thread(None):
                    warnings.simplefilter("ignore")  # counted when the candidate was measured
                    try:
                        trial = candidate.fit(self.measure, self.search, self.unseen)
                    except Exception as problem:
                        failures.append(traceback.format_exception_only(problem)[-1].strip())
                        continue
                    unchecked = self._unchecked(candidate, "interrupted before it was measured")
                    tried.append(Finalist(candidate, trial, unchecked))
                    tried[-1] = Finalist(candidate, trial, self._certificate(candidate, trial))
                if tried[-1].rank == 0 or not self.unseen.size:
                    break
        except KeyboardInterrupt:
            if not tried:
                raise
        if not tried:
            raise MeasurementError(
                "The best pipelines failed when they were fitted on all rows of the search: "
                f"{'; '.join(failures)}. Drop such algorithms from the space."
            )
        return min(tried, key=lambda finalist: (finalist.rank, -finalist.safety))

    def first(self) -> tuple[Evaluation, Candidate]:
        """Measure the first pipeline of the space with a single fit, for want of time.

        It was chosen without looking at any data, so unseen rows certify it as well as any other.
        """
        configuration = self._simplest
        train, valid = self.search, self.unseen
        if not valid.size:
            train, valid = self.measure.splits[0]
        start = time.monotonic()
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            try:
                trial = self.measure.trial(configuration, train, valid)
                values = {name: m.value(trial) for name, m in self.measure.metrics.items()}
                metrics = self.problem.check(values | {"folds": 1.0})
            except Exception as problem:
                message = traceback.format_exception_only(problem)[-1].strip()
                failed = Evaluation(
                    configuration, {}, float("inf"), float("inf"), "error", message=message
                )
                return failed, Candidate((configuration,), {}, 0.0)
        seconds = time.monotonic() - start
        evaluation = Evaluation(
            configuration,
            metrics,
            metrics[self.problem.objective],
            self.problem.violation(metrics),
            seconds=seconds,
        )
        # Fitted on a part of the rows only: better to fit again if that is a matter of moments.
        again = train is not self.search and 2 * seconds < GRACE_SECONDS
        return evaluation, Candidate(
            (configuration,), metrics, seconds, trial=None if again else trial
        )

    def _growth(self, tried: Sequence[Finalist]) -> Growth:
        """Return how many times what it needed in the folds a pipeline may need now."""
        growth: dict[str, float] = {}
        for finalist in tried:
            for check in finalist.certificate.checks if finalist.certificate else ():
                name = check.constraint.metric
                before = finalist.candidate.metrics[name]
                if self.measure.metrics[name].resource and before > 0:
                    growth[name] = max(growth.get(name, 1.0), check.value / before)
        return growth

    @property
    def _simplest(self) -> Configuration:
        """The pipeline that every search begins with."""
        return self.problem.space.initial

    def _simple(self, result: Result) -> float:
        """Return the objective of the simplest pipeline: what is worse than it is no use to anybody."""
        found = [e.objective for e in result.full if e.configuration == self._simplest]
        return found[0] if found else math.inf

    def _certificate(self, candidate: Candidate, trial: Trial) -> Certificate | None:
        if not self.problem.constraints:
            return None
        if not self.unseen.size:
            return self._unchecked(candidate, TOO_FEW_ROWS)
        try:
            return certify(
                trial,
                self.problem.constraints,
                self.measure.metrics,
                confidence=self.confidence,
                candidates=CANDIDATES,
                random_state=self.measure.random_state,
                until=self.deadline + GRACE_SECONDS,
            )
        except Exception as problem:
            # A metric may not be defined on few rows, for want of a group, say.
            reason = traceback.format_exception_only(problem)[-1].strip()
            return self._unchecked(candidate, f"unseen rows could not be measured ({reason})")

    def _unchecked(self, candidate: Candidate, reason: str) -> Certificate | None:
        if not self.problem.constraints:
            return None
        return uncertified(self.problem.constraints, candidate.metrics, reason)


def _feasible(result: Result) -> list[Evaluation]:
    """Return the pipelines inside the fence, the best first."""
    return sorted((e for e in result.evaluations if e.feasible), key=lambda e: e.objective)

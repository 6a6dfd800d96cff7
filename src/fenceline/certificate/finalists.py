"""After the search: which candidates are fitted and tested, and which of them becomes the model."""

import contextlib
import math
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Literal, TypeAlias

from fenceline.certificate.controls import error_left
from fenceline.certificate.refits import GRACE_SECONDS, Finalist, Fitted, Refits
from fenceline.certificate.selection import LOOKS, Selection
from fenceline.certificate.sequence import Option
from fenceline.certificate.terms import Terms
from fenceline.certificate.usefulness import dummy_objective, useful
from fenceline.errors import MeasurementError
from fenceline.evaluation import Outcome
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.ensemble import Candidate, assemble
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem
from fenceline.result.result import Result
from fenceline.threads import one_thread

SPARE = 0.6
"""Standard errors on unseen rows, beyond the reach of a test, that a search leaves."""
Preference: TypeAlias = Literal["certainty", "objective"]
"""The best that can be certified, or the best by the folds with its honest verdict."""


@dataclass(frozen=True)
class Delivery:
    """Turns what a search found into a model.

    Parameters
    ----------
    terms : Terms
        The fence, the rows, the risk, the time.
    prefer : {"certainty", "objective"}
        What is delivered where the best by the folds is not the best that is certified.
    """

    terms: Terms
    prefer: Preference = "certainty"

    def candidates(
        self, result: Result, searched: CrossValidation, votes: int
    ) -> tuple[Result, list[Candidate]]:
        """Return the best by the folds, and the result if it has become another.

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
        candidates = [Candidate.alone(evaluation) for evaluation in feasible]
        if votes and result.ended != "interrupted":
            with contextlib.suppress(
                KeyboardInterrupt
            ):  # what the search found is there without it
                voters = assemble(
                    self.terms.problem, searched, feasible, votes, self.terms.deadline
                )
                if voters is not None:
                    candidates.insert(0, voters)
        return result, candidates

    def useful(self, candidates: Sequence[Candidate], searched: CrossValidation) -> list[Option]:
        """Return the candidates inside the fence that are worth certifying, at every threshold.

        Parameters
        ----------
        candidates : sequence of Candidate
            As the folds of the search measured them.
        searched : CrossValidation
            Those folds, by which a dummy is measured, too.
        """
        inside = [option for option in self._selection.options(candidates, {}) if option.room >= 0]
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            return useful(inside, self.terms.problem, dummy_objective(searched, self.terms.problem))

    def best(self, candidates: Sequence[Candidate], inside: Sequence[Option] = ()) -> "Delivered":
        """Test candidates from safe to bold, and return the best that passed.

        One that cannot be fitted makes room for the next. If none passes, then of those with the
        best verdict the one with the best prospect. Ctrl-C returns the best so far.

        Parameters
        ----------
        candidates : sequence of Candidate
            The best first; where there is nothing to certify, the first that can be fitted is the
            model.
        inside : sequence of Option
            What may be tested.
        """
        refits = Refits(self.terms)
        try:
            if not inside or not self.terms.unseen.size:
                plain = [_plain(c, self.terms.problem) for c in candidates[:LOOKS]]
                self._selection.first_of(refits, plain)
            elif self.prefer == "objective":
                self._selection.first_of(refits, sorted(inside, key=lambda o: o.worth))
            elif self.terms.joint:
                self._selection.together(refits, inside)
            else:
                self._selection.from_safe_to_bold(refits, candidates, inside)
        except KeyboardInterrupt:
            if not refits.tried:
                raise
        if not refits.tried:
            raise MeasurementError(
                "The best pipelines failed when they were fitted on all rows of the search: "
                f"{'; '.join(refits.failures)}. Drop such algorithms from the space."
            )
        certified = [fitted for fitted in refits.tried if fitted.stands]
        best = min(certified, key=lambda f: f.option.worth, default=None)
        best = best or min(refits.tried, key=_without_certificate)
        return Delivered(best, tuple(map(refits.finalist, _worth_telling(refits.tried))))

    def first(self) -> tuple[Evaluation, Candidate]:
        """Measure the first pipeline of the space with a single fit, for want of time.

        It was chosen without looking at any data, so unseen rows certify it as well as any other.
        """
        configuration = self._simplest
        train, valid = self.terms.search, self.terms.unseen
        if not valid.size:
            train, valid = self.terms.measure.splits[0]
        start = time.monotonic()
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            try:
                trial = self.terms.measure.trial(configuration, train, valid)
                values = {name: m.value(trial) for name, m in self.terms.measure.metrics.items()}
                seconds = time.monotonic() - start
                evaluation = self.terms.problem.evaluation(
                    configuration, Outcome("ok", seconds=seconds), values | {"folds": 1.0}
                )
            except Exception as problem:
                message = traceback.format_exception_only(problem)[-1].strip()
                failed = self.terms.problem.evaluation(
                    configuration, Outcome("error", message=message)
                )
                return failed, Candidate((configuration,), {}, 0.0)
        # Fitted on a part of the rows only: better to fit again if that is a matter of moments.
        again = train is not self.terms.search and 2 * seconds < GRACE_SECONDS
        return evaluation, replace(Candidate.alone(evaluation), trial=None if again else trial)

    @cached_property
    def _selection(self) -> Selection:
        return Selection(self.terms)

    @property
    def _simplest(self) -> Configuration:
        """The pipeline that every search begins with."""
        return self.terms.problem.space.initial


@dataclass(frozen=True)
class Delivered:
    """The model, and all that were fitted to find it."""

    best: Fitted
    finalists: tuple[Finalist, ...]


def search_room(terms: Terms) -> float | None:
    """Return the standard errors of the folds that a search has to keep from a bound for a certificate.

    As far as a test reaches, and a little more: then seven in ten pass. None if there is nothing to
    certify, or nothing to certify it on.
    """
    search, unseen = terms.search.size, terms.unseen.size
    if not unseen or not terms.problem.constraints:
        return None
    reach = NormalDist().inv_cdf(1 - terms.risk)
    left = error_left(search, unseen) if terms.controlled else 1.0
    return left * (reach + SPARE) * math.sqrt(search / unseen)


def _plain(candidate: Candidate, problem: Problem) -> Option:
    """Return a candidate as it is, where there is nothing to certify."""
    return Option(candidate, candidate.metrics[problem.objective], 0.0, candidate.metrics)


def _feasible(result: Result) -> list[Evaluation]:
    """Return the pipelines inside the fence that were measured on all rows, the best first."""
    return sorted((e for e in result.full if e.feasible), key=lambda e: e.objective)


def _worth_telling(tried: Sequence[Fitted]) -> list[Fitted]:
    """Return what was tried, without thresholds that passed where a bolder one of the same pipeline passed next."""
    followed = zip(tried, [*tried[1:], None], strict=True)
    return [
        one
        for one, after in followed
        if after is None or one.rank or after.rank or one.option.pipeline != after.option.pipeline
    ]


def _without_certificate(fitted: Fitted) -> tuple[bool, int, float]:
    """Return by what to choose where nothing is certified; smaller is better."""
    return fitted.faded, fitted.rank, -fitted.prospect

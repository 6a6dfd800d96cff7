"""Candidates fitted on all rows of the search, each once, and measured on rows that it never saw."""

import math
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from types import MappingProxyType

from scipy import stats

from fenceline.certificate.bounds import LATENCY_FREEDOM
from fenceline.certificate.certify import (
    TOO_FEW_ROWS,
    VERDICTS,
    Certificate,
    Verdict,
    certify,
    uncertified,
)
from fenceline.certificate.controls import Controls
from fenceline.certificate.sequence import Option
from fenceline.certificate.terms import Terms
from fenceline.certificate.usefulness import KEPT
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.scores import score
from fenceline.metrics.trial import Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.ensemble import Candidate, Members, decide
from fenceline.pipelines.fitting.thresholds import choosing, threshold_of, written_threshold
from fenceline.pipelines.fold_readings import THRESHOLD
from fenceline.pipelines.threshold_curve import BALANCE
from fenceline.problem.configuration import Configuration
from fenceline.threads import one_thread

GRACE_SECONDS = 5.0
"""How long after the budget a second candidate may still be fitted, and errors estimated with full care.

The first candidate may take what it takes."""
OUTGROWN = "fitted on all rows of the search it needs more than its bound allows, or may do so"
_INTERRUPTED = "interrupted before it was measured"


@dataclass(frozen=True, slots=True)
class Finalist:
    """A pipeline that was fitted on all rows of the search, and what unseen rows say about it."""

    configuration: Configuration | Members
    """Its place in the space; for a voter a tuple, each member as often as it has votes."""
    threshold: float | None
    """The log-odds at which it decides, where they were computed; their mean, if groups have their own."""
    objective: float
    """By the folds."""
    unseen: float
    """The objective on unseen rows; NaN where it is not known."""
    verdict: Verdict
    """Of the certificate."""
    likely: bool = True
    """Whether it has probabilities; else the threshold is a decision value."""

    @property
    def decides_at(self) -> str:
        """Where it decides between two classes, in words; empty where that was not computed."""
        return "" if self.threshold is None else written_threshold(self.threshold, self.likely)


@dataclass(frozen=True)
class Fitted:
    """An option, fitted and measured on unseen rows."""

    option: Option
    trial: Trial
    certificate: Certificate | None
    unseen: float = math.nan
    """What decided for it by the folds, its objective or its merit, on unseen rows; NaN where it is not known."""

    @property
    def faded(self) -> bool:
        """Whether most of what it gained by the folds is not there on unseen rows.

        The scores of a model that is fitted on all rows may lie elsewhere: one with a balanced
        accuracy of 0.63 by the folds chose nearly everybody, and had 0.50.
        """
        lost = self.unseen - (self.option.merit or self.option.objective)
        return lost > (1 - KEPT) * self.option.gain > 0

    @property
    def stands(self) -> bool:
        """Whether it passed its test, and is still worth what it seemed to be."""
        return self.rank == 0 and not self.faded

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
            searched = check.constraint.room(self.option.metrics[check.constraint.metric])
            room = min(unseen, share * unseen + (1 - share) * searched)
            error = check.reach / self.certificate.reach * math.sqrt(share)
            rooms.append(room / error if error else math.copysign(math.inf, room))
        return min(rooms)

    @property
    def prospect(self) -> float:
        """What is to be gained with one that is not certified: its gain, times the chance that the fence holds, squared.

        A fence is stated in order to hold, so the chance counts twice; but a model that is next to
        worthless is not worth a few more points of it.
        """
        return self.option.gain * NormalDist().cdf(self.safety) ** 2


@dataclass
class Refits:
    """Fits options and measures them, as long as there is time.

    Parameters
    ----------
    terms : Terms
        The fence, the rows, the risk, the time.
    planned : int
        How many options may be tested.
    """

    terms: Terms
    planned: int = 1
    tried: list[Fitted] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    growth: dict[str, float] = field(default_factory=dict)
    """How many times what it needed in the folds a pipeline needed on all rows, by resource."""
    outgrown: bool = False
    """Whether the last that was tested may be beyond a bound on time, size or memory, now that it is fitted on all rows."""
    _trials: dict[Members, Trial | None] = field(default_factory=dict)

    def certified(self, option: Option) -> bool | None:
        """Test an option; None if that is not possible, or if it has outgrown a bound on its size.

        What a pipeline needs is read once to see whether it has outgrown its bound, and once more
        for the test, so that the test is that of one reading.
        """
        trial = self.fitted(option)
        if trial is None:
            return None
        option = _as_it_decides(option, trial)
        self.tried.append(Fitted(option, trial, self._unchecked(option, _INTERRUPTED)))
        reach = float(stats.t.ppf(1 - self.terms.risk, LATENCY_FREEDOM))
        needs = self._needs(trial, reach if self.terms.unseen.size else 0.0)
        self.outgrown = self._outgrown(option, needs)
        certificate = self._certificate(option, trial, needs)
        if self.outgrown and certificate is not None:
            certificate = replace(certificate, reason=certificate.reason or OUTGROWN)
        self.tried[-1] = Fitted(option, trial, certificate, self._decisive(option, trial))
        return None if self.outgrown else self.tried[-1].rank == 0

    def look(self, option: Option, reason: str) -> None:
        """Measure an option whose turn to be tested has not come, or will not come."""
        trial = self.fitted(option)
        if trial is not None:
            option = _as_it_decides(option, trial)
            needs = {} if self.terms.unseen.size else self._needs(trial)
            found = self._certificate(option, trial, needs)
            if found is not None:
                found = replace(found, reason=found.reason or reason)
            self.tried.append(Fitted(option, trial, found, self._decisive(option, trial)))

    def fitted(self, option: Option) -> Trial | None:
        """Fit an option, or decide anew with a pipeline that is fitted; None if it fails or time is short.

        Where unseen rows are like those of the search, the fit decides where it chooses the share of rows
        that the folds chose, not at their threshold: scores of another fit lie elsewhere. At the
        threshold of the folds, rates on unseen rows lay 1.3 to 5.2 standard errors from what the folds
        had said, at their share .4 to 1.6 (docs/decisions/0026). Labels of unseen rows have no part in it.
        """
        if option.pipeline not in self._trials:
            seconds = seconds_of_fit(option.candidate, self.terms.measure)
            late = time.monotonic() + seconds > self.terms.deadline + GRACE_SECONDS
            if late and any(trial is not None for trial in self._trials.values()):
                return None
            with warnings.catch_warnings(), one_thread(None):
                warnings.simplefilter("ignore")  # counted when the candidate was measured
                try:
                    candidate = option.candidate
                    if (
                        option.log_odds is not None
                    ):  # decided below, at one threshold after the other
                        bare = {n: v for n, v in candidate.metrics.items() if n != THRESHOLD}
                        candidate = replace(candidate, metrics=bare, details={})
                    fitted = candidate.fit(self.terms.measure, self.terms.search, self.terms.unseen)
                except Exception as problem:
                    self.failures.append(traceback.format_exception_only(problem)[-1].strip())
                    fitted = None
            self._trials[option.pipeline] = fitted
        trial = self._trials[option.pipeline]
        if trial is None or option.log_odds is None:
            return trial
        place = self._place(option, trial)
        return decide(trial, option.log_odds if place is None else place, self.terms.measure)

    def _place(self, option: Option, trial: Trial) -> float | None:
        """Return where a fit chooses the share of an option; None where the threshold of the folds has to do."""
        if option.selected is None or not self.terms.alike or not len(trial.rows):
            return None
        try:
            with warnings.catch_warnings(), one_thread(None):
                warnings.simplefilter("ignore")
                return choosing(trial, option.selected)
        except Exception:
            return None  # the certificate will say what it cannot do with these rows

    def failed(self, option: Option) -> bool:
        """Tell whether the pipeline could not be fitted on all rows of the search."""
        return option.pipeline in self._trials and self._trials[option.pipeline] is None

    def finalist(self, fitted: Fitted) -> Finalist:
        """Return the record of one that was tried."""
        members = fitted.option.pipeline
        value = _value(self.terms.measure.metrics[self.terms.problem.objective], fitted.trial)
        return Finalist(
            members[0] if len(set(members)) == 1 else members,
            fitted.option.metrics.get(THRESHOLD),
            fitted.option.objective,
            value,
            "feasible" if fitted.certificate is None else fitted.certificate.status,
            hasattr(fitted.trial.pipeline, "predict_proba"),
        )

    def _decisive(self, option: Option, trial: Trial) -> float:
        """Return on unseen rows what decided for an option by the folds."""
        if option.merit:
            return 1.0 - _value(score(BALANCE), trial)
        return _value(self.terms.measure.metrics[self.terms.problem.objective], trial)

    def _outgrown(self, option: Option, needs: Mapping[str, float]) -> bool:
        """Tell whether what the pipeline needs now is beyond a bound."""
        beyond = False
        for constraint in self.terms.problem.constraints:
            name = constraint.metric
            if name in needs:
                now, before = needs[name], option.metrics[name]
                beyond |= not constraint.holds(now)
                if before > 0:
                    self.growth[name] = max(self.growth.get(name, 1.0), now / before)
        return beyond

    def _needs(self, trial: Trial, reach: float = 0.0) -> dict[str, float]:
        """Return what a pipeline needs, as far as it is bounded: whatever one fit tells without a label.

        Some errors of the clock above what was read, so that a test is not begun that the clock would
        fail: a failure ends all tests, and no label told so.
        """
        if not len(trial.rows):  # No label counts here, so rows that were seen will do.
            trial = Trial(trial.pipeline, trial.table, self.terms.search, trial.train_seconds)
        bounded = {
            c.metric: self.terms.measure.metrics[c.metric] for c in self.terms.problem.constraints
        }
        readings = {name: m.read(trial) for name, m in bounded.items() if m.resource}
        return {
            name: bounded[name].combine(read.parts) + (reach * read.error if read.error > 0 else 0)
            for name, read in readings.items()
        }

    def _certificate(
        self, option: Option, trial: Trial, needs: Mapping[str, float]
    ) -> Certificate | None:
        if not self.terms.problem.constraints:
            return None
        if not self.terms.unseen.size:
            return self._unchecked(option, TOO_FEW_ROWS, needs)
        try:
            with warnings.catch_warnings(), one_thread(None):
                warnings.simplefilter("ignore")
                return certify(
                    trial,
                    self.terms.problem.constraints,
                    self.terms.measure.metrics,
                    confidence=self.terms.confidence,
                    candidates=self.planned,
                    joint=self.terms.joint,
                    random_state=self.terms.measure.random_state,
                    until=self.terms.deadline + GRACE_SECONDS,
                    controls=self.controls,
                )
        except Exception as problem:
            # A metric may not be defined on few rows, for want of a group, say.
            reason = traceback.format_exception_only(problem)[-1].strip()
            return self._unchecked(option, f"unseen rows could not be measured ({reason})")

    @cached_property
    def controls(self) -> Controls | None:
        """What tells how lucky the unseen rows are; None where they are other rows, or tell of no rate or AUROC."""
        terms = self.terms
        if not terms.controlled:
            return None
        try:
            return Controls.fit(terms.measure, terms.search, terms.unseen, terms.deadline)
        except Exception:
            return None  # what no control can learn from is certified without

    def _unchecked(
        self, option: Option, reason: str, needs: Mapping[str, float] = MappingProxyType({})
    ) -> Certificate | None:
        """Return what the folds say, and what the pipeline needs now where that was read."""
        if not self.terms.problem.constraints:
            return None
        return uncertified(self.terms.problem.constraints, {**option.metrics, **needs}, reason)


def _as_it_decides(option: Option, trial: Trial) -> Option:
    """Return an option with the threshold of its fit, where that was placed by its share."""
    log_odds = None if option.selected is None else threshold_of(trial.pipeline)
    if log_odds is None or math.isclose(log_odds, option.metrics[THRESHOLD], rel_tol=1e-6):
        return option
    return replace(option, metrics={**option.metrics, THRESHOLD: log_odds})


def _value(metric: PipelineMetric, trial: Trial) -> float:
    """Return a metric of a trial; NaN where there are no rows, or where it is not defined on those there are."""
    if not len(trial.rows):
        return math.nan
    try:
        return metric.value(trial)
    except Exception:
        return math.nan


def seconds_of_fit(candidate: Candidate, measure: CrossValidation) -> float:
    """Return how long one fit on all rows of the search is likely to take, by what the folds took."""
    if candidate.trial is not None:
        return 0.0
    return measure.seconds_of_fit(candidate.seconds, candidate.folds)

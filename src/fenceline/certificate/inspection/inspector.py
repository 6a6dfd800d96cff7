"""From the delivered model to the record of what it does, within a share of the budget.

Nothing here can cost the model: a part that fails, or for which there is no time, is left out, and
the record says why.
"""

import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from fenceline.certificate.bounds import interval
from fenceline.certificate.finalists import Delivered
from fenceline.certificate.inspection import decisions
from fenceline.certificate.inspection.groups import by_group
from fenceline.certificate.inspection.importance import importance
from fenceline.certificate.inspection.numbers import against_true
from fenceline.certificate.inspection.record import (
    FORMAT,
    Basis,
    Inspection,
    Objective,
    finite,
    short,
)
from fenceline.certificate.refits import seconds_of_fit
from fenceline.certificate.terms import Terms
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.scores import Loss, loss
from fenceline.metrics.scoring import scored
from fenceline.metrics.trial import Trial
from fenceline.problem.objective import NamedScore, named
from fenceline.threads import one_thread

SHARE = 0.03
"""How much of a budget in seconds an inspection may take ..."""
MOST_SECONDS = 10.0
"""... and never more than this: eight shuffles of fifty columns took 4 s with a booster on 2,000 rows."""
UNCLOCKED_SECONDS = 1.0
"""What it may take where the budget is in evaluations."""
INTERVAL_SHARE = 0.3
"""How much of that time the interval of the objective may take, where rows have to be drawn for it."""
SCORES = {
    "binary": ("roc_auc", "average_precision", "accuracy", "balanced_accuracy", "precision", "recall", "f1"),
    "multiclass": ("accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"),
    "regression": ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"),
}  # fmt: skip
"""What readers look for first, whatever the objective is."""
_STEADY = {"binary": "balanced_accuracy", "multiclass": "balanced_accuracy", "regression": "r2"}
"""What shuffled columns are judged by where the objective is a time or a size."""
_LONGEST_REASON = 200

Part = TypeVar("Part")


def allowance(seconds: float | None) -> float:
    """Return how many seconds of a budget an inspection may take."""
    return UNCLOCKED_SECONDS if seconds is None else min(SHARE * seconds, MOST_SECONDS)


def inspect(delivered: Delivered, terms: Terms, allowed: float) -> Inspection | None:
    """Ask the delivered model about rows it has not seen; None if there are none and no time to make some.

    Without rows kept from the search, the same pipeline is fitted once more without one fold, if
    that takes less than the inspection may.

    Parameters
    ----------
    delivered : Delivered
        The model, and how it was measured.
    terms : Terms
        The table, its rows, the fence.
    allowed : float
        Seconds that it may take; see :func:`allowance`.
    """
    start = time.monotonic()
    with warnings.catch_warnings(), one_thread(None):
        warnings.simplefilter("ignore")  # counted when the pipeline was measured
        try:
            found = _trial(delivered, terms, allowed)
        except Exception:
            return None
        if found is None:
            return None
        return _Inspector(*found, delivered, terms, start, allowed).record()


def _trial(delivered: Delivered, terms: Terms, allowed: float) -> tuple[Trial, Basis] | None:
    trial, candidate = delivered.best.trial, delivered.best.option.candidate
    if len(trial.rows):
        return trial, "unseen" if terms.unseen.size else "fold"
    if seconds_of_fit(candidate, terms.measure) > allowed:
        return None
    train, valid = terms.measure.splits[0]
    return candidate.fit(terms.measure, train, valid), "fold"


class _Inspector:
    """One model, asked part by part."""

    def __init__(
        self,
        trial: Trial,
        basis: Basis,
        delivered: Delivered,
        terms: Terms,
        start: float,
        allowed: float,
    ) -> None:
        self.trial, self.basis = trial, basis
        self.option, self.terms = delivered.best.option, terms
        self.start, self.allowed = start, allowed
        self.missing: dict[str, str] = {}
        self.rng = np.random.default_rng(terms.measure.random_state)

    def record(self) -> Inspection:
        """Return what the model does."""
        trial, confidence = self.trial, self.terms.confidence
        task = trial.table.task
        binary, numbers = task == "binary", task == "regression"
        curve = self.option.candidate.curve
        chosen = self.option.log_odds if isinstance(self.option.log_odds, float) else None
        measured = [self.metric, *self.terms.measure.metrics.values()]
        # What is slow comes last, with the time that is left.
        return {
            "format": FORMAT,
            "basis": self.basis,
            "rows": len(trial.rows),
            "task": task,
            "confidence": confidence,
            "classes": [] if numbers else [str(label) for label in trial.table.classes],
            "scores": self._part("scores", self._scores) or {},
            "threshold": self._part("threshold", lambda: decisions.threshold(trial), binary),
            "confusion": self._part("confusion", lambda: decisions.confusion(trial), not numbers),
            "by_class": self._part(
                "by_class", lambda: decisions.by_class(trial, confidence), not numbers
            ),
            "roc": self._part("roc", lambda: decisions.roc(trial), binary),
            "precision_recall": self._part(
                "precision_recall", lambda: decisions.precision_recall(trial), binary
            ),
            "calibration": self._part(
                "calibration", lambda: decisions.calibration(trial, confidence), not numbers
            ),
            "threshold_metrics": self._part(
                "threshold_metrics",
                lambda: decisions.threshold_metrics(trial, curve, chosen),
                binary,
            ),
            "groups": self._part("groups", lambda: by_group(trial, measured, confidence)),
            "numbers": self._part(
                "numbers", lambda: against_true(trial, confidence, self.rng), numbers
            ),
            "objective": self._part("objective", self._objective),
            "importance": self._part("importance", self._importance),
            "missing": self.missing,
            "allowed": short(self.allowed, 3),
            "seconds": short(time.monotonic() - self.start, 3),
        }

    @property
    def metric(self) -> PipelineMetric:
        """The objective."""
        return self.terms.measure.metrics[self.terms.problem.objective]

    @property
    def score(self) -> NamedScore:
        """The objective as people call it."""
        return named(self.terms.problem.objective)

    def _part(self, name: str, make: Callable[[], Part | None], wanted: bool = True) -> Part | None:
        """Return a part of the record; None, with a reason, if it cannot be made."""
        if not wanted:
            return None
        try:
            return make()
        except KeyboardInterrupt:
            # The model is there; whoever presses Ctrl-C now does not want to wait for more.
            self.missing[name], self.allowed = "interrupted", 0.0
        except Exception as problem:
            reason = traceback.format_exception_only(problem)[-1].strip()
            self.missing[name] = reason[:_LONGEST_REASON]
        return None

    def _objective(self) -> Objective:
        until = self.start + INTERVAL_SHARE * self.allowed
        risk = (1 - self.terms.confidence) / 2
        # In the direction of the search, whatever people call it.
        value, low, high = interval(self.metric, self.trial, risk, self.rng, until)
        score = self.score
        ends = sorted((score.value(low), score.value(high)))
        searched = self.option.metrics[self.terms.problem.objective]
        return {
            "name": score.name,
            "larger_is_better": score.larger_is_better,
            "value": short(score.value(value)),
            "low": finite(ends[0]),
            "high": finite(ends[1]),
            "searched": short(score.value(searched)),
        }

    def _scores(self) -> dict[str, float]:
        found = {}
        for scorer in SCORES[self.trial.table.task]:
            try:
                value = scored(scorer, self.trial)
            except Exception:  # no probabilities, or a single class
                continue
            named_score = named(f"loss({scorer})")
            found[named_score.name] = short(value if named_score.larger_is_better else -value)
        return found

    def _importance(self) -> Any:
        metric, score = self.metric, self.score
        if metric.resource or (isinstance(metric, Loss) and metric.of.resource):
            metric = loss(_STEADY[self.trial.table.task])
            score = named(metric.name)
        until = self.start + self.allowed
        return importance(self.trial, metric, score, self.rng, until)

"""The parts of a metric on the rows of one trial: rates and AUROCs, and how each row moves them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fenceline.certificate.shares import Bounds, exact_rate, on_logit_scale, wilson
from fenceline.metrics.auroc import auroc_moves
from fenceline.metrics.fairness import GroupMetric
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.rates import ErrorRate
from fenceline.metrics.scores import Robustness
from fenceline.metrics.trial import Rows, Trial

SHARES = ("accuracy", "precision", "recall")
"""Scores that are shares of some rows."""
FEWEST = 10
"""Rows of either kind without which it is not known how much of an error a control shares."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A rate, or an AUROC, with the rows that it is about."""

    value: float
    rows: Rows
    """Their positions."""
    moves: NDArray[np.float64]
    """By how much each moves the value; the sum of squares is the variance."""
    rarer: int
    """How many rows the rarer kind has: events or others, positives or negatives."""
    rate: bool
    left: float = 1.0
    """The share of the variance that is left when what a control shares is taken out."""

    @property
    def variance(self) -> float:
        """Of the value."""
        return self.left * float(self.moves @ self.moves)

    def bounds(self, risk: float, gap: bool) -> Bounds:
        """Return the value, and bounds below and above it.

        Exact ends of rates are wider than they need be where two of them meet in a difference. A rate
        that is known better than its rows tell has the bounds of as many rows as would tell as much
        (Korn and Graubard 1998).
        """
        if self.rate:
            cases = self.rows.size / self.left
            return (wilson if gap else exact_rate)(self.value * cases, cases, risk)
        return on_logit_scale(
            self.value, math.sqrt(self.variance), self.rarer, self.rarer - 1, risk
        )

    def less_common(self, seen: Sequence["Part"], searched: Sequence["Part"]) -> "Part":
        """Return the part without the luck that it shares with a control.

        Parameters
        ----------
        seen : sequence of Part
            The same of each of the control's models, on the same unseen rows.
        searched : sequence of Part
            The same of each of them on rows of the search that it was not fitted on.
        """
        known = (self.rarer, sum(p.rarer for p in seen), sum(p.rarer for p in searched))
        if min(known) < FEWEST:
            return self
        models = len(seen)
        moves = np.zeros(1 + max(part.rows.max() for part in (self, *seen)))
        for part in seen:
            moves[part.rows] += part.moves / models
        own = np.zeros_like(moves)
        own[self.rows] = self.moves
        common = float(own @ moves)
        doubt = float(moves @ moves) + sum(p.variance for p in searched) / models**2
        if not common > 0:
            return self
        slope = common / doubt
        luck = float(np.mean([p.value for p in seen]) - np.mean([p.value for p in searched]))
        value = self.value - slope * luck
        if not 0 < value < 1:
            return self
        # As with any regression on few rows, a little less is explained than seems to be.
        left = (1 - slope * common / self.variance) * (self.rarer - 1) / (self.rarer - 2)
        return replace(self, value=value, left=min(1.0, left))


def of_shares(metric: PipelineMetric) -> bool:
    """Tell whether the parts of a metric of two classes are rates, or AUROCs, where rows have no weights."""
    scorer = metric.scored_by
    if scorer is None:
        return isinstance(metric, ErrorRate | GroupMetric)
    return scorer in (*SHARES, "roc_auc") and not isinstance(metric, Robustness)


def parts_of(metric: PipelineMetric, trial: Trial) -> list[Part] | None:
    """Return the parts of a metric if all are plain rates of some rows, or AUROCs; else None."""
    if (cases := metric.cases(trial)) is not None:
        return [_rate(*one) for one in cases] if all(rows.size for rows, _ in cases) else None
    if (ranked := metric.ranked(trial)) is None:
        return None
    values = metric.parts(trial).tolist()
    return [_auroc(trial, value, at) for value, at in zip(values, ranked, strict=True)]


def _rate(rows: Rows, events: NDArray[np.bool_]) -> Part:
    value, count = float(events.mean()), int(events.sum())
    return Part(value, rows, (events - value) / rows.size, min(count, rows.size - count), rate=True)


def _auroc(trial: Trial, value: float, at: Rows) -> Part:
    rarer = int(np.bincount(trial.target[at], minlength=2).min())
    return Part(value, at, auroc_moves(trial, at), rarer, rate=False)

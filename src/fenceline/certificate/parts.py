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
FEWEST = 5
"""Rows of either kind for each control, without which it is not known how much of an error they share."""


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
    """The share of the variance that is left when what controls share is taken out."""

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

    def less_common(self, controls: Sequence["Shared"]) -> "Part":
        """Return the part without the luck that it shares with controls: a regression on what rows do to them.

        Parameters
        ----------
        controls : sequence of Shared
            What each says of the same part; those that come first count where rows are few.
        """
        rarest = min([self.rarer, *(control.rarer for control in controls)])
        told = controls[: rarest // FEWEST]
        if not told:
            return self
        found = _moves([*(control.seen for control in told), [self]])
        seen, own = found[:-1], found[-1]
        searched = _moves([control.searched for control in told])
        # What controls say is known with an error, on unseen and on searched rows.
        doubt = searched @ searched.T
        pulls, *_ = np.linalg.lstsq(seen @ seen.T + doubt, seen)  # of each row on each slope
        slopes = pulls @ own
        value = self.value - float(slopes @ [control.luck for control in told])
        # Each row is judged by what the others say: of few events more seems to be explained than is.
        alone = (own - slopes @ seen) / (1 - np.sum(seen * pulls, axis=0))
        left = float(alone @ alone + slopes @ doubt @ slopes) / self.variance
        return replace(self, value=value, left=left) if 0 < value < 1 and 0 < left < 1 else self


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What the models of a control say of one part of a metric."""

    seen: Sequence[Part]
    """On the unseen rows, by their positions."""
    searched: Sequence[Part]
    """Each on rows of the search that it was not fitted on, by their places in the table."""

    @property
    def luck(self) -> float:
        """By how much the unseen rows flatter the control, or the contrary."""
        seen, searched = ([part.value for part in some] for some in (self.seen, self.searched))
        return float(np.mean(seen) - np.mean(searched))

    @property
    def rarer(self) -> int:
        """How many rows the rarer kind has, by all models together."""
        return min(sum(part.rarer for part in some) for some in (self.seen, self.searched))


def _moves(several: Sequence[Sequence[Part]]) -> NDArray[np.float64]:
    """Return by how much each row moves the mean of several models' values: a line for each set of models."""
    found = np.zeros(
        (len(several), 1 + max(part.rows.max() for parts in several for part in parts))
    )
    for moves, parts in zip(found, several, strict=True):
        for part in parts:
            moves[part.rows] += part.moves / len(parts)
    return found


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

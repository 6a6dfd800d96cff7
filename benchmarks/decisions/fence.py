"""Bounds on metrics of decisions, and what rows say about them: the same arithmetic for every rival."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
CONFIDENT = 1.645
"""Standard errors of a one-sided bound at 95 %."""
BATCH = 1000
"""Rows predicted at once where latency is bounded."""
KINDS = ("fpr", "recall", "dpd", "eod", "latency")
"""False positive rate, recall, difference of selection rates, of equalised odds, microseconds a row."""
COMPARING = ("dpd", "eod")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value and its standard error."""

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Bound:
    """What a metric of decisions may be: recall at least, everything else at most.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    limit : float
        The bound itself.
    """

    kind: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Bound:
        """Read ``dpd=.1``."""
        kind, _, limit = text.partition("=")
        try:
            number = float(limit)
        except ValueError:
            number = math.nan
        if kind not in KINDS or math.isnan(number):
            raise ValueError(
                f"{text!r} is no bound; write one of {', '.join(KINDS)} and a number, as in dpd=.1"
            )
        return cls(kind, number)

    @property
    def sign(self) -> int:
        """1 where small is good."""
        return -1 if self.kind == "recall" else 1

    def excess(self, reading: Reading, errors: float = 0.0) -> float:
        """Return how far a value, made worse by some errors, lies outside; negative is room."""
        return self.sign * (reading.value - self.limit) + errors * reading.error

    def __str__(self) -> str:
        return f"{self.kind} {'>=' if self.sign < 0 else '<='} {self.limit:g}"


def rate(chosen: Flags, rows: Flags) -> Reading:
    """Return the share of rows that are chosen; half a row more or less where it is all or nothing."""
    n = int(rows.sum())
    if n == 0:
        return Reading(0.0, 0.5)
    share = float(chosen[rows].mean())
    inside = min(max(share, 0.5 / n), 1 - 0.5 / n)
    return Reading(share, math.sqrt(inside * (1 - inside) / n))


def read(kind: str, truth: Flags, chosen: Flags, groups: NDArray[Any]) -> Reading:
    """Measure decisions; latency is read elsewhere."""
    if kind == "fpr":
        return rate(chosen, ~truth)
    if kind == "recall":
        return rate(chosen, truth)
    sides = [np.ones(len(truth), dtype=bool)] if kind == "dpd" else [truth, ~truth]
    gaps = []
    for side in sides:
        rates = [rate(chosen, side & (groups == group)) for group in np.unique(groups)]
        high, low = max(rates, key=_value), min(rates, key=_value)
        gaps.append(Reading(high.value - low.value, math.hypot(high.error, low.error)))
    return max(gaps, key=_value)


def score(objective: str, truth: Flags, chosen: Flags) -> float:
    """Return a score of decisions, more is better; precision of no choice at all is 0."""
    return _SCORES[objective](truth, chosen)


def keeps(fence: Sequence[Bound], readings: Mapping[str, Reading], errors: float = 0.0) -> bool:
    """Tell whether every bound holds, with so many errors to spare."""
    return all(bound.excess(readings[bound.kind], errors) <= 0 for bound in fence)


def _value(reading: Reading) -> float:
    return reading.value


def _balanced_accuracy(truth: Flags, chosen: Flags) -> float:
    return float(chosen[truth].mean() + (~chosen)[~truth].mean()) / 2


def _precision(truth: Flags, chosen: Flags) -> float:
    return float(truth[chosen].mean()) if chosen.any() else 0.0


def _accuracy(truth: Flags, chosen: Flags) -> float:
    return float((truth == chosen).mean())


_SCORES: Mapping[str, Callable[[Flags, Flags], float]] = {
    "balanced_accuracy": _balanced_accuracy,
    "precision": _precision,
    "accuracy": _accuracy,
}
OBJECTIVES = tuple(_SCORES)

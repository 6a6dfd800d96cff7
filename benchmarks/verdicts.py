"""Medians over problems, their ratios, and whether they meet what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.counted import Trace

Runs: TypeAlias = Mapping[int, Trace]
"""The runs of one curve, by seed."""

CLOSE = 1e-6
"""Regrets below this, in units of one and the optimum, are not told apart."""


_ENDLESS = 1e300


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked, and what was measured."""

    part: str
    asked: str
    limit: float
    measured: float
    """NaN where nothing was."""
    against: str
    problems: int
    """Seeds that both sides were run on."""

    @property
    def verdict(self) -> str:
        """In a word, computed and never written by hand."""
        if np.isnan(self.measured):
            return "no data"
        return "met" if self.measured <= self.limit else "missed"


@dataclass(frozen=True, slots=True)
class Summary:
    """Median and quartiles over problems; NaN where nothing was run."""

    median: float
    low: float
    high: float
    problems: int


def summary(values: Sequence[float]) -> Summary:
    """Return the quartiles of what is a number; infinite values count as very bad."""
    known = np.sort(np.array([v for v in values if not np.isnan(v)], dtype=np.float64))
    if len(known) == 0:
        return Summary(np.nan, np.nan, np.nan, 0)
    # Quantiles interpolate, which next to an infinity is not a number, even with a weight of 0.
    quartiles = np.quantile(np.minimum(known, _ENDLESS), [0.25, 0.5, 0.75])
    low, median, high = (float(q) if q < _ENDLESS / 4 else np.inf for q in quartiles)
    return Summary(median, low, high, len(known))


def regret(runs: Runs, n: int) -> Summary:
    """Summarise the regret after n evaluations."""
    return summary([trace.regret(n) for trace in runs.values()])


def regret_ratio(ours: Runs, theirs: Runs, n: int, theirs_at: int | None = None) -> Summary:
    """Return the ratio of the median regrets, on the seeds both were run on.

    `median` is the ratio; `low` and `high` are our and their median.
    """
    m = n if theirs_at is None else theirs_at
    seeds = [
        s
        for s in ours
        if s in theirs and not np.isnan(ours[s].regret(n)) and not np.isnan(theirs[s].regret(m))
    ]
    if not seeds:
        return Summary(np.nan, np.nan, np.nan, 0)
    ours_median = summary([ours[s].regret(n) for s in seeds]).median
    theirs_median = summary([theirs[s].regret(m) for s in seeds]).median
    floor = CLOSE * (1.0 + float(np.median([abs(ours[s].optimum) for s in seeds])))
    return Summary(
        quotient(ours_median, theirs_median, floor), ours_median, theirs_median, len(seeds)
    )


def quotient(ours: float, theirs: float, floor: float = 0.0) -> float:
    """Return ours over theirs; 1 where both are below the floor, or both infinite."""
    if np.isnan(ours) or np.isnan(theirs):
        return np.nan
    if ours == theirs or max(ours, theirs) <= floor:
        return 1.0
    return ours / max(theirs, floor) if theirs > 0 or floor > 0 else np.inf


def milliseconds(runs: Runs, n: int) -> tuple[Summary, Summary]:
    """Summarise each run's mean and median time per suggestion around the n-th."""
    windows = [w for w in (trace.around(n) for trace in runs.values()) if len(w)]
    means = summary([1e3 * float(w.mean()) for w in windows])
    return means, summary([1e3 * float(np.median(w)) for w in windows])


def hardest_rival(ours: Runs, rivals: Mapping[str, Runs], n: int) -> tuple[str, Summary]:
    """Return the rival against which our ratio at n is largest: the best of them."""
    ratios = {name: regret_ratio(ours, runs, n) for name, runs in rivals.items()}
    ratios = {name: ratio for name, ratio in ratios.items() if ratio.problems}
    if not ratios:
        return "nobody", Summary(np.nan, np.nan, np.nan, 0)
    name = max(ratios, key=lambda name: ratios[name].median)
    return name, ratios[name]

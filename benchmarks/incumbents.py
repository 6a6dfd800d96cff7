"""Incumbents of runs over time, their quartiles, and how two algorithms compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """The incumbent of one run: one entry per improvement."""

    seconds: Array
    evaluations: Array
    objectives: Array
    total_evaluations: int
    """All that were made, improvements or not."""
    cpu_share: float
    """CPU time over wall time; well below 1, the machine was busy with something else."""

    def at(self, times: Array) -> Array:
        """Return the incumbent at each time; infinite before the first."""
        index = np.searchsorted(self.seconds, times, side="right") - 1
        return np.where(index < 0, np.inf, self.objectives[np.maximum(index, 0)])

    def reached(self, value: float) -> float:
        """Return the time at which the incumbent was first at most `value`; infinite if never."""
        return float(self.seconds[self.objectives <= value].min(initial=np.inf))

    @property
    def final(self) -> float:
        """The best value of the run."""
        return float(self.objectives[-1])


@dataclass(frozen=True, slots=True)
class Comparison:
    """A curve against a rival that had the same time: how much sooner, and how much lower.

    `speedup` is the budget over the time the curve takes to reach the rival's final value, 0 if it
    never does; `improvement` is how far below that value it ends, in per cent. Both are given as the
    median over paired runs, and as read off the two median curves.
    """

    curve: str
    rival: str
    speedup: float
    speedup_of_medians: float
    improvement: float
    improvement_of_medians: float
    evaluations: float
    rival_evaluations: float


Runs: TypeAlias = Mapping[str, Sequence[Trajectory]]
"""Curve -> its trajectories, in the order of the problem seeds."""


def time_grid(seconds: float, *, start: float = 1e-3, points: int = 400) -> Array:
    """Return times from `start` to the budget, equally far apart on a log scale."""
    return np.geomspace(min(start, seconds / 10), seconds, points)


def quartiles(runs: Sequence[Trajectory], times: Array) -> tuple[Array, Array, Array]:
    """Return median, lower and upper quartile of the incumbents; NaN until every run has one."""
    values = np.array([run.at(times) for run in runs])
    values[:, ~np.isfinite(values).all(axis=0)] = np.nan
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    return median, low, high


def compare(name: str, rival: str, runs: Runs, seconds: float) -> Comparison:
    """Set a curve against a rival, seed by seed and median against median."""
    pairs = list(zip(runs[name], runs[rival], strict=True))
    times = time_grid(seconds)
    median, goal = quartiles(runs[name], times)[0], quartiles(runs[rival], times)[0][-1]
    there = times[median <= goal]
    return Comparison(
        name,
        rival,
        speedup=float(np.median([seconds / ours.reached(theirs.final) for ours, theirs in pairs])),
        speedup_of_medians=float(seconds / there.min(initial=np.inf)),
        improvement=float(
            np.median([100 * (1 - ours.final / theirs.final) for ours, theirs in pairs])
        ),
        improvement_of_medians=float(100 * (1 - median[-1] / goal)),
        evaluations=float(np.median([run.total_evaluations for run in runs[name]])),
        rival_evaluations=float(np.median([run.total_evaluations for run in runs[rival]])),
    )


def log_advantage(ours: Sequence[Trajectory], theirs: Sequence[Trajectory], times: Array) -> Array:
    """Return, per seed, how far our incumbent lies below theirs on average over log time.

    In natural logarithms, over those of the times at which both runs have an incumbent: 0.1 says
    that ours was about 10 % lower. The times are meant to be equally far apart on a log scale.
    """
    advantages = []
    for a, b in zip(ours, theirs, strict=True):
        ours_at, theirs_at = a.at(times), b.at(times)
        both = np.isfinite(ours_at) & np.isfinite(theirs_at)
        advantages.append(np.log(theirs_at[both] / ours_at[both]).mean() if both.any() else 0.0)
    return np.array(advantages)

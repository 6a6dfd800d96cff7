"""The decision threshold of a pipeline, computed from its scores on rows that it was not fitted on."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fenceline.metrics.decisions import Floats, Sweep, confusion
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.scores import score
from fenceline.metrics.trial import Trial
from fenceline.pipelines.fitting.thresholds import cut, decided, half_way
from fenceline.pipelines.threshold_curve import BALANCE, ThresholdCurve
from fenceline.problem.constraint import Constraint

_TAIL = np.append([0.001, 0.0025], np.arange(0.005, 0.1, 0.005))
LEVELS = np.concatenate([_TAIL, np.linspace(0.1, 0.9, 65), 1 - _TAIL])
"""Quantiles, within each class, of the scores at which decisions are looked at.

Within each class, because with one positive in twenty rows the quantiles of all rows would hardly tell
one share of positives found from the next; closer in the tails, because bounds on error rates are small:
with 0.0125 from one to the next, a bound of 0.05 on false positives had steps of two standard errors."""
FEW = 17
"""How many thresholds are looked at where a user's function has to be called for each of them."""
CHANCE = 0.95
"""Folds that differ more than rates of that many rows do in this share of cases are believed."""


class ThresholdSweep:
    """Decisions of one pipeline at many thresholds, fold by fold.

    The scores of the first fold fix the thresholds; so every fold is looked at once, while its
    pipeline is in memory, and a measurement that ends early knows the curve of its folds.

    Parameters
    ----------
    metrics : mapping of str to PipelineMetric
        All that is measured; those that depend on decisions are swept.
    objective : str
        What chooses the threshold, if it depends on decisions; else the balanced accuracy does.
    constraints : sequence of Constraint
        Inside which it does so.
    """

    def __init__(
        self,
        metrics: Mapping[str, PipelineMetric],
        objective: str,
        constraints: Sequence[Constraint],
    ) -> None:
        self.metrics = {name: m for name, m in metrics.items() if m.decides}
        if objective not in self.metrics:
            self.metrics.setdefault(BALANCE, score(BALANCE))
        self.objective = objective
        self.constraints = constraints
        self.log_odds: Floats = np.empty(0)
        self._constant: set[str] = set()
        self._sweeps: list[dict[str, Sweep]] = []
        self._selected: list[Floats] = []
        self._curve: ThresholdCurve | None = None

    def add(self, trial: Trial) -> None:
        """Look at one more fold."""
        self._curve = None
        likely = trial.answers.likely
        if not self._sweeps:
            self._settle(trial, likely)
        cuts = cut(self.log_odds, likely)
        self._sweeps.append({n: self._swept(n, m, trial, cuts) for n, m in self.metrics.items()})
        n = confusion(trial, cuts)
        self._selected.append(((n.tp + n.fp) / (n.tp + n.fp + n.tn + n.fn))[:, 0])

    def choose(self, room: float = 0.0) -> int:
        """Return the position of the threshold to choose, by the folds so far; see :meth:`ThresholdCurve.choose`."""
        return self.curve.choose(self.objective, self.constraints, room)

    @property
    def curve(self) -> ThresholdCurve:
        """The metrics over all thresholds, by the folds so far."""
        if self._curve is None:
            self._curve = self._averaged()
        return self._curve

    def _averaged(self) -> ThresholdCurve:
        values, errors = averaged(self.metrics, self._sweeps)
        return ThresholdCurve(self.log_odds, np.mean(self._selected, axis=0), values, errors)

    def readings(self, at: int) -> list[dict[str, Reading]]:
        """Return what a metric reads in each fold at one of the thresholds."""
        return [
            {n: Reading(s.parts[at], variances=s.variances[at]) for n, s in fold.items()}
            for fold in self._sweeps
        ]

    def _settle(self, trial: Trial, likely: bool) -> None:
        """Choose the thresholds, fewer if the metrics are slow to tell about each."""
        assert trial.response is not None
        self.log_odds = grid(trial.response, trial.target, likely)
        slow = [n for n, m in self.metrics.items() if m.sweep(trial, np.zeros(1)) is None]
        ends = self.log_odds[[0, -1]]
        for name in slow:
            # Some functions ask for probabilities alone; everybody and nobody tell.
            found = [self._plainly(name, trial, t) for t in (*ends, 0.0)]
            if all(np.array_equal(parts, found[0]) for parts in found[1:]):
                self._constant.add(name)
        if len(slow) > len(self._constant) and len(self.log_odds) > FEW:
            even = int(np.argmin(np.abs(self.log_odds)))
            steps = np.linspace(0, len(self.log_odds) - 1, FEW - 1).round().astype(int)
            self.log_odds = self.log_odds[np.union1d(steps, [even])]

    def _swept(self, name: str, metric: PipelineMetric, trial: Trial, cuts: Floats) -> Sweep:
        sweep = metric.sweep(trial, cuts)
        if sweep is None:
            asked = [0.0] if name in self._constant else self.log_odds
            found = np.array([self._plainly(name, trial, log_odds) for log_odds in asked])
            parts = np.broadcast_to(found, (len(cuts), found.shape[1]))
            sweep = Sweep(parts, np.full(parts.shape, np.nan))
        if np.isnan(sweep.parts).any(axis=1).all():
            self._plainly(name, trial, 0.0)  # it says what is missing
        return sweep

    def _plainly(self, name: str, trial: Trial, log_odds: float) -> NDArray[np.float64]:
        """Ask a metric as if nothing but this threshold were known."""
        return self.metrics[name].parts(decided(trial, float(log_odds)))


def grid(response: Floats, target: NDArray[Any], likely: bool) -> Floats:
    """Return thresholds between the scores of a fold, and even odds, in growing order.

    Parameters
    ----------
    response, target : array
        Scores of rows, and their classes (0 or 1).
    likely : bool
        Whether scores are probabilities, whose log-odds are returned.
    """
    known = np.unique(response)
    quantiles = np.concatenate(
        [np.quantile(response[target == c], LEVELS, method="nearest") for c in np.unique(target)]
    )
    # Everybody and nobody are among them, to be chosen where nothing else is inside the fence.
    ends = (0.0, 1.0) if likely else (known[0] - 1.0, known[-1] + 1.0)
    known = np.unique([ends[0], *known, ends[1]])
    at = np.unique([1, *np.searchsorted(known, quantiles), len(known) - 1])
    cuts = half_way(known[np.maximum(at - 1, 0)], known[at], likely)
    return np.unique(np.append(cuts, 0.0))


def fold_error(
    metric: PipelineMetric, readings: Sequence[Reading], values: Sequence[float]
) -> float:
    """Return the standard error of a metric that was averaged over folds.

    Three folds tell how much they differ with an error of half of it, by luck far too little. The
    variance of a rate is known from the number of rows, so that is taken, unless the folds differ more than
    such rates do by chance: then something else than the number of rows is at work.

    Parameters
    ----------
    metric : PipelineMetric
        What was read.
    readings : sequence of Reading
        In each fold.
    values : sequence of float
        The same, combined fold by fold.
    """
    folds = len(values)
    spread = float(np.std(values, ddof=1) / math.sqrt(folds)) if folds > 1 else readings[0].error
    known = [r.variances for r in readings if r.variances is not None]
    if len(known) < folds:
        return spread
    parts = np.mean([r.parts for r in readings], axis=0)
    binomial = float(metric.error(parts, np.sum(known, axis=0) / folds**2))
    if math.isnan(binomial):
        return spread
    return spread if folds > 1 and spread > binomial * _by_chance(folds) else binomial


@cache
def _by_chance(folds: int) -> float:
    """Return how many times its error a mean over folds may seem to have, by the luck of few folds."""
    return math.sqrt(stats.chi2.ppf(CHANCE, folds - 1) / (folds - 1))


def averaged(
    metrics: Mapping[str, PipelineMetric], folds: Sequence[Mapping[str, Sweep]]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the value and the error of each metric at every threshold, of all folds together."""
    values, errors = {}, {}
    for name, metric in metrics.items():
        sweeps = [fold[name] for fold in folds]
        parts = np.mean([s.parts for s in sweeps], axis=0)
        values[name] = metric.combine_each(parts)
        errors[name] = _errors(metric, sweeps, parts)
    return values, errors


def _errors(metric: PipelineMetric, sweeps: Sequence[Sweep], parts: Floats) -> Floats:
    """Return the error at every threshold: by the numbers of rows, else by the spread over folds."""
    folds = len(sweeps)
    errors = metric.error(parts, np.sum([s.variances for s in sweeps], axis=0) / folds**2)
    if folds > 1 and np.isnan(errors).all():
        values = [metric.combine_each(s.parts) for s in sweeps]
        errors = np.std(values, axis=0, ddof=1) / math.sqrt(folds)
    return np.asarray(errors)

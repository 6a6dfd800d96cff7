"""What the folds of one measurement show: read one by one, enough at some point, then summed up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fenceline.evaluation.incumbent import BLOCKS, Incumbent
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.trial import Grouping, Trial
from fenceline.pipelines import fold_stopping
from fenceline.pipelines.fitting.thresholds import decided
from fenceline.pipelines.fold_stopping import (
    SURE_ERRORS,
    farther_inside,
    surely_beaten,
    surely_broken,
)
from fenceline.pipelines.group_sweep import GroupSweep
from fenceline.pipelines.threshold_curve import CURVE
from fenceline.pipelines.threshold_sweep import ThresholdSweep, fold_error
from fenceline.problem.constraint import Constraint
from fenceline.problem.measurement import Measurement, Spread

THRESHOLD = "threshold"
"""Where a measurement has its threshold, in log-odds; the mean of its groups' if these have their own."""


STOPPED = "stopped_after"
"""Where a measurement has the trees, on average over the folds, of a model that had fewer than it might."""
BY_GROUP = "group_thresholds"
"""Where the details of a measurement have the log-odds of each group, if every group has its own."""


class FoldReadings:
    """The readings of one pipeline, fold by fold.

    Parameters
    ----------
    metrics : mapping of str to PipelineMetric
        What to read, by name.
    constraints : sequence of Constraint
        What may end a measurement early, and inside which the threshold is chosen.
    objective : str, optional
        By which the decision threshold is chosen; without one, decisions are read as they are.
    by_group : pair of str and tuple, optional
        Name and bins of the groups that have thresholds of their own.
    """

    def __init__(
        self,
        metrics: Mapping[str, PipelineMetric],
        constraints: Sequence[Constraint],
        objective: str | None,
        by_group: Grouping | None = None,
    ) -> None:
        self.metrics = metrics
        self.constraints = constraints
        self._folds: list[dict[str, Reading]] = []
        self._blocks: list[tuple[float, ...]] = []
        self._trees: list[float] = []
        self._sweep: ThresholdSweep | None = None
        if objective is not None and any(m.decides for m in metrics.values()):
            self._sweep = (
                ThresholdSweep(metrics, objective, constraints)
                if by_group is None
                else GroupSweep(metrics, objective, constraints, by_group)
            )

    def read(self, trial: Trial, incumbent: Incumbent | None = None) -> None:
        """Read one more fold; nothing of its pipeline stays in memory for the next.

        Given the incumbent, read its metric in parts of the fold, too, to tell when folds are enough.
        """
        self._trees += [] if trial.trees is None else [trial.trees]
        if self._sweep is not None and trial.response is None:
            self._sweep = None  # decisions are all that the pipeline has to say
        swept = {} if self._sweep is None else self._sweep.metrics
        # Time and size do not depend on the fold: they are read once, of what would be deployed.
        resources = [n for n, m in self.metrics.items() if m.resource and not self._folds]
        whole = trial if self._sweep is None else decided(trial, 0.0)
        found = {name: self.metrics[name].read(whole) for name in resources}
        others = [n for n, m in self.metrics.items() if not m.resource and n not in swept]
        self._folds.append(found | {name: self.metrics[name].read(trial) for name in others})
        if self._sweep is not None:
            self._sweep.add(trial)
        if incumbent is not None and incumbent.objective in others:
            metric = self.metrics[incumbent.objective]
            self._blocks.append(fold_stopping.blocks(metric, trial))

    def enough(self, incumbent: Incumbent | None) -> bool:
        """Tell whether further folds would change nothing."""
        if len(self._folds) == 1 and surely_broken(self.constraints, self.metrics, self._folds[0]):
            return True
        if incumbent is None or self.metrics[incumbent.objective].resource:
            return False
        constraints, folds = self.constraints, self._folds
        if self._sweep is not None:
            # At the best threshold that may yet turn out to be inside: all folds together know better.
            folds = self._all(self._sweep.choose(room=-SURE_ERRORS))
            # How far inside a pipeline keeps by its threshold is for a certificate to choose.
            constraints = [c for c in constraints if c.metric not in self._sweep.metrics]
        return surely_beaten(
            self.metrics[incumbent.objective],
            [fold[incumbent.objective] for fold in folds],
            incumbent,
            self._blocks,
        ) and not farther_inside(constraints, self.metrics, folds, incumbent)

    def summary(self, incumbent: Incumbent | None = None, **more: float) -> Measurement:
        """Return values, errors and values by fold, of all folds together, and further numbers.

        Where there were fewer folds than the incumbent had, its objective is what it is worse by in
        these, added to the incumbent's: an easy fold is easy for all, and makes nobody the best.
        """
        metrics: dict[str, float] = {STOPPED: float(np.mean(self._trees))} if self._trees else {}
        errors: dict[str, float] = {}
        spreads: dict[str, Spread] = {}
        details: dict[str, Any] = {}
        folds = self._folds
        if self._sweep is not None:
            at, curve = self._sweep.choose(), self._sweep.curve
            folds = self._all(at)
            more = {THRESHOLD: float(curve.log_odds[at])} | more
            details = {CURVE: curve.thinned(at).to_dict()}
            if isinstance(self._sweep, GroupSweep):
                # A curve is stored with four digits; the thresholds of the measurement itself have all.
                own = self._sweep.thresholds[at].tolist()
                details[BY_GROUP] = own
                named = zip(self._sweep.labels, own, strict=True)
                more = {f"{THRESHOLD}/{label}": log_odds for label, log_odds in named} | more
        if any(self._blocks):
            details[BLOCKS] = [[float(f"{value:.5g}") for value in fold] for fold in self._blocks]
        for name, metric in self.metrics.items():
            found = [fold[name] for fold in folds if name in fold]
            values = [metric.combine(reading.parts) for reading in found]
            metrics[name] = metric.combine(np.mean([r.parts for r in found], axis=0))
            if incumbent is not None and name == incumbent.objective and not metric.resource:
                metrics[name] += fold_stopping.ease(incumbent, len(found))
            error = fold_error(metric, found, values)
            # The noise of a time is the clock's; the same folds again would say the same of a score.
            if metric.resource and error > 0:
                errors[name] = error
            spreads[name] = Spread(None if np.isnan(error) else error, tuple(values))
            metrics |= {f"{name}/{key}": value for key, value in found[0].extras.items()}
        return Measurement(metrics | {"folds": float(len(folds))} | more, errors, spreads, details)

    def _all(self, at: int) -> list[dict[str, Reading]]:
        """Return all readings of the folds, those of decisions at one of the thresholds."""
        assert self._sweep is not None
        return [
            fold | swept for fold, swept in zip(self._folds, self._sweep.readings(at), strict=True)
        ]

"""Thresholds of its own for each group, computed from scores on rows that a pipeline was not fitted on.

For two groups every pair of thresholds is looked at; for more, one group after the other is moved
while the others stay.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fenceline.errors import MeasurementError
from fenceline.metrics.decisions import Floats, Sweep
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.scored_rows import ScoredRows
from fenceline.metrics.trial import Grouping, Rows, Trial
from fenceline.pipelines.fitting.thresholds import cut
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.pipelines.threshold_sweep import ThresholdSweep, averaged, grid
from fenceline.problem.constraint import Constraint

PER_GROUP = 40
"""How many thresholds of one group are looked at: 1,600 pairs of two groups take some milliseconds."""
ROOMS = (-3.0, -1.0, *np.linspace(0.0, 10.0, 40).tolist())
"""Standard errors of the folds inside the fence at which the best combination is kept.

Four of the unseen rows' errors, which a certificate begins with, are up to ten of the folds'."""
COARSE = 3
"""With more than two groups, one in so many of these distances: each is a search of its own ..."""
ROUNDS = 2
"""... in which every group is moved this many times."""


class GroupSweep(ThresholdSweep):
    """Decisions of one pipeline at combinations of thresholds, one for each group.

    Parameters
    ----------
    metrics, objective, constraints
        As of :class:`ThresholdSweep`.
    grouping : pair of str and tuple
        Name and bins of the groups.
    """

    def __init__(
        self,
        metrics: Mapping[str, PipelineMetric],
        objective: str,
        constraints: Sequence[Constraint],
        grouping: Grouping,
    ) -> None:
        super().__init__(metrics, objective, constraints)
        self.grouping = grouping
        self.labels: list[str] = []
        self._grids: list[Floats] = []
        self._scored: list[ScoredRows] = []
        self._kept: Rows = np.empty((0, 0), dtype=np.intp)

    def add(self, trial: Trial) -> None:
        """Look at one more fold."""
        assert trial.response is not None
        self._curve = None
        likely = trial.answers.likely
        if not self._grids:
            self.labels, codes = trial.grouping(*self.grouping)
            for code, label in enumerate(self.labels):
                own = codes == code
                if not own.any():
                    raise MeasurementError(
                        f"Group {label!r} of {self.grouping[0]!r} has no row in a fold, so that no "
                        "threshold can be computed for it; merge it with another group."
                    )
                found = grid(trial.response[own], trial.target[own], likely)
                steps = np.linspace(0, len(found) - 1, min(PER_GROUP, len(found)))
                self._grids.append(found[steps.round().astype(int)])
        cuts = [cut(log_odds, likely) for log_odds in self._grids]
        self._scored.append(ScoredRows(trial, self.grouping, cuts))

    @property
    def thresholds(self) -> Floats:
        """The log-odds of every group, at each position of the curve."""
        by_group = self.curve.by_group
        assert by_group is not None
        return by_group

    def readings(self, at: int) -> list[dict[str, Reading]]:
        """Return what a metric reads in each fold at one of the combinations."""
        _ = self.curve
        return [
            {n: Reading(s.parts[0], variances=s.variances[0]) for n, s in fold.items()}
            for fold in self._swept_at(self._kept[at : at + 1])
        ]

    def _averaged(self) -> ThresholdCurve:
        self._kept = self._pairs() if len(self._grids) == 2 else self._one_by_one()
        return self._curve_at(self._kept)

    def _pairs(self) -> Rows:
        """Return the best of all pairs of thresholds, at each distance from the fence."""
        sizes = [len(grid) for grid in self._grids]
        every = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1).reshape(-1, 2)
        curve = self._curve_at(every)
        best = [curve.choose(self.objective, ())]
        best += [curve.choose(self.objective, self.constraints, room) for room in ROOMS]
        return every[list(dict.fromkeys(best))]

    def _one_by_one(self) -> Rows:
        """Return what moving one group after the other finds, at each distance from the fence."""
        # Equal thresholds, as far as the groups' own thresholds allow, are where it begins.
        shared = np.quantile(np.concatenate(self._grids), np.linspace(0.02, 0.98, PER_GROUP))
        begin = np.stack([_nearest(own, shared) for own in self._grids], axis=1)
        found = [self._best_of(begin, None)]
        at = self._best_of(begin, ROOMS[0])
        for room in ROOMS[::COARSE]:
            for code in [*range(len(self._grids))] * ROUNDS:
                moved = np.repeat(at[None], len(self._grids[code]), axis=0)
                moved[:, code] = np.arange(len(moved))
                at = self._best_of(moved, room)
            found.append(at)
        return np.unique(np.array(found), axis=0)

    def _best_of(self, positions: Rows, room: float | None) -> Rows:
        fence, keep = ((), 0.0) if room is None else (self.constraints, room)
        at = self._curve_at(positions).choose(self.objective, fence, keep)
        found: Rows = positions[at]
        return found

    def _curve_at(self, positions: Rows) -> ThresholdCurve:
        folds = self._swept_at(positions)
        values, errors = averaged(self.metrics, folds)
        by_group = np.stack([own[positions[:, i]] for i, own in enumerate(self._grids)], axis=1)
        selected = []
        for rows in self._scored:
            n = rows.counts(None)
            selected.append(((n.tp + n.fp) / (n.tp + n.fp + n.tn + n.fn))[:, 0])
        return ThresholdCurve(
            by_group.mean(axis=1), np.mean(selected, axis=0), values, errors, by_group
        )

    def _swept_at(self, positions: Rows) -> list[dict[str, Sweep]]:
        found = []
        for rows in self._scored:
            rows.positions = positions
            fold = {}
            for name, metric in self.metrics.items():
                sweep = metric.sweep(rows, positions[:, 0].astype(np.float64))
                if sweep is None:
                    raise MeasurementError(
                        f"{name} takes more than numbers of decisions, and thresholds by group are "
                        "computed from these; leave out group_thresholds."
                    )
                fold[name] = sweep
            found.append(fold)
        return found


def _nearest(own: Floats, shared: Floats) -> Rows:
    """Return the places of the thresholds that are nearest to those that all groups share."""
    return np.asarray(np.abs(own[None] - shared[:, None]).argmin(axis=1))

"""How differently a pipeline treats groups; definitions are fairlearn's, the score gap the seed paper's."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError, MeasurementError
from fenceline.metrics.auroc import auroc_moves
from fenceline.metrics.decisions import Confusion, Floats, Sweep, confusion, rate, score_sweep
from fenceline.metrics.metric import Cases, Contrast, Parts, PipelineMetric
from fenceline.metrics.ranges import Range
from fenceline.metrics.scorer_traits import decides, is_unit, scorer_name, scorer_range, weighable
from fenceline.metrics.scoring import right, scored
from fenceline.metrics.trial import Grouping, Rows, Task, Trial, written_edge

_RESERVED = frozenset("(),=")


@dataclass(frozen=True, slots=True, eq=False)
class GroupMetric(PipelineMetric):
    """A metric that compares the groups of one column."""

    group: str
    bins: tuple[float, ...]

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The column whose groups are compared, and its edges."""
        return ((self.group, self.bins),)

    def _counts(self, trial: Trial, cuts: Floats) -> Confusion:
        """Count the rows of every group at each threshold; a group without rows is refused."""
        self._by_group(trial, None)
        return confusion(trial, cuts, (self.group, self.bins))

    def _by_group(self, trial: Trial, at: Rows | None) -> list[tuple[str, Rows]]:
        """Return every group's label and the positions of its rows."""
        labels, codes = trial.grouping(self.group, self.bins)
        at = np.arange(len(trial.rows)) if at is None else at
        found = [(label, at[codes[at] == i]) for i, label in enumerate(labels)]
        for label, rows in found:
            if not rows.size:
                raise MeasurementError(
                    f"{self.name}: group {label!r} has no row here; merge it with another group."
                )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ScoreGap(GroupMetric):
    """The best group's score minus the worst group's."""

    scorer: str

    contrast: ClassVar[Contrast] = "gap"

    @property
    def scored_by(self) -> str:
        """The scorer of each group."""
        return self.scorer

    @property
    def unit(self) -> bool:
        """Whether the scores lie between 0 and 1."""
        return is_unit(self.scorer)

    @property
    def range(self) -> Range:
        """A gap is at least 0, and at most as wide as the score's own range."""
        return scorer_range(self.scorer).width

    @property
    def ranks(self) -> bool:
        """Whether every group needs rows of every class."""
        return self.scorer.startswith(("roc_auc", "average_precision"))

    @property
    def decides(self) -> bool:
        """Whether the score is one of decisions."""
        return decides(self.scorer)

    @property
    def weighable(self) -> bool:
        """Whether the scorer takes weights."""
        return weighable(self.scorer)

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the score of each group."""
        values = []
        for label, rows in self._by_group(trial, at):
            try:
                values.append(scored(self.scorer, trial, rows))
            except (MeasurementError, ValueError) as problem:
                raise MeasurementError(f"{self.name}, group {label!r}: {problem}") from None
        return np.array(values)

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows of each group that the score is a share of, and those that are right."""
        groups = self._by_group(trial, None)
        found = [one for _, rows in groups if (one := right(self.scorer, trial, rows)) is not None]
        return found if len(found) == len(groups) else None

    def ranked(self, trial: Trial) -> list[Rows] | None:
        """Return the rows of each group, if the score is an AUROC of two classes."""
        plain = trial.weights is None and trial.table.task == "binary"
        if not plain or self.scorer != "roc_auc":
            return None
        return [rows for _, rows in self._by_group(trial, None)]

    def variances(self, trial: Trial) -> Parts | None:
        """Return the variances of the groups' scores, as far as the rows tell; of AUROCs they do.

        Three folds say next to nothing of the error of a gap: errors of .001 to .017 were read for
        pipelines of one search, whose gaps on unseen rows had errors of .01 (docs/decisions/0034).
        """
        if (ranked := self.ranked(trial)) is None:
            return GroupMetric.variances(self, trial)
        return np.array([np.sum(auroc_moves(trial, at) ** 2) for at in ranked])

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep | None:
        """Return the score of each group at many thresholds."""
        if not self.weighable:
            return None
        return score_sweep(self.scorer, self._counts(trial, cuts))

    def combine(self, parts: Parts) -> float:
        """Return the largest difference between groups."""
        return float(np.ptp(parts))

    def combine_each(self, parts: Floats) -> Floats:
        """Return the largest difference in each row."""
        return np.asarray(np.ptp(parts, axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRates(GroupMetric):
    """The largest difference between groups in the share predicted positive."""

    contrast: ClassVar[Contrast] = "gap"
    tasks: ClassVar[tuple[Task, ...]] = ("binary",)

    @property
    def unit(self) -> bool:
        """A rate lies between 0 and 1."""
        return True

    @property
    def decides(self) -> bool:
        """Selections are decisions."""
        return True

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the selection rate of each group."""
        groups = self._by_group(trial, at)
        return np.array([trial.share(trial.answers.predict(rows) == 1, rows) for _, rows in groups])

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows of each group, and the selected ones."""
        if trial.weights is not None:
            return None
        groups = [rows for _, rows in self._by_group(trial, None)]
        return [(rows, trial.answers.predict(rows) == 1) for rows in groups]

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep:
        """Return the selection rates at many thresholds."""
        n = self._counts(trial, cuts)
        return Sweep(*rate(n.tp + n.fp, n.tp + n.fp + n.tn + n.fn))

    def combine(self, parts: Parts) -> float:
        """Return the largest difference."""
        return float(np.ptp(parts))

    def combine_each(self, parts: Floats) -> Floats:
        """Return the largest difference in each row."""
        return np.asarray(np.ptp(parts, axis=1))


class SelectionRatio(SelectionRates):
    """The smallest selection rate divided by the largest."""

    larger_is_better: ClassVar[bool] = True
    contrast: ClassVar[Contrast] = "ratio"

    def combine(self, parts: Parts) -> float:
        """Return the smallest rate divided by the largest."""
        # Nobody selected anywhere: nobody is treated worse. fairlearn leaves it undefined.
        return float(parts.min() / parts.max()) if parts.max() > 0 else 1.0

    def combine_each(self, parts: Floats) -> Floats:
        """Return the smallest rate divided by the largest, in each row."""
        return np.array([self.combine(row) for row in parts])


@dataclass(frozen=True, slots=True, eq=False)
class EqualizedOdds(GroupMetric):
    """The larger of the gaps in true-positive and in false-positive rate."""

    contrast: ClassVar[Contrast] = "gap"
    blocks: ClassVar[int] = 2
    tasks: ClassVar[tuple[Task, ...]] = ("binary",)

    @property
    def ranks(self) -> bool:
        """Every group needs rows of both classes."""
        return True

    @property
    def unit(self) -> bool:
        """A rate lies between 0 and 1."""
        return True

    @property
    def decides(self) -> bool:
        """Rates of errors are about decisions."""
        return True

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the false-positive rates of all groups, then their true-positive rates."""
        groups = self._by_group(trial, at)
        rates = [
            self._rate(trial, label, rows, truth) for truth in (0, 1) for label, rows in groups
        ]
        return np.array(rates)

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows of each class and group, and the positives predicted, in the order of the parts."""
        if trial.weights is not None:
            return None
        groups = [rows for _, rows in self._by_group(trial, None)]
        cells = [rows[trial.target[rows] == truth] for truth in (0, 1) for rows in groups]
        return [(rows, trial.answers.predict(rows) == 1) for rows in cells]

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep:
        """Return both rates of all groups at many thresholds."""
        n = self._counts(trial, cuts)
        both = rate(n.fp, n.fp + n.tn), rate(n.tp, n.tp + n.fn)
        return Sweep(*(np.hstack(one) for one in zip(*both, strict=True)))

    def combine(self, parts: Parts) -> float:
        """Return the larger gap."""
        return float(np.ptp(parts.reshape(2, -1), axis=1).max())

    def combine_each(self, parts: Floats) -> Floats:
        """Return the larger gap in each row."""
        return np.asarray(np.ptp(parts.reshape(len(parts), 2, -1), axis=2).max(axis=1))

    def _rate(self, trial: Trial, label: str, rows: Rows, truth: int) -> float:
        cases = rows[trial.target[rows] == truth]
        if not cases.size:
            kind = "positive" if truth else "negative"
            raise MeasurementError(
                f"{self.name}: group {label!r} has no {kind} row, so one of its rates is not "
                "defined; merge it with another group."
            )
        return trial.share(trial.answers.predict(cases) == 1, cases)


def score_gap(scorer: str, group: str, bins: Sequence[float] | None = None) -> ScoreGap:
    """Return the largest difference of a score between groups: the seed paper's d_I.

    Parameters
    ----------
    scorer : str
        A scikit-learn scorer's name, such as ``"roc_auc"``; the unit is the score's.
    group : str
        A column of X, or a name in ``fit(..., groups=...)``.
    bins : sequence of float, optional
        Edges that cut a column of numbers into groups.
    """
    name, edges = scorer_name(scorer), edges_of(bins)
    return ScoreGap(named("score_gap", [name], group, edges), group, edges, name)


def demographic_parity_difference(
    group: str, bins: Sequence[float] | None = None
) -> SelectionRates:
    """Return the largest difference between groups in the share predicted positive (0 to 1)."""
    edges = edges_of(bins)
    name = named("demographic_parity_difference", [], group, edges)
    return SelectionRates(name, group, edges)


def selection_rate_ratio(group: str, bins: Sequence[float] | None = None) -> SelectionRatio:
    """Return the smallest share predicted positive, divided by the largest (0 to 1).

    The four-fifths rule is ``selection_rate_ratio("sex") >= 0.8``.
    """
    edges = edges_of(bins)
    return SelectionRatio(named("selection_rate_ratio", [], group, edges), group, edges)


def equalized_odds_difference(group: str, bins: Sequence[float] | None = None) -> EqualizedOdds:
    """Return the larger of the gaps between groups in true- and false-positive rate (0 to 1)."""
    edges = edges_of(bins)
    return EqualizedOdds(named("equalized_odds_difference", [], group, edges), group, edges)


def named(metric: str, arguments: list[str], group: object, bins: tuple[float, ...]) -> str:
    """Write a metric so that it can be parsed again."""
    if not isinstance(group, str) or not group or _RESERVED & set(group):
        raise DefinitionError(
            f"{metric}: group must be a name without parentheses, commas and equals signs. Got "
            f"{group!r}; give the column another name in fit(..., groups={{...}})."
        )
    cuts = ["bins=" + ":".join(map(written_edge, bins))] if bins else []
    return f"{metric}({','.join([*arguments, group, *cuts])})"


def edges_of(bins: Sequence[float] | NDArray[np.float64] | None) -> tuple[float, ...]:
    """Return bins as they are kept, or say what they must be."""
    if bins is None:
        return ()
    edges = tuple(float(edge) for edge in bins)
    if not edges or any(a >= b for a, b in pairwise(edges)):
        raise DefinitionError(f"bins must be numbers in growing order. Got {bins!r}.")
    return edges

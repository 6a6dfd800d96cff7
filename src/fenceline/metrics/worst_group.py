"""A score of the group that fares worst: nobody is left far behind, whatever the mean says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.metrics.decisions import Floats
from fenceline.metrics.fairness import ScoreGap, edges_of, named
from fenceline.metrics.metric import Contrast, Parts
from fenceline.metrics.names import error_name
from fenceline.metrics.ranges import Range
from fenceline.metrics.scorer_traits import scorer_name, scorer_range
from fenceline.metrics.scores import Loss


@dataclass(frozen=True, slots=True, eq=False)
class WorstGroup(ScoreGap):
    """The smallest of the groups' scores."""

    larger_is_better: ClassVar[bool] = True
    contrast: ClassVar[Contrast] = "worst"

    @property
    def range(self) -> Range:
        """That of the score."""
        return scorer_range(self.scorer)

    def combine(self, parts: Parts) -> float:
        """Return the worst group's score."""
        return float(parts.min())

    def combine_each(self, parts: Floats) -> Floats:
        """Return the worst group's score in each row."""
        return np.asarray(parts.min(axis=1))


def worst_group(scorer: str, group: str, bins: Sequence[float] | None = None) -> WorstGroup | Loss:
    """Return a score of the group that fares worst: ``worst_group("recall", "sex") >= 0.7``.

    It is certified as what it says: every group's own score is bounded on unseen rows, and the worst
    of the bounds counts.

    Parameters
    ----------
    scorer : str
        A scikit-learn scorer's name. Of an error by its name, such as ``"mae"``, the worst is the
        largest: ``worst_group("mae", "region") <= 2``.
    group : str
        A column of X, or a name in ``fit(..., groups=...)``.
    bins : sequence of float, optional
        Edges that cut a column of numbers into groups.
    """
    name, edges = scorer_name(scorer), edges_of(bins)
    found = WorstGroup(named("worst_group", [name], group, edges), group, edges, name)
    error = error_name(scorer)
    if error is None:
        return found
    return Loss(named("worst_group", [error], group, edges), found, bounded=False)

"""The one kind of thing that is measured on a fitted pipeline."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.metrics.trial import Rows, Task, Trial
from fenceline.problem.constraint import Metric

Parts: TypeAlias = NDArray[np.float64]
"""What a metric is made of: one number, or one for each group."""

Contrast: TypeAlias = Literal["none", "gap", "ratio"]
"""One part as it is, the largest minus the smallest, or the smallest divided by the largest."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric, read once on one fitted pipeline."""

    parts: Parts
    error: float = math.nan
    """Standard error, where the reading itself knows it."""
    extras: Mapping[str, float] = field(default_factory=dict)
    """Other statistics of the same reading, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class PipelineMetric(Metric, ABC):
    """A metric of a fitted pipeline; compare it with a bound to get a constraint.

    A metric is read as *parts*, which are averaged over folds before :meth:`combine` makes one
    value of them: the largest gap within each small fold would be mostly noise.
    """

    resource: ClassVar[bool] = False
    """Whether it depends on the pipeline alone, not on the labels of the rows: known after one fold."""
    larger_is_better: ClassVar[bool] = False
    contrast: ClassVar[Contrast] = "none"
    """How :meth:`combine` compares the parts."""
    blocks: ClassVar[int] = 1
    """Within how many runs of parts it does so; the largest contrast counts."""
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass", "regression")

    @property
    def unit(self) -> bool:
        """Whether its parts lie between 0 and 1."""
        return False

    @property
    def ranks(self) -> bool:
        """Whether it is defined only where more than one class is found."""
        return False

    @property
    def decides(self) -> bool:
        """Whether it depends on hard decisions between two classes, hence on the threshold."""
        return False

    @property
    def weighable(self) -> bool:
        """Whether rows can count differently in it."""
        return True

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups it compares."""
        return ()

    @abstractmethod
    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the parts, on all rows of the trial or on those at these positions."""

    def combine(self, parts: Parts) -> float:
        """Make one value of the (averaged) parts."""
        return float(parts[0])

    def read(self, trial: Trial) -> Reading:
        """Read the metric once."""
        return Reading(self.parts(trial))

    def value(self, trial: Trial) -> float:
        """Return the metric's value on a fitted pipeline."""
        return self.combine(self.read(trial).parts)

    def rates(self, trial: Trial) -> list[tuple[int, int]] | None:
        """Return events and cases of every part if all are plain, unweighted rates: for exact bounds."""
        return None

"""The one kind of thing that is measured on a fitted pipeline."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.metrics.decisions import Floats, Sweep, rate
from fenceline.metrics.ranges import ANY, SHARE, Range
from fenceline.metrics.trial import Grouping, Rows, Task, Trial
from fenceline.problem.constraint import Metric

Parts: TypeAlias = NDArray[np.float64]
"""What a metric is made of: one number, or one for each group."""

Contrast: TypeAlias = Literal["none", "gap", "ratio", "worst"]
"""One part as it is, the largest minus the smallest, the smallest divided by the largest, or the smallest."""


Cases: TypeAlias = tuple[Rows, NDArray[np.bool_]]
"""The positions of the rows that a rate is about, and which of them are its events."""

REACH = 2.5
"""Standard errors at which pairs of groups are weighed against each other.

A test on unseen rows reaches 1.645 of their errors, which are 2 to 4 of the folds'."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric, read once on one fitted pipeline."""

    parts: Parts
    error: float = math.nan
    """Standard error, where the reading itself knows it."""
    extras: Mapping[str, float] = field(default_factory=dict)
    """Other statistics of the same reading, by name."""
    variances: Parts | None = None
    """Of the parts, where the numbers of rows tell."""


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
    def range(self) -> Range:
        """Which values it can take; bounds that every value meets, or none, are refused."""
        if not self.unit:
            return ANY
        return SHARE.width if self.contrast == "gap" else SHARE

    @property
    def turns(self) -> str | None:
        """The name of the error that it turns round, so that larger is better, if it does."""
        return None

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
    def groupings(self) -> tuple[Grouping, ...]:
        """The groups it compares."""
        return ()

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups it compares."""
        return tuple(name for name, _ in self.groupings)

    @property
    def scored_by(self) -> str | None:
        """The scikit-learn scorer it is made of, if it is made of one."""
        return None

    @property
    def only_class(self) -> int | None:
        """The class whose rows alone it looks at, if there is one."""
        return None

    @abstractmethod
    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the parts, on all rows of the trial or on those at these positions."""

    def combine(self, parts: Parts) -> float:
        """Make one value of the (averaged) parts."""
        return float(parts[0])

    def combine_each(self, parts: Floats) -> Floats:
        """Make one value of each row of parts."""
        if type(self).combine is PipelineMetric.combine:
            return parts[:, 0]
        return np.array([self.combine(row) for row in parts])

    def error(self, parts: Floats, variances: Floats) -> Floats:
        """Return the standard error of the combined value, for each row of parts.

        Of a largest difference or smallest ratio, it is such that the value and `REACH` errors lead
        as far as the pair that leads farthest: a small group may be far from the extreme, and yet
        be what a bound cannot be certified for.

        Parameters
        ----------
        parts, variances : array
            Of any shape whose last axis is that of the parts; parts are independent of each other.
        """
        shape = (*parts.shape[:-1], self.blocks, -1)
        value, variance = parts.reshape(shape), variances.reshape(shape)
        if self.contrast == "none":
            return np.asarray(np.sqrt(variance[..., 0, 0]))
        one, other = np.triu_indices(value.shape[-1], 1)
        first, second = value[..., one], value[..., other]
        high, low = np.maximum(first, second), np.minimum(first, second)
        if self.contrast == "worst":
            distance, error = -value, np.sqrt(variance)
        elif self.contrast == "ratio":
            above = np.where(first >= second, variance[..., one], variance[..., other])
            below = variance[..., one] + variance[..., other] - above
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = 1 - np.where(high > 0, low / high, 1.0)
                error = np.sqrt((below + (1 - distance) ** 2 * above) / high**2)
            error[high == 0] = np.nan
        else:
            distance = high - low
            error = np.sqrt(variance[..., one] + variance[..., other])
        worst = distance.max(axis=(-2, -1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no pair at all is known
            farthest = np.nanmax(distance + REACH * error, axis=(-2, -1))
        return np.asarray((farthest - worst) / REACH)

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep | None:
        """Return the parts at many thresholds from the scores of the rows; None if it takes more than scores.

        Parameters
        ----------
        trial : Trial
            With a response.
        cuts : array
            Thresholds in the unit of the response, in growing order.
        """
        return None

    def read(self, trial: Trial) -> Reading:
        """Read the metric once."""
        return Reading(self.parts(trial), variances=self.variances(trial))

    def variances(self, trial: Trial) -> Parts | None:
        """Return the variances of the parts, as far as the numbers of rows tell."""
        if (known := self.rates(trial)) is None:
            return None
        events, cases = np.array(known, dtype=np.float64).T
        return rate(events, cases)[1]

    def value(self, trial: Trial) -> float:
        """Return the metric's value on a fitted pipeline."""
        return self.combine(self.read(trial).parts)

    def rates(self, trial: Trial) -> list[tuple[int, int]] | None:
        """Return events and cases of every part if all are plain, unweighted rates: for exact bounds."""
        known = self.cases(trial)
        return None if known is None else [(int(np.sum(e)), rows.size) for rows, e in known]

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows of every part and its events, if all parts are plain, unweighted rates."""
        return None

    def ranked(self, trial: Trial) -> list[Rows] | None:
        """Return the rows of every part, if all parts are unweighted AUROCs of two classes."""
        return None

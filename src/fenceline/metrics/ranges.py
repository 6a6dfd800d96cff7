"""Which values a metric can take, and bounds that make no sense for it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fenceline.errors import ConstraintError
from fenceline.problem.constraint import Constraint

if TYPE_CHECKING:
    from fenceline.metrics.metric import PipelineMetric


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest value that a metric can take."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"between {self.low:g} and {self.high:g}"
        if math.isfinite(self.low):
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if math.isfinite(self.high) else "any number"

    def turned(self, about: float = 0.0) -> "Range":
        """Return the range of `about` minus the metric."""
        return Range(about - self.high, about - self.low)

    @property
    def width(self) -> "Range":
        """The range of a difference between the largest and the smallest of several values."""
        return Range(0.0, self.high - self.low)


ANY = Range()
SHARE = Range(0.0, 1.0)
AMOUNT = Range(low=0.0)


def check_bound(constraint: Constraint, metric: "PipelineMetric") -> None:
    """Refuse a bound that every value meets, or none.

    Parameters
    ----------
    constraint : Constraint
        The bound.
    metric : PipelineMetric
        What it is put on.
    """
    may, (low, high) = metric.range, constraint.ends
    name = f"'{constraint}'"
    meant = _meant(constraint, metric)
    if low > may.high or high < may.low:
        raise ConstraintError(
            f"{name} cannot be met: {metric.name} is {may}.{meant or ' Give another bound.'}",
            constraint=constraint,
        )
    if low <= may.low and may.high <= high:
        raise ConstraintError(
            f"{name} is always true: {metric.name} is {may}."
            f"{meant or ' Leave it out, or give another bound.'}",
            constraint=constraint,
        )


def _meant(constraint: Constraint, metric: "PipelineMetric") -> str:
    """Guess what was meant: a share instead of percent, an error instead of its negative."""
    bound, may = constraint.bound, metric.range
    if metric.turns is not None and bound > 0:
        return (
            " scikit-learn turns errors round, so that larger is better. "
            f"Did you mean '{metric.turns} <= {bound:g}'?"
        )
    if may.high == 1.0 and 1 < abs(bound) <= 100 and not constraint.equality:
        return f" Did you mean {abs(bound) / 100:g}?"
    if may == AMOUNT and bound < 0 and not constraint.equality:
        return f" Did you mean {-bound:g}?"
    return ""

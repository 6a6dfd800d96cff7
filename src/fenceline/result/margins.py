"""How a measured pipeline stands to each side of the fence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fenceline.problem.constraint import Constraint


@dataclass(frozen=True, slots=True)
class Standing:
    """One constraint, and the value that a search measured."""

    constraint: Constraint
    value: float
    error: float
    """Standard error of the value; 0 where it is exact."""
    price: float
    """By how much the objective falls per unit the bound is loosened; NaN where nothing is inside."""

    @property
    def margin(self) -> float:
        """How far the value lies inside the bound, less what its error asks for; negative beyond."""
        return self.constraint.room(self.value, self.error)

    @property
    def holds(self) -> bool:
        """Whether the constraint holds, with the confidence it asks for."""
        return self.constraint.holds(self.value, self.error)


def standings(
    constraints: Sequence[Constraint],
    metrics: Mapping[str, float],
    errors: Mapping[str, float],
    prices: Mapping[str, float],
) -> tuple[Standing, ...]:
    """Return how what was measured of one pipeline stands to every constraint."""
    return tuple(
        Standing(c, metrics[c.metric], errors.get(c.metric, 0.0), prices.get(str(c), math.nan))
        for c in constraints
    )

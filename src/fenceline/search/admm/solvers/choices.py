"""A cube of finitely many choices: a point as one index per parameter."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.problem.parameter import Parameter
from fenceline.search.admm.solvers.protocol import Points

Index = tuple[int, ...]
"""The chosen value of each parameter."""


class Choices:
    """Between points of the unit cube and indices, for parameters that have an end of values."""

    def __init__(self, owner: str, parameters: Sequence[Parameter]) -> None:
        for parameter in parameters:
            if parameter.size is None:
                raise DefinitionError(
                    f"{owner}: every parameter needs finitely many values. Got {parameter!r}."
                )
        self.places = [
            p.raw_to_unit(p.low + np.arange(p.size or 1, dtype=np.float64)) for p in parameters
        ]
        """The coordinates of every parameter's values."""
        self.sizes = tuple(len(places) for places in self.places)

    def indices(self, points: Points) -> NDArray[np.intp]:
        """Return the nearest indices of points, one a row."""
        columns = [np.abs(points[:, [k]] - p).argmin(axis=1) for k, p in enumerate(self.places)]
        return np.column_stack(columns) if columns else np.empty((len(points), 0), dtype=np.intp)

    def point(self, index: Sequence[int]) -> Points:
        """Return the point of an index."""
        return np.array([places[j] for places, j in zip(self.places, index, strict=True)])

    def sample(self, rng: np.random.Generator, start: Index = ()) -> Index:
        """Draw an index that begins with some choices."""
        return (*start, *(int(rng.integers(n)) for n in self.sizes[len(start) :]))

    def reversed(self) -> "Choices":
        """Return the same choices, the last parameter first."""
        other = object.__new__(Choices)
        other.places, other.sizes = self.places[::-1], self.sizes[::-1]
        return other

"""Hyper-parameters without an order, and what any hyper-parameter can be set to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import ConfigurationError, SpaceError

Value: TypeAlias = str | int | float | bool | None
"""What a hyper-parameter can be set to: everything JSON can write."""

Unit: TypeAlias = NDArray[np.float64]
"""Coordinates in the unit interval, any shape."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of a few values without an order; encoded by its index.

    Parameters
    ----------
    choices : sequence of str, int, float, bool or None
        At least one, all different. Values must be writable as JSON, so that runs can be
        stored; name anything richer by a string and look it up in your own function.
    """

    choices: tuple[Value, ...]

    def __init__(self, choices: Sequence[Value]) -> None:
        if isinstance(choices, str) or not isinstance(choices, Sequence | np.ndarray):
            raise SpaceError(
                f"Categorical: choices must be a list of values. Got {choices!r} instead."
            )
        values = tuple(c.item() if isinstance(c, np.generic) else c for c in choices)
        if not values:
            raise SpaceError("Categorical: choices must not be empty; give at least one value.")
        for value in values:
            if value is not None and not isinstance(value, str | int | float | bool):
                raise SpaceError(
                    f"Categorical: {value!r} is a {type(value).__name__}; choices must be str, int, float, bool "
                    "or None. Name it by a string and look it up in `measure`."
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise SpaceError(f"Categorical: choices must be finite. Got {value!r}.")
        # 1 == True == 1.0 in Python: such choices could not be told apart as keys.
        if len(set(values)) < len(values):
            raise SpaceError(f"Categorical: choices must all differ. Got {list(values)!r}.")
        object.__setattr__(self, "choices", values)

    @property
    def size(self) -> int | None:
        """Number of distinct values."""
        return len(self.choices)

    @property
    def ordered(self) -> bool:
        """Whether nearby coordinates mean similar values: never, here."""
        return False

    @property
    def low(self) -> int:
        """First index."""
        return 0

    @property
    def high(self) -> int:
        """Last index."""
        return len(self.choices) - 1

    @property
    def log(self) -> bool:
        """Categories have no scale."""
        return False

    def to_unit(self, value: Value) -> float:
        """Return the coordinate of a value."""
        return self.index(value) / max(1, self.high)

    def from_unit(self, u: float) -> Value:
        """Return the value nearest to a coordinate."""
        return self.choices[round(min(max(u, 0.0), 1.0) * self.high)]

    def project(self, u: Unit | np.float64) -> Unit:
        """Return the coordinates of the nearest categories."""
        return np.asarray(np.rint(np.clip(u, 0.0, 1.0) * self.high) / max(1, self.high))

    def unit_to_raw(self, u: Unit | np.float64) -> Unit:
        """Map coordinates to indices, without rounding."""
        return np.asarray(np.asarray(u) * self.high)

    def raw_to_unit(self, raw: Unit | np.float64) -> Unit:
        """Map indices to coordinates, without rounding."""
        return np.asarray(np.asarray(raw) / max(1, self.high))

    def sample(self, rng: np.random.Generator) -> Value:
        """Draw a value uniformly."""
        return self.choices[int(rng.integers(len(self.choices)))]

    def check(self, value: object) -> Value:
        """Return the choice equal to the value, or refuse it."""
        return self.choices[self.index(value)]

    def index(self, value: object) -> int:
        """Return the position of a value among the choices."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, str | int | float):
            for i, choice in enumerate(self.choices):
                if choice == value and isinstance(choice, bool) == isinstance(value, bool):
                    return i
        raise ConfigurationError(
            f"must be one of {list(self.choices)!r}. Got {value!r}.", value=value, parameter=self
        )

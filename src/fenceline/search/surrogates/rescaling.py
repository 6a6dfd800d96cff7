"""Scales of hyper-parameters: logarithmic from either end of a range, or as the range was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fenceline.problem.parameter import Categorical, Integer, Parameter
from fenceline.search.surrogates.matern import Array, Indices

BENDS = (30.0, 1e3, 1e5)
"""Of a scale that may be learnt. With the last, a hundred-thousandth of the range is told apart."""
_LEAST_RATIO = 30.0
"""Of the ends of a positive range: from here on its logarithm is worth a try."""
_MOST_RATIO = 1e9


@dataclass(frozen=True)
class Rescaling:
    """A scale for each hyper-parameter, as a bend K; without bends all ranges stay as they are.

    With K = 0 a coordinate u of the unit interval stays. With K > 0 it becomes
    log(1 + K u) / log(1 + K), which is the logarithm of a range from 1 to 1 + K; with K < 0 the
    same from the other end.
    """

    bends: tuple[float, ...] = ()

    def __call__(self, values: Array, columns: Indices) -> Array:
        """Return coordinates, given for some columns of theta, on their scales; NaN stays."""
        return self._each(bent, values, columns)

    def inverse(self, values: Array, columns: Indices) -> Array:
        """Return the coordinates that lie so on their scales."""
        return self._each(straightened, values, columns)

    @cached_property
    def columns(self) -> Indices:
        """Of theta: those whose scale is not that of their range."""
        return np.flatnonzero(self._array)

    def bend(self, column: int) -> float:
        """Return the bend of one column."""
        return self.bends[column] if self.bends else 0.0

    def changed(self, column: int, bend: float, width: int) -> Rescaling:
        """Return it with another bend in one of `width` columns."""
        bends = list(self.bends or (0.0,) * width)
        bends[column] = bend
        return Rescaling(tuple(bends) if any(bends) else ())

    def _each(
        self, bend: Callable[[Array, Array], Array], values: Array, columns: Indices
    ) -> Array:
        if not self.bends:
            return values
        bends = self._array[columns]
        at = np.flatnonzero(bends)
        out = values.copy()
        out[..., at] = bend(values[..., at], bends[at])
        return out

    @cached_property
    def _array(self) -> Array:
        return np.array(self.bends)


def bent(u: Array, bends: Array | float) -> Array:
    """Return coordinates of the unit interval on the scales of the given bends, none of them 0."""
    from_high, size = np.less(bends, 0.0), np.abs(bends)
    w = np.log1p(size * np.where(from_high, 1.0 - u, u)) / np.log1p(size)
    return np.asarray(np.where(from_high, 1.0 - w, w))


def straightened(w: Array, bends: Array | float) -> Array:
    """Return the coordinates that :func:`bent` takes to `w`."""
    from_high, size = np.less(bends, 0.0), np.abs(bends)
    u = np.expm1(np.where(from_high, 1.0 - w, w) * np.log1p(size)) / size
    return np.asarray(np.where(from_high, 1.0 - u, u))


def contenders(parameter: Parameter) -> tuple[float, ...]:
    """Return the bends that a hyper-parameter's scale may have; none where its range is right.

    A range that was given as logarithmic is taken at its word, as is one of a few whole numbers.
    """
    if isinstance(parameter, Categorical) or parameter.log or parameter.low == parameter.high:
        return ()
    most = np.inf if not isinstance(parameter, Integer) else float(parameter.high - parameter.low)
    high = tuple(-bend for bend in BENDS if bend <= most)
    ratio = parameter.high / parameter.low if parameter.low > 0 else 0.0
    if _LEAST_RATIO <= ratio <= _MOST_RATIO:
        # The logarithm of the value itself; nothing below its low end has to be told apart.
        most = min(most, ratio / 3.0)
        return (*(bend for bend in BENDS if bend <= most), ratio - 1.0, *high)
    return (*(bend for bend in BENDS if bend <= most), *high)

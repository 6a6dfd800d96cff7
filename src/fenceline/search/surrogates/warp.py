"""Transformations of a metric before it is modelled; the evidence chooses, not the user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenceline.search.surrogates.gaussian_process import standardise
from fenceline.search.surrogates.matern import Array

# In units of the distance from the best value to the median: up to about here the logarithm hardly
# bends, and only the tail is drawn in. A twentieth made a cusp of the best value, which no smooth
# model can follow: on a narrow valley the search then never left the first plateau.
_OFFSET = 1.0
_MOST = 200.0  # a draw far out in the tail of a logarithm stays a float


@dataclass(frozen=True, slots=True)
class Warp:
    """An increasing map to standardised values: linear, or logarithmic above the best value seen."""

    logarithmic: bool
    low: float
    spread: float
    shift: float
    scale: float

    @classmethod
    def of(cls, y: Array, *, logarithmic: bool) -> Warp:
        """Fit to values; later ones may lie outside their range."""
        low = float(y.min())
        spread = float(np.median(y)) - low or float(np.ptp(y)) or 1.0
        plain = cls(logarithmic, low, spread, 0.0, 1.0)
        _, shift, scale = standardise(plain(y))
        return cls(logarithmic, low, spread, shift, scale)

    def __call__(self, y: Array) -> Array:
        """Return the standardised values."""
        if not self.logarithmic:
            return (y - self.shift) / self.scale
        u = (y - self.low) / self.spread
        # A tangent carries on below the best value of the fit, which a better one will pass.
        bent = np.where(u > 0, np.log(np.maximum(u, 0.0) + _OFFSET), np.log(_OFFSET) + u / _OFFSET)
        return (bent - self.shift) / self.scale

    def inverse(self, v: Array) -> Array:
        """Return the values that standardised ones stand for."""
        bent = v * self.scale + self.shift
        if not self.logarithmic:
            return bent
        rest = bent - np.log(_OFFSET)
        u = np.where(rest > 0, _OFFSET * np.expm1(np.clip(rest, 0.0, _MOST)), _OFFSET * rest)
        return np.asarray(self.low + self.spread * u)

    def slope(self, y: float) -> float:
        """Return the derivative at a value."""
        return float(self.slopes(np.array([y]))[0])

    def slopes(self, y: Array) -> Array:
        """Return the derivative at each value."""
        if not self.logarithmic:
            return np.full(np.shape(y), 1.0 / self.scale)
        u = np.maximum((y - self.low) / self.spread, 0.0)
        return np.asarray(1.0 / ((u + _OFFSET) * self.spread * self.scale))

    def inverse_slope(self, v: Array) -> Array:
        """Return the derivative of :meth:`inverse`."""
        return 1.0 / self.slopes(self.inverse(v))

    def log_slope(self, y: Array) -> float:
        """Return the sum of log derivatives, which makes evidence comparable between maps."""
        total = -len(y) * np.log(self.scale)
        if self.logarithmic:
            u = np.maximum((y - self.low) / self.spread, 0.0)
            total -= np.log((u + _OFFSET) * self.spread).sum()
        return float(total)

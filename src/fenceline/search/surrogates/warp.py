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

    def slope(self, y: float) -> float:
        """Return the derivative at a value."""
        if not self.logarithmic:
            return 1.0 / self.scale
        u = max((y - self.low) / self.spread, 0.0)
        return 1.0 / ((u + _OFFSET) * self.spread * self.scale)

    def log_slope(self, y: Array) -> float:
        """Return the sum of log derivatives, which makes evidence comparable between maps."""
        total = -len(y) * np.log(self.scale)
        if self.logarithmic:
            u = np.maximum((y - self.low) / self.spread, 0.0)
            total -= np.log((u + _OFFSET) * self.spread).sum()
        return float(total)

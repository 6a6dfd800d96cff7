"""Hyper-parameters: what one may be set to, and its place in the unit interval."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fenceline.errors import ConfigurationError, SpaceError
from fenceline.problem.categorical import Categorical, Unit, Value

__all__ = [
    "Categorical",
    "Integer",
    "Parameter",
    "Real",
    "Unit",
    "Value",
    "parameter_from_dict",
    "parameter_to_dict",
]

_GRID_BITS = 40


def _number(owner: str, field: str, value: object) -> float:
    """Return ``value`` as a finite float or refuse it."""
    number = _as_float(value)
    if number is None:
        raise SpaceError(f"{owner}: {field} must be a number. Got {value!r} instead.", value=value)
    if not math.isfinite(number):
        raise SpaceError(f"{owner}: {field} must be finite. Got {value!r} instead.", value=value)
    return number


def _as_float(value: object) -> float | None:
    """Return a number as a float, infinite where it is too large for one; None for the rest."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value) + 0.0  # -0.0 equals 0.0 and must be written like it
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _check_range(owner: str, low: float, high: float, log: object) -> None:
    if low > high:
        raise SpaceError(
            f"{owner}: low must not exceed high. Got low={low!r} and high={high!r}; swap them."
        )
    if not isinstance(log, bool):
        raise SpaceError(f"{owner}: log must be True or False. Got {log!r} instead.")
    if log and low <= 0:
        raise SpaceError(
            f"{owner}: a log scale needs low > 0. Got low={low!r}; raise low or drop log=True."
        )


def _stretch(u: Unit | np.float64, low: float, high: float, log: bool) -> Unit:
    """Map the unit interval onto ``[low, high]``, exactly at the ends."""
    u = np.asarray(u, dtype=np.float64)
    if not log:
        raw = low + u * (high - low)
    elif math.isfinite(high / low):
        raw = low * np.exp(u * math.log(high / low))
    else:
        start, end = math.log(low), math.log(high)
        raw = np.exp(np.minimum(start + u * (end - start), end))
    # Twice as fast as np.clip, which counts where values come one at a time.
    exact = np.where(u <= 0.0, low, np.where(u >= 1.0, high, raw))
    return np.asarray(np.minimum(np.maximum(exact, low), high))


def _squeeze(raw: Unit | np.float64, low: float, high: float, log: bool) -> Unit:
    """Map ``[low, high]`` onto the unit interval; the inverse of :func:`_stretch`."""
    raw = np.asarray(raw, dtype=np.float64)
    if low == high:
        return np.zeros_like(raw)
    if not log:
        return (raw - low) / (high - low)
    # The same logarithm above and below: math.log may differ in the last bit and pass 1.
    if math.isfinite(high / low):
        return np.asarray(np.log(raw / low) / np.log(high / low))
    return np.asarray((np.log(raw) - np.log(low)) / (np.log(high) - np.log(low)))


@dataclass(frozen=True, slots=True)
class Real:
    """A real number in ``[low, high]``, searched on a linear or a logarithmic scale.

    Values the search proposes lie on a grid of 2**40 steps (fewer where floats near the
    bounds are coarser), far below any effect on a pipeline; it makes encoding and decoding
    exact inverses, so a pipeline met twice is recognised.

    Parameters
    ----------
    low, high : float
        Bounds, both included.
    log : bool
        Search the logarithm; needs ``low > 0``.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        owner = f"Real(low={self.low!r}, high={self.high!r})"
        object.__setattr__(self, "low", _number(owner, "low", self.low))
        object.__setattr__(self, "high", _number(owner, "high", self.high))
        _check_range(owner, self.low, self.high, self.log)
        if not math.isfinite(self.high - self.low):
            raise SpaceError(
                f"{owner}: the range is wider than a float; use log=True or narrow it."
            )

    @property
    def size(self) -> int | None:
        """Number of distinct values; None stands for a continuum."""
        return 1 if self.low == self.high else None

    @property
    def ordered(self) -> bool:
        """Whether nearby coordinates mean similar values."""
        return True

    def to_unit(self, value: Value) -> float:
        """Return the coordinate of a value."""
        return float(self.raw_to_unit(np.float64(self.check(value))))

    def from_unit(self, u: float) -> float:
        """Return the value at a coordinate, which is projected first."""
        return float(self.unit_to_raw(self.project(np.float64(u))))

    def project(self, u: Unit | np.float64) -> Unit:
        """Return the nearest admissible coordinates."""
        steps = 2.0**self._bits
        inside = np.minimum(np.maximum(u, 0.0), 1.0)
        return np.asarray(np.rint(inside * steps) / steps)

    def unit_to_raw(self, u: Unit | np.float64) -> Unit:
        """Map coordinates to the user's scale, without rounding."""
        return _stretch(u, self.low, self.high, self.log)

    def raw_to_unit(self, raw: Unit | np.float64) -> Unit:
        """Map the user's scale to coordinates, without rounding."""
        return _squeeze(raw, self.low, self.high, self.log)

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a value uniformly on the search scale."""
        return self.from_unit(rng.random())

    def check(self, value: object) -> float:
        """Return the value as a float inside the range, or refuse it."""
        number = _as_float(value)
        if number is None:
            raise ConfigurationError(
                f"must be a number in [{self.low}, {self.high}]. Got {value!r}.",
                value=value,
                parameter=self,
            )
        if not self.low <= number <= self.high:
            raise ConfigurationError(
                f"must lie in [{self.low}, {self.high}]. Got {value!r}.",
                value=value,
                parameter=self,
            )
        return number

    @property
    def _bits(self) -> int:
        if self.low == self.high:
            return _GRID_BITS
        # In a range that is narrow for its offset, floats cannot tell 2**40 steps apart.
        if self.log and self.high / self.low > 2.0:
            return _GRID_BITS
        spacing = math.ulp(max(abs(self.low), abs(self.high)))
        return max(1, min(_GRID_BITS, int(math.log2((self.high - self.low) / spacing)) - 3))


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number in ``[low, high]``, searched on a linear or a logarithmic scale.

    Parameters
    ----------
    low, high : int
        Bounds, both included.
    log : bool
        Search the logarithm; needs ``low > 0``.
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        owner = f"Integer(low={self.low!r}, high={self.high!r})"
        for field in ("low", "high"):
            given = getattr(self, field)
            number = _number(owner, field, given)
            if number != int(number):
                raise SpaceError(
                    f"{owner}: {field} must be a whole number; use Real for a continuous range."
                )
            if abs(int(given)) > 2**53:
                raise SpaceError(
                    f"{owner}: {field} must be below 2**53 in size, where floats stay exact."
                )
            object.__setattr__(self, field, int(number))
        _check_range(owner, self.low, self.high, self.log)
        # Neighbours are closest at the high end, where rounding must not make them one.
        if self.log:
            gap = 1 / self.high / max(1.0, math.log(self.high / self.low))
        else:
            gap = 1 / max(1, self.high - self.low)
        if gap < 2.0**-49:
            raise SpaceError(
                f"{owner}: too many whole numbers to tell their coordinates apart; "
                "lower high, or use Real."
            )

    @property
    def size(self) -> int | None:
        """Number of distinct values."""
        return self.high - self.low + 1

    @property
    def ordered(self) -> bool:
        """Whether nearby coordinates mean similar values."""
        return True

    def to_unit(self, value: Value) -> float:
        """Return the coordinate of a value."""
        return float(self.raw_to_unit(np.float64(self.check(value))))

    def from_unit(self, u: float) -> int:
        """Return the value nearest to a coordinate."""
        return int(self._nearest(np.float64(u)))

    def project(self, u: Unit | np.float64) -> Unit:
        """Return the coordinates of the nearest whole numbers."""
        return self.raw_to_unit(self._nearest(u))

    def unit_to_raw(self, u: Unit | np.float64) -> Unit:
        """Map coordinates to the user's scale, without rounding."""
        return _stretch(u, self.low, self.high, self.log)

    def raw_to_unit(self, raw: Unit | np.float64) -> Unit:
        """Map the user's scale to coordinates, without rounding."""
        return _squeeze(raw, self.low, self.high, self.log)

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a value uniformly on the search scale; the ends are as likely as the rest."""
        if not self.log:
            return int(rng.integers(self.low, self.high, endpoint=True))
        drawn = math.exp(rng.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
        return min(max(round(drawn), self.low), self.high)

    def check(self, value: object) -> int:
        """Return the value as an int inside the range, or refuse it."""
        number = _as_float(value)
        if number is None or not number.is_integer():
            raise ConfigurationError(
                f"must be a whole number in [{self.low}, {self.high}]. Got {value!r}.",
                value=value,
                parameter=self,
            )
        if not self.low <= number <= self.high:
            raise ConfigurationError(
                f"must lie in [{self.low}, {self.high}]. Got {value!r}.",
                value=value,
                parameter=self,
            )
        return int(number)

    def _nearest(self, u: Unit | np.float64) -> Unit:
        """Whole numbers nearest in the *coordinate*, so that log scales round in the logarithm."""
        u = np.clip(u, 0.0, 1.0)
        raw = self.unit_to_raw(u)
        below = np.clip(np.floor(raw), self.low, self.high)
        above = np.clip(below + 1.0, self.low, self.high)
        closer_above = self.raw_to_unit(above) - u < u - self.raw_to_unit(below)
        return np.where(closer_above, above, below)


Parameter: TypeAlias = Real | Integer | Categorical
"""Any hyper-parameter."""


def parameter_to_dict(parameter: Parameter) -> dict[str, object]:
    """Describe a hyper-parameter in JSON's types."""
    if isinstance(parameter, Categorical):
        return {"type": "categorical", "choices": list(parameter.choices)}
    kind = "real" if isinstance(parameter, Real) else "integer"
    return {"type": kind, "low": parameter.low, "high": parameter.high, "log": parameter.log}


def parameter_from_dict(description: Mapping[str, object]) -> Parameter:
    """Rebuild a hyper-parameter from :func:`parameter_to_dict`."""
    fields = dict(description)
    kind = fields.pop("type", None)
    kinds = {"real": Real, "integer": Integer, "categorical": Categorical}
    if kind not in kinds:
        raise SpaceError(f"A hyper-parameter's type must be one of {sorted(kinds)}. Got {kind!r}.")
    parameter: Parameter = kinds[kind](**fields)
    return parameter

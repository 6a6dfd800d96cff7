"""Constraints: a metric, a bound, and how far a measurement is from it.

``metric(name) <= bound``, ``>= bound`` and ``.equals(value, tolerance)`` make a
:class:`Constraint`; a text such as ``"latency_us <= 10"`` is parsed to the same. The grammar is
``NAME <= NUMBER``, ``NAME >= NUMBER`` or ``NAME == NUMBER +- NUMBER``, where NAME may carry
arguments, as in ``latency_us(batch=1000)`` or ``score_gap(auc, 'age band')``: blanks around
punctuation do not count, those within words and quotes do. Texts are parsed, never evaluated.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NoReturn, TypeAlias

import numpy as np

from fenceline.errors import ConstraintError

Sense: TypeAlias = Literal["<=", ">=", "=="]

_NAME = re.compile(r"""[A-Za-z_][\w.]*(?:\((?:[^()'"]|'[^']*'|"[^"]*")*\))?""")
_QUOTED = re.compile(r"""('[^']*'|"[^"]*")""")
_SENSE = re.compile(r"<=|>=|==")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound on one metric.

    Parameters
    ----------
    metric : str
        Name of the metric in what `measure` returns.
    sense : {"<=", ">=", "=="}
        On which side of the bound the metric must stay.
    bound : float
        In the metric's own unit.
    tolerance : float
        For ``"=="``: how far from the bound still counts as equal.
    scale : float
        What counts as one unit of violation, so that microseconds and ratios compare.
        By default the size of the bound, or 1 for a bound of 0.
    confidence : float
        How sure it must be that the constraint holds, where a measurement carries a standard
        error: at 0.95 a value must stay 1.645 errors inside the bound. Exact values need none.
    """

    metric: str
    sense: Sense
    bound: float
    tolerance: float = 0.0
    scale: float = math.nan
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str) or not self.metric:
            raise ConstraintError(f"A constraint needs the name of a metric. Got {self.metric!r}.")
        if self.sense not in ("<=", ">=", "=="):
            raise ConstraintError(
                f"A constraint's sense must be '<=', '>=' or '=='. Got {self.sense!r}.",
                value=self.sense,
            )
        bound = _finite(self.metric, "bound", self.bound)
        tolerance = _finite(self.metric, "tolerance", self.tolerance)
        if tolerance < 0 or (tolerance > 0 and self.sense != "=="):
            raise ConstraintError(
                f"Constraint on {self.metric!r}: a tolerance is for '==' and at least 0. Got {tolerance!r}.",
                value=tolerance,
            )
        if isinstance(self.scale, float) and math.isnan(self.scale):
            object.__setattr__(self, "scale", abs(bound) or 1.0)
        scale = _finite(self.metric, "scale", self.scale)
        if scale <= 0:
            raise ConstraintError(
                f"Constraint on {self.metric!r}: scale must be positive. Got {scale!r}.",
                value=scale,
            )
        confidence = _finite(self.metric, "confidence", self.confidence)
        if not 0.5 <= confidence < 1.0:
            raise ConstraintError(
                f"Constraint on {self.metric!r}: confidence must lie in [0.5, 1). Got {confidence!r}; "
                "0.5 takes every measurement at its word.",
                value=confidence,
            )
        object.__setattr__(self, "confidence", confidence)
        for name, number in (("bound", bound), ("tolerance", tolerance), ("scale", scale)):
            object.__setattr__(self, name, number)

    def __str__(self) -> str:
        band = f" +- {self.tolerance:g}" if self.sense == "==" else ""
        return f"{self.metric} {self.sense} {self.bound:g}{band}"

    def __bool__(self) -> NoReturn:
        raise ConstraintError(
            f"'{self}' was used as a yes or no. A chain such as 0 <= metric <= 1 must be written as two constraints.",
            constraint=self,
        )

    @property
    def equality(self) -> bool:
        """Whether the metric must be near the bound, and not on one side of it."""
        return self.sense == "=="

    @property
    def has_floor(self) -> bool:
        """Whether small values are outside."""
        return self.sense != "<="

    @property
    def has_ceiling(self) -> bool:
        """Whether large values are outside."""
        return self.sense != ">="

    @property
    def sign(self) -> float:
        """1 where larger values lead outside, and -1 for ``>=``, where smaller ones do."""
        return -1.0 if self.sense == ">=" else 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value that satisfy the constraint."""
        low = self.bound - self.tolerance if self.has_floor else -math.inf
        return low, self.bound + self.tolerance if self.has_ceiling else math.inf

    def excess(self, value: float, error: float = 0.0) -> float:
        """Return g - eps: how far a measured value lies beyond the bound, negative inside.

        The sign is turned for ``>=`` so that inside Fenceline every constraint is g <= eps.
        For ``==`` it is the signed distance from the bound. A standard error moves the value
        away from the inside, as far as the required confidence asks.
        """
        excess = self.bound - value if self.sense == ">=" else value - self.bound
        margin = self.margin(error)
        return excess - margin if self.sense == "==" and excess < 0 else excess + margin

    def beyond(self, value: float, error: float = 0.0) -> float:
        """Return how far outside a value lies, in the metric's unit; negative inside."""
        excess = self.excess(value, error)
        return abs(excess) - self.tolerance if self.equality else excess

    def room(self, value: float, error: float = 0.0) -> float:
        """Return how far inside a value lies, in the metric's unit; negative outside."""
        return -self.beyond(value, error)

    def margin(self, error: float) -> float:
        """Return how far inside the bound a value of this standard error must stay."""
        return NormalDist().inv_cdf(self.confidence) * error if error else 0.0

    def violation(self, value: float, error: float = 0.0) -> float:
        """Return by how many scales the value breaks the constraint; 0 when it surely holds."""
        return max(0.0, self.beyond(value, error) / self.scale)

    def holds(self, value: float, error: float = 0.0) -> bool:
        """Tell whether a measured value satisfies the constraint, with the required confidence."""
        return self.violation(value, error) == 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Something that is measured, to be compared with a bound."""

    name: str

    def __le__(self, bound: float) -> Constraint:
        return Constraint(self.name, "<=", bound)

    def __ge__(self, bound: float) -> Constraint:
        return Constraint(self.name, ">=", bound)

    def equals(self, value: float, tolerance: float) -> Constraint:
        """Ask for a value, within a tolerance."""
        return Constraint(self.name, "==", value, tolerance)

    def _refuse(self, other: object) -> NoReturn:
        raise ConstraintError(
            f"metric({self.name!r}) is compared with <= or >=, or with .equals(value, tolerance), to {other!r}."
        )

    __lt__ = __gt__ = _refuse


def metric(name: str) -> Metric:
    """Name a metric to put a bound on: ``metric("latency_us") <= 10``."""
    if not isinstance(name, str) or not name:
        raise ConstraintError(f"metric() needs the name of a metric. Got {name!r}.")
    return Metric(name)


def check_consistent(constraints: Sequence[Constraint]) -> None:
    """Refuse duplicates and bounds that no value can meet."""
    limits: dict[str, tuple[float, float]] = {}
    seen = set()
    for c in constraints:
        if (c.metric, c.sense) in seen:
            raise ConstraintError(
                f"Two constraints bound {c.metric!r} by '{c.sense}'; keep the stricter one.",
                constraint=c,
            )
        seen.add((c.metric, c.sense))
        low, high = limits.get(c.metric, (-math.inf, math.inf))
        low, high = max(low, c.ends[0]), min(high, c.ends[1])
        if low > high:
            raise ConstraintError(
                f"No value of {c.metric!r} is at least {low:g} and at most {high:g}; loosen one bound.",
                constraint=c,
            )
        limits[c.metric] = (low, high)


def parse_constraint(text: str) -> Constraint:
    """Parse a text such as ``"latency_us <= 10"``; a mistake is shown with a caret under it."""
    name, at = _take(text, 0, _NAME, "the name of a metric")
    sense, at = _take(text, at, _SENSE, "<=, >= or ==")
    bound, at = _take(text, at, _NUMBER, "a number")
    tolerance = "0"
    if sense == "==" and text[at:].strip():
        _, at = _take(text, at, re.compile(r"\+-|±"), "+- and a tolerance")
        tolerance, at = _take(text, at, _NUMBER, "a tolerance")
    if text[at:].strip():
        _mistake(text, at + len(text[at:]) - len(text[at:].lstrip()), "the end")
    return Constraint(_tidy(name), sense, float(bound), float(tolerance))  # type: ignore[arg-type]


def _tidy(name: str) -> str:
    """Write a name in one way: no blanks around punctuation; within words and quotes they stay."""
    pieces = _QUOTED.split(name)
    pieces[::2] = [re.sub(r"\s*([(),=])\s*", r"\1", re.sub(r"\s+", " ", p)) for p in pieces[::2]]
    return "".join(pieces)


def _take(text: str, at: int, pattern: re.Pattern[str], expected: str) -> tuple[str, int]:
    """Match one token after blanks, or point at where it should be."""
    at += len(text[at:]) - len(text[at:].lstrip())
    match = pattern.match(text, at)
    if match is None:
        _mistake(text, at, expected)
    return match.group(), match.end()


def _mistake(text: str, at: int, expected: str) -> NoReturn:
    raise ConstraintError(
        f"This constraint cannot be read: expected {expected} here.\n  {text}\n  {' ' * at}^\n"
        "Write it like 'latency_us <= 10', 'auc >= 0.8' or 'rate == 0.5 +- 0.1'.",
        value=text,
    )


def _finite(owner: str, what: str, value: object) -> float:
    try:
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            number = float(value)
            if math.isfinite(number):
                return number
    except OverflowError:
        pass
    raise ConstraintError(
        f"Constraint on {owner!r}: {what} must be a finite number. Got {value!r}; "
        "a metric that may take any value needs no constraint.",
        value=value,
    )

"""What was measured of one pipeline: numbers by name, and how well they are known."""

import json
import math
import numbers
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fenceline.errors import MeasurementError

DETAILS = "details"
"""Under which a measurement may bring a mapping beside its numbers."""
SOFT_ERROR = "/se"
"""Behind the name of a metric, names a standard error of it that feasibility leaves out."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a metric differs between the parts it was measured in: folds, say."""

    error: float | None = None
    """Standard error of the value that feasibility leaves out; None where it is not known."""
    parts: tuple[float, ...] = ()
    """The value in each part."""

    def to_list(self) -> list[float | None]:
        """Return it in JSON's types: the error, then the parts."""
        return [self.error, *self.parts]


@dataclass(frozen=True, slots=True, eq=False)
class Measurement(Mapping[str, float]):
    """Every metric of one pipeline: a mapping of plain numbers, and what is known about them.

    A measure may return one instead of a plain mapping.
    """

    metrics: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors that feasibility counts: noise, which measuring again makes smaller."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """Of the metrics that were measured in parts."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What came beside the numbers, in JSON's types: curves, say."""

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def to_plain(self) -> dict[str, Any]:
        """Return it in JSON's types."""
        return {
            "metrics": dict(self.metrics),
            "errors": dict(self.errors),
            "spreads": {name: spread.to_list() for name, spread in self.spreads.items()},
            "details": dict(self.details),
        }

    @classmethod
    def from_plain(cls, found: object) -> "Measurement":
        """Make one of JSON's types. Numbers are not looked at: :func:`read` does that."""
        if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
            raise MeasurementError(f"A measurement cannot be read of {found!r}.", value=found)
        spreads = {
            name: Spread(spread[0], tuple(spread[1:]))
            if isinstance(spread, list) and spread
            else Spread()
            for name, spread in found.get("spreads", {}).items()
        }
        return cls(
            found.get("metrics", {}), found.get("errors", {}), spreads, found.get("details", {})
        )


def read(measured: Mapping[str, Any], asked: Collection[str] = ()) -> Measurement:
    """Return what a measure has returned as plain floats, or say what is wrong with it.

    Parameters
    ----------
    measured : mapping
        A :class:`Measurement`, or numbers by name: each alone or in a pair with its standard error.
        A number called ``NAME/se`` is the error of ``NAME`` that feasibility leaves out.
    asked : collection of str
        Names that are metrics whatever they look like.
    """
    if not isinstance(measured, Measurement):
        measured = _typed(measured, asked)
    errors = {
        name: _error(name, "its standard error", error) for name, error in measured.errors.items()
    }
    return Measurement(
        {str(name): _number(str(name), value) for name, value in measured.metrics.items()},
        errors,
        {str(name): _spread(str(name), spread) for name, spread in measured.spreads.items()},
        _details(measured.details),
    )


def most_parts(spreads: Mapping[str, Spread]) -> int:
    """Return in how many parts a pipeline was measured; 0 where that is not known."""
    return max((len(spread.parts) for spread in spreads.values()), default=0)


def _typed(measured: Mapping[str, Any], asked: Collection[str]) -> Measurement:
    """Take a plain mapping apart: pairs of a number and its error, errors beside it, details."""
    metrics, errors, spreads = {}, {}, {}
    for key, value in measured.items():
        name = str(key)
        if key == DETAILS and isinstance(value, Mapping):
            continue  # a metric may bear that name
        of = name.removesuffix(SOFT_ERROR)
        if of != name and of in measured and name not in asked:
            spreads[of] = Spread(value)
        elif isinstance(value, tuple) and len(value) == 2:
            metrics[name], errors[name] = value
        else:
            metrics[name] = value
    details = measured.get(DETAILS)
    return Measurement(metrics, errors, spreads, details if isinstance(details, Mapping) else {})


def _spread(name: str, spread: Spread) -> Spread:
    error = spread.error
    return Spread(
        None if error is None else _error(name, "its spread", error),
        tuple(_number(f"{name} (part {i})", v) for i, v in enumerate(spread.parts, 1)),
    )


def _error(name: str, what: str, value: object) -> float:
    error = _number(f"{name} ({what})", value)
    if error < 0:
        raise MeasurementError(
            f"The standard error of metric {name!r} must not be negative. Got {error}.",
            metric=name,
            value=error,
        )
    return error


def _details(found: Mapping[str, Any]) -> dict[str, Any]:
    if not found:
        return {}
    try:
        # What a journal would make of it: so a resumed run sees the same.
        return dict(json.loads(json.dumps(dict(found), allow_nan=False)))
    except (TypeError, ValueError) as problem:
        raise MeasurementError(
            f"The {DETAILS!r} of a measurement must be in JSON's types ({problem}); convert "
            "arrays with .tolist()."
        ) from None


def _number(name: str, value: object) -> float:
    """Return a metric as a finite float, or say what is wrong with it."""
    if not isinstance(value, numbers.Real):
        kind = type(value).__name__
        raise MeasurementError(
            f"Metric {name!r} must be a number. Got {value!r} ({kind}); convert it with float(...).",
            metric=name,
            value=value,
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise MeasurementError(
            f"Metric {name!r} must be finite. Got {number}; raise an exception if a pipeline failed.",
            metric=name,
            value=value,
        )
    return number

"""What a journal holds: proposals, outcomes, and the state of the algorithm, in the order of time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from reprlib import repr as short
from typing import Any, TypeAlias, get_args

from fenceline.errors import JournalDamagedError
from fenceline.problem.evaluation import Status
from fenceline.problem.measurement import Measurement, Spread
from fenceline.problem.printable import printable
from fenceline.store.older import with_spreads


@dataclass(frozen=True, slots=True)
class Proposal:
    """A configuration was handed to a worker."""

    ticket: int
    configuration: Mapping[str, Any]
    """As :meth:`Configuration.to_dict` writes it and :meth:`Space.configuration` reads it."""
    fidelity: float = 1.0
    """The share of the rows to measure it with."""
    left: float | None = None
    """Seconds of the budget that the algorithm knew to be left; None where it looks at no clock."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The measurement of a proposal ended."""

    ticket: int
    status: Status
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    megabytes: float = 0.0
    message: str = ""
    traceback: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of the metrics that have one."""
    fidelity: float = 1.0
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the measurement brought beside its numbers."""
    spreads: Mapping[str, list[float | None]] = field(default_factory=dict)
    """Of metrics measured in parts: the error that feasibility leaves out, then the parts."""

    @property
    def measurement(self) -> Measurement:
        """What was measured."""
        return Measurement(
            self.metrics,
            self.errors,
            {name: Spread(found[0], tuple(found[1:])) for name, found in self.spreads.items()},  # type: ignore[arg-type]
            self.details,
        )


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iterate of the algorithm: what a report shows of it, not what a search needs to go on."""

    state: Mapping[str, Any]
    """As :meth:`fenceline.search.iterate.Iterate.to_dict` writes it."""


Event: TypeAlias = Proposal | Finish | Iteration
"""One record of a run."""

KINDS: dict[str, type[Event]] = {
    "proposal": Proposal,
    "outcome": Finish,
    "iterate": Iteration,
}
_TEXTS = {"message", "traceback"}
_UNSAID = {
    "metrics": {},
    "errors": {},
    "details": {},
    "spreads": {},
    "seconds": 0.0,
    "cpu_seconds": 0.0,
    "megabytes": 0.0,
    "fidelity": 1.0,
    "left": None,
} | dict.fromkeys(("message", "traceback"), "")


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _is_spent(value: object) -> bool:
    return _is_number(value) and value >= 0  # type: ignore[operator]


def _are_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _are_spreads(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(spread, list)
        and spread
        and (spread[0] is None or _is_number(spread[0]))
        and all(map(_is_number, spread[1:]))
        for spread in value.values()
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_configuration(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(choice, list)
        and len(choice) == 2
        and isinstance(choice[0], str)
        and isinstance(choice[1], dict)
        for choice in value.values()
    )


# A checksum tells that a line was not damaged, not that Fenceline has written it.
_FITTING: dict[str, Callable[[object], bool]] = {
    "ticket": lambda value: type(value) is int and value >= 0,
    "configuration": _is_configuration,
    "metrics": _are_numbers,
    "errors": _are_numbers,
    "spreads": _are_spreads,
    "state": lambda value: isinstance(value, dict),
    "details": lambda value: isinstance(value, dict),
    "fidelity": lambda value: _is_spent(value) and 0 < value <= 1,  # type: ignore[operator]
    "left": lambda value: value is None or _is_spent(value),
    **dict.fromkeys(("seconds", "cpu_seconds", "megabytes"), _is_spent),
    **dict.fromkeys(("status", "message", "traceback"), _is_text),
}


def write(event: Event) -> tuple[str, dict[str, Any]]:
    """Return an event's kind and its fields, without those that say nothing."""
    kind = next(kind for kind, record in KINDS.items() if isinstance(event, record))
    values = {f.name: getattr(event, f.name) for f in fields(event)}
    return kind, {n: v for n, v in values.items() if n not in _UNSAID or v != _UNSAID[n]}


def read(records: list[dict[str, Any]], path: Path) -> list[Event]:
    """Make events of a journal's records, and check that they tell a possible story."""
    proposed: set[int] = set()
    finished: set[int] = set()
    events = []
    for number, record in enumerate(records):
        kind = record.pop("kind")
        if kind == "outcome" and "spreads" not in record:
            record = with_spreads(record)
        for name in _TEXTS & record.keys():
            if isinstance(record[name], str):
                record[name] = printable(record[name])
        try:
            event = KINDS[kind](**record)
        except (KeyError, TypeError) as problem:
            raise _impossible(path, number, f"a {kind!r} cannot be read: {problem}") from problem
        for name, fits in _FITTING.items():
            if name in record and not fits(record[name]):
                raise _impossible(path, number, f"its {name} cannot be {short(record[name])}")
        if isinstance(event, Proposal):
            if event.ticket in proposed:
                raise _impossible(path, number, f"ticket {event.ticket} is proposed twice")
            if event.ticket != len(proposed):
                raise _impossible(path, number, f"ticket {event.ticket} is not the next one")
            proposed.add(event.ticket)
        elif isinstance(event, Finish):
            if event.ticket not in proposed or event.ticket in finished:
                story = "finishes twice" if event.ticket in finished else "was never proposed"
                raise _impossible(path, number, f"ticket {event.ticket} {story}")
            if event.status not in get_args(Status):
                raise _impossible(path, number, f"no status is called {short(event.status)}")
            finished.add(event.ticket)
        events.append(event)
    return events


def _impossible(path: Path, number: int, story: str) -> JournalDamagedError:
    # The header is line 1, so record 0 stands in line 2.
    return JournalDamagedError(
        f"Line {number + 2} of the journal {path} makes no sense: {story}. It was written by "
        "another version of Fenceline, or by another program."
    )

"""What a fit is asked to do: the options of the command, and the `config.toml` that repeats them."""

import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from fenceline.errors import DefinitionError, StoreError, suggestion
from fenceline.evaluation.limits import Limits
from fenceline.problem.printable import printable

FORMAT = 1
CONFIG = "config.toml"
_DIRECTIONS = {"+1": 1, "1": 1, "+": 1, "-1": -1, "-": -1}
TASKS = ("classification", "regression")
PREFERENCES = ("certainty", "objective")
_HEAD = """\
# Repeats this run: fenceline fit --config {path}
# Options on the command line go before what is written here.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides what a fit does; None leaves it to the default."""

    data: str = ""
    target: str = ""
    task: str | None = None
    objective: str | None = None
    constraint: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    weight: str | None = None
    positive: str | None = None
    monotone: tuple[str, ...] = ()
    space: str = "default"
    seconds: float | None = None
    evaluations: int | None = None
    workers: int | None = None
    engine: str | None = None
    limits: str | None = None
    cv: float = 3
    seed: int = 0
    confidence: float = 0.95
    joint: bool = False
    unseen: str | None = None
    """The share of rows to certify on, or the file of a second table."""
    prefer: str | None = None
    group_thresholds: bool = False
    ensemble: int | None = None
    fold_votes: bool | None = None
    sha256: str | None = None
    """Of the table's file, so that a run is never repeated on other data unnoticed."""

    def __post_init__(self) -> None:
        _among("--task", self.task, TASKS)
        _among("--prefer", self.prefer, PREFERENCES)
        _positive("--seconds", self.seconds, "--seconds 60")
        _whole("--evaluations", self.evaluations, 1, "--evaluations 100")
        _whole("--workers", self.workers, 1, "--workers 2")
        _whole("--ensemble", self.ensemble, 1, "--ensemble 5")
        _whole("--seed", self.seed, 0, "--seed 0")
        if not 0.5 < self.confidence < 1:
            raise DefinitionError(
                f"--confidence must lie between 0.5 and 1, not {self.confidence:g}; try --confidence 0.95."
            )
        if not 0 < self.cv < 1 and not (self.cv >= 2 and self.cv == int(self.cv)):
            raise DefinitionError(
                f"--cv must be a number of folds of at least 2, or a share to hold out between 0 and 1, "
                f"not {self.cv:g}; try --cv 3."
            )
        parse_limits(self.limits)
        parse_monotone(self.monotone)
        if self.unseen_share is not None and not 0 < self.unseen_share < 1:
            raise DefinitionError(
                f"--unseen must be a share of the rows between 0 and 1, or a second table, not "
                f"{self.unseen}; try --unseen 0.3."
            )

    @property
    def unseen_share(self) -> float | None:
        """The share of rows to certify on; None where that is left to the default, or a table is named."""
        try:
            return None if self.unseen is None else float(self.unseen)
        except ValueError:
            return None

    @property
    def title(self) -> str:
        """What a report of the run is called: the table's name, and what is predicted."""
        table = Path(self.data).name.split(".")[0]
        return ": ".join(filter(None, [table, self.target]))

    @property
    def folds(self) -> int | float:
        """The folds as estimators take them: a whole number, or a share of rows."""
        return int(self.cv) if self.cv >= 1 else self.cv

    def given(self, **options: Any) -> Self:
        """Return these settings with the options that were given; None and () were not."""
        return replace(self, **{n: v for n, v in options.items() if v is not None and v != ()})

    def to_toml(self, path: Path) -> None:
        """Write the settings so that ``fit --config`` reads the same."""
        # A name may hold the end of a line, which would end the comment, too.
        shown = printable(str(path)).replace("\n", "\\n")
        lines = [_HEAD.format(path=shown), f"format = {FORMAT}"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                lines.append(f"{field.name} = {_written(value)}")
        try:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as problem:
            raise StoreError(
                f"{path} cannot be written ({problem.strerror}); choose an --out on a disk that can be."
            ) from problem
        except UnicodeEncodeError as problem:
            raise DefinitionError(
                f"{printable(str(problem.object[problem.start : problem.end]))} in a setting is no text "
                "in UTF-8; rename the file or the column."
            ) from problem

    @classmethod
    def from_toml(cls, path: Path) -> Self:
        """Read what :meth:`to_toml` wrote, or a person did."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(f"There is no file {path}; check the path.") from None
        except OSError as problem:
            raise StoreError(f"{path} cannot be read ({problem.strerror}); check it.") from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise StoreError(f"{path} is not valid TOML ({problem}); mend that place.") from problem
        version = found.pop("format", FORMAT)
        if not isinstance(version, int) or version > FORMAT:
            raise StoreError(
                f"{path} has format {version!r}, and this version of Fenceline reads up to {FORMAT}; "
                "install a newer Fenceline."
            )
        return cls(**_checked(found, path))


def parse_limits(text: str | None) -> Limits | None:
    """Read ``seconds=60,megabytes=2000``."""
    if text is None:
        return None
    known = ("seconds", "megabytes", "threads")
    given: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in known:
            raise DefinitionError(
                f"--limits {text!r}: {part.strip()!r} is none of seconds=, megabytes=, threads=; write it "
                "like --limits 'seconds=60,megabytes=2000'."
            )
        try:
            given[key] = int(value) if key == "threads" else float(value)
        except ValueError:
            raise DefinitionError(
                f"--limits {text!r}: {value!r} is no number; write it like --limits 'seconds=60'."
            ) from None
    return Limits(**given)


def parse_monotone(texts: tuple[str, ...]) -> dict[str, int] | None:
    """Read ``income:+1`` and ``debt:-1``."""
    found = {}
    for text in texts:
        column, _, sign = text.rpartition(":")
        if not column or sign.strip() not in _DIRECTIONS:
            raise DefinitionError(
                f"--monotone {text!r} cannot be read; write a column and its direction, such as "
                "--monotone 'income:+1' or --monotone 'debt:-1'."
            )
        found[column] = _DIRECTIONS[sign.strip()]
    return found or None


def digest(path: Path) -> str:
    """Return a fingerprint of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(found: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Refuse names and types that the settings do not have."""
    wanted = {f.name: str(f.type).removesuffix(" | None") for f in fields(Settings)}
    checked = {}
    for name, value in found.items():
        if name not in wanted:
            raise StoreError(f"{path} has no setting {name!r}.{suggestion(name, wanted)}")
        description, fits = _KINDS[wanted[name]]
        if not fits(value):
            raise StoreError(f"{path}: {name} = {value!r} cannot be; it must be {description}.")
        checked[name] = tuple(value) if isinstance(value, list) else value
    return checked


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "<class 'str'>": ("a text", lambda value: isinstance(value, str)),
    "<class 'bool'>": ("true or false", lambda value: isinstance(value, bool)),
    "<class 'int'>": ("a whole number", _is_whole),
    "<class 'float'>": ("a number", lambda v: isinstance(v, float) or _is_whole(v)),
    "tuple[str, ...]": (
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
    ),
}
_KINDS |= {name: _KINDS[f"<class '{name}'>"] for name in ("str", "bool", "int", "float")}


def _written(value: object) -> str:
    """Write a value in TOML, whose strings are JSON's but for one letter."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _among(option: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise DefinitionError(f"{option} {value!r} is not known.{suggestion(value, known)}")


def _positive(option: str, value: float | None, example: str) -> None:
    if value is not None and not 0 < value <= sys.float_info.max:
        raise DefinitionError(f"{option} must be a positive number, not {value:g}; try {example}.")


def _whole(option: str, value: int | None, least: int, example: str) -> None:
    if value is not None and value < least:
        raise DefinitionError(f"{option} must be at least {least}, not {value}; try {example}.")

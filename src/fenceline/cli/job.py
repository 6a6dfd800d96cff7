"""From settings to data: the table read, the task guessed, the fence complete, before time is spent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenceline.cli.groups import fence, parse_group
from fenceline.cli.settings import Settings, digest
from fenceline.cli.tables import read_table
from fenceline.errors import DefinitionError, StoreError, suggestion
from fenceline.problem.constraint import Constraint

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 20
"""Whole numbers with more distinct values than this are taken for amounts, not for classes."""
_MOST_LISTED = 12


@dataclass(frozen=True)
class Job:
    """A fit that can start."""

    settings: Settings
    """With the task decided and the table's fingerprint."""
    X: "pd.DataFrame"
    y: Any
    groups: Mapping[str, Any]
    weights: Any
    constraints: list[Constraint]
    reason: str
    """Why the task is what it is."""
    unseen: tuple[Any, ...] | None = None
    """A second table to certify on, as `fit` takes it."""

    def __str__(self) -> str:
        positive = ""
        if self.settings.task == "classification" and len(set(self.y)) == 2:
            chosen = max(self.y) if self.settings.positive is None else self.settings.positive
            positive = f"; {chosen} counts as positive"
        fence = " and ".join(map(str, self.constraints)) or "no constraint"
        return (
            f"{str(self.settings.task).capitalize()}, because {self.reason}{positive}. {len(self.X)} rows, "
            f"{self.X.shape[1]} columns; inside: {fence}"
        )


def prepare(settings: Settings) -> Job:
    """Read the table and refuse what cannot be fitted."""
    if not settings.data:
        raise DefinitionError(
            "No table is given; write fenceline fit DATA --target COLUMN, or --config FILE."
        )
    path = Path(settings.data)
    table = read_table(path)
    found = digest(path)
    if settings.sha256 not in (None, found):
        raise StoreError(
            f"{path} is not the table it was when the run was made; restore it, or remove the line "
            "'sha256' from config.toml to take it as it is."
        )
    if not settings.target:
        raise DefinitionError(
            f"No target is given; name the column to predict with --target, one of {_listed(table)}."
        )
    for option, name in [
        ("--target", settings.target),
        *(("--drop", column) for column in settings.drop),
        *([("--weight", settings.weight)] if settings.weight else []),
    ]:
        if name not in table.columns:
            raise DefinitionError(
                f"{option} {name!r}: there is no such column in {path.name}.{_nearest(name, table)}"
            )
    target = table[settings.target]
    _check_complete(target)
    if len(target) < 2:
        raise DefinitionError(f"{path} has a single row; give a table with more rows.")
    task, reason = guess_task(target)
    if settings.task is not None:
        task, reason = settings.task, "it was asked for"
    _check_kind(target, task)
    groups = [parse_group(text, table) for text in settings.group]
    constraints, compared = fence(settings.constraint, groups, list(table.columns))
    unlearnt = [settings.target, *settings.drop, *([settings.weight] if settings.weight else [])]
    X = table.drop(columns=unlearnt)
    if not X.shape[1]:
        raise DefinitionError(f"{path} has no column to learn from besides the target; add some.")
    second, unseen = settings.unseen, None
    if second is not None and settings.unseen_share is None:
        unseen = _second_table(Path(second), settings, list(X.columns), list(compared))
        second = str(Path(second).resolve())
    return Job(
        replace(settings, data=str(path.resolve()), task=task, unseen=second, sha256=found),
        X,
        target.to_numpy(),
        {column: table[column].to_numpy() for column in compared},
        table[settings.weight].to_numpy() if settings.weight else None,
        constraints,
        reason,
        unseen,
    )


def _second_table(
    path: Path, settings: Settings, columns: list[str], groups: list[str]
) -> tuple[Any, ...]:
    """Read the rows to certify on; they need every column that the first table is asked for."""
    table = read_table(path)
    needed = [*columns, settings.target, *groups, *([settings.weight] if settings.weight else [])]
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise DefinitionError(
            f"--unseen {path}: it lacks the columns {', '.join(map(repr, missing))} of the table; a "
            "second table has all of them, the target, too."
        )
    _check_complete(table[settings.target])
    weights = (table[settings.weight].to_numpy(),) if settings.weight else ()
    own = {name: table[name].to_numpy() for name in groups}
    return (table[columns], table[settings.target].to_numpy(), own, *weights)


def guess_task(target: "pd.Series[Any]") -> tuple[str, str]:
    """Return classification or regression, and why."""
    distinct = target.nunique()
    if target.dtype.kind not in "iuf":
        return "classification", f"{target.name} has {distinct} distinct values that are no numbers"
    if distinct <= 2:
        return "classification", f"{target.name} has {distinct} distinct values"
    if (target % 1 != 0).any():
        return "regression", f"{target.name} has numbers with fractions"
    if distinct <= MOST_CLASSES:
        return "classification", f"{target.name} has {distinct} distinct whole numbers"
    return "regression", f"{target.name} has {distinct} distinct numbers"


def _check_complete(target: "pd.Series[Any]") -> None:
    missing = int(target.isna().sum())
    if missing:
        raise DefinitionError(
            f"--target {str(target.name)!r}: {missing} of {len(target)} rows have no value there; leave "
            "those rows out of the table."
        )
    if target.dtype.kind == "f" and (abs(target) == float("inf")).any():
        raise DefinitionError(
            f"--target {str(target.name)!r} holds infinite numbers; leave those rows out of the table."
        )


def _check_kind(target: "pd.Series[Any]", task: str) -> None:
    numeric = target.dtype.kind in "iufb"
    if task == "regression" and not numeric:
        raise DefinitionError(
            f"--task regression: {target.name} holds {target.iloc[0]!r}, which is no number; use --task "
            "classification."
        )
    if task == "classification" and target.dtype.kind == "f" and (target % 1 != 0).any():
        raise DefinitionError(
            f"--task classification: {target.name} holds fractions such as {target[target % 1 != 0].iloc[0]:g}; "
            "use --task regression, or cut them into classes in the table."
        )


def _nearest(name: str, table: "pd.DataFrame") -> str:
    close = suggestion(name, table.columns)
    return close if close.startswith(" Did") else f" Its columns: {_listed(table)}."


def _listed(table: "pd.DataFrame") -> str:
    shown = ", ".join(map(repr, table.columns[:_MOST_LISTED]))
    more = len(table.columns) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown

"""How ``--group`` and ``--constraint`` go together.

``--group AGE:30,40,50`` says how a column is cut into groups, once, for every constraint that
compares groups: ``score_gap(roc_auc, AGE) <= 0.1`` finds its bins there, and a constraint that
names no group, such as ``score_gap(roc_auc) <= 0.1``, holds for every ``--group``.
"""

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from fenceline.errors import DefinitionError, suggestion
from fenceline.metrics.trial import written_edge
from fenceline.problem.constraint import Constraint, parse_constraint

if TYPE_CHECKING:
    import pandas as pd

_EXAMPLE = "write it like --group SEX or --group 'AGE:20,30,40'"
_RESERVED = frozenset("(),=")


@dataclass(frozen=True, slots=True)
class Group:
    """A column whose values, or whose intervals between edges, are compared."""

    column: str
    bins: tuple[float, ...] = ()


def parse_group(text: str, table: "pd.DataFrame") -> Group:
    """Read ``COLUMN`` or ``COLUMN:EDGE,EDGE,...``."""
    column, edges = text, ""
    if text not in table.columns and ":" in text:
        column, _, edges = text.rpartition(":")  # a column may have a colon in its name
    if column not in table.columns:
        raise DefinitionError(
            f"--group {text!r}: there is no column {column!r}.{suggestion(column, table.columns)} "
            f"Name a column; {_EXAMPLE}."
        )
    if _RESERVED & set(column):
        raise DefinitionError(
            f"--group {text!r}: a column with one of ( ) , = in its name cannot be named in a "
            "constraint; rename it in the table."
        )
    missing = int(table[column].isna().sum())
    if missing:
        raise DefinitionError(
            f"--group {text!r}: {missing} rows have no {column}; give them a value of their own, or "
            "leave them out of the table."
        )
    if not edges:
        return Group(column)
    try:
        bins = tuple(float(edge) for edge in edges.split(","))
    except ValueError:
        bins = (math.nan,)
    if not all(map(math.isfinite, bins)) or any(a >= b for a, b in pairwise(bins)):
        raise DefinitionError(
            f"--group {text!r}: edges must be numbers in growing order, not {edges!r}; {_EXAMPLE}."
        )
    if table[column].dtype.kind not in "iufb":
        raise DefinitionError(
            f"--group {text!r}: {column} holds no numbers, so it has no edges; write --group {column!r}."
        )
    return Group(column, bins)


def fence(
    constraints: Sequence[str], groups: Sequence[Group], columns: Sequence[str]
) -> tuple[list[Constraint], list[str]]:
    """Return the constraints with their groups filled in, and the columns that they compare by.

    A constraint that cannot be read is shown with a caret under the mistake.
    """
    found = [
        pair for text in constraints for pair in _filled(parse_constraint(text), groups, columns)
    ]
    used = [column for _, column in found if column is not None]
    for group in groups:
        if group.column not in used:
            raise DefinitionError(
                f"--group {group.column!r} is not used: no constraint compares groups by it; add one, such "
                f"as --constraint 'score_gap(roc_auc, {group.column}) <= 0.1', or leave it out."
            )
    return [constraint for constraint, _ in found], list(dict.fromkeys(used))


def _filled(
    constraint: Constraint, groups: Sequence[Group], columns: Sequence[str]
) -> Iterator[tuple[Constraint, str | None]]:
    """Yield a constraint for each group that it compares, with the column."""
    name, _, inside = constraint.metric.rstrip(")").partition("(")
    arguments = [part.strip() for part in inside.split(",") if part.strip()]
    given = _given(name, arguments)
    if given is None:
        yield constraint, None
        return
    chosen = list(groups)
    if "group" in given:
        column = _column(given["group"], columns)
        chosen = [group for group in groups if group.column == column] or [Group(column)]
    elif not groups:
        raise DefinitionError(
            f"'{constraint}' compares groups and names none; add --group COLUMN, or name one as in "
            f"'{name}({', '.join([*arguments, 'COLUMN'])})'."
        )
    for group in chosen:
        more = [] if "group" in given else [f"group={group.column}"]
        if group.bins and "bins" not in given:
            more.append("bins=" + ":".join(map(written_edge, group.bins)))
        metric = f"{name}({','.join([*arguments, *more])})"
        yield replace(constraint, metric=metric), group.column


def _column(name: str, columns: Sequence[str]) -> str:
    """Return the column of this name, blanks aside, for texts of constraints lose theirs."""
    for column in columns:
        if "".join(column.split()) == "".join(name.split()):
            return column
    raise DefinitionError(
        f"A constraint compares groups by {name!r}, and there is no such column.{suggestion(name, columns)}"
    )


def _given(name: str, arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the arguments of a metric that compares groups; None for any other."""
    from fenceline import metrics

    made = getattr(metrics, name, None) if name in metrics.__all__ else None
    if not inspect.isfunction(made) or "group" not in inspect.signature(made).parameters:
        return None
    positional = [argument for argument in arguments if "=" not in argument]
    named = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    try:
        return dict(inspect.signature(made).bind_partial(*positional, **named).arguments)
    except TypeError:
        return None  # the metric itself will say what is wrong with its arguments

"""Figures for papers, with matplotlib: what the report shows, on axes of your own."""

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from fenceline.errors import DefinitionError, MissingDependencyError, suggestion
from fenceline.problem.constraint import Constraint
from fenceline.report.front import front
from fenceline.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACCENT, _QUIET, _INK = "#1f6f5c", "#7d867c", "#20261f"


def best_so_far(result: Result, ax: "Axes | None" = None) -> "Axes":
    """Draw the best feasible objective after each evaluation.

    Parameters
    ----------
    result : Result
        A search.
    ax : Axes, optional
        Where to draw; new ones by default.
    """
    _check(result)
    ax = _axes(ax)
    trajectory = result.trajectory
    known = np.isfinite(trajectory)
    numbers = np.arange(1, len(trajectory) + 1)
    ax.step(numbers[known], trajectory[known], where="post", color=_ACCENT)
    ax.set(xlabel="evaluations", ylabel=f"best feasible {result.problem.objective}")
    return ax


def trade_off(result: Result, constraint: Constraint | str, ax: "Axes | None" = None) -> "Axes":
    """Draw the objective of every pipeline against one constraint, with the fence and the front.

    Parameters
    ----------
    result : Result
        A search.
    constraint : Constraint or str
        One of the problem's constraints, its text, or the name of its metric.
    ax : Axes, optional
        Where to draw; new ones by default.
    """
    _check(result)
    c = _find(result, constraint)
    ax = _axes(ax)
    for inside, marker, colour, label in (
        (False, "x", _QUIET, "breaks a constraint"),
        (True, "o", _ACCENT, "inside the fence"),
    ):
        some = [e for e in result.full if e.ok and e.feasible == inside]
        if some:
            values = [e.metrics[c.metric] for e in some]
            ax.scatter(
                values, [e.objective for e in some], s=18, c=colour, marker=marker, label=label
            )
    on_front = [result.evaluations[i] for i in front(result.evaluations, result.problem, c)]
    if on_front:
        ax.step(
            [e.metrics[c.metric] for e in on_front],
            [e.objective for e in on_front],
            where="post",
            color=_ACCENT,
            label="front",
        )
    for i, end in enumerate(filter(math.isfinite, c.ends)):
        ax.axvline(end, color=_INK, linestyle="--", label="_" if i else str(c))
    ax.set(xlabel=c.metric, ylabel=result.problem.objective)
    ax.legend()
    return ax


def algorithms(result: Result, ax: "Axes | None" = None) -> "Axes":
    """Draw the objectives that each algorithm of each module reached, the best algorithm on top.

    Parameters
    ----------
    result : Result
        A search.
    ax : Axes, optional
        Where to draw; new ones by default.
    """
    _check(result)
    ax = _axes(ax)
    labels: list[str] = []
    for module in reversed(result.problem.space.modules):
        tried: dict[str, list[Any]] = {}
        for e in result.full:
            if e.ok:
                tried.setdefault(e.configuration[module.name].algorithm, []).append(e)
        worst_first = sorted(tried.items(), key=lambda item: -min(e.objective for e in item[1]))
        for name, evaluations in worst_first:
            for inside, marker, colour in ((False, "x", _QUIET), (True, "o", _ACCENT)):
                some = [e.objective for e in evaluations if e.feasible == inside]
                ax.scatter(some, [len(labels)] * len(some), s=18, c=colour, marker=marker)
            labels.append(f"{module.name}: {name}")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlabel=f"{result.problem.objective}  (o inside the fence, x outside)")
    return ax


def _check(result: object) -> None:
    if not isinstance(result, Result):
        raise DefinitionError(
            f"A plot needs a Result. Got a {type(result).__name__}; an estimator has one as result_."
        )


def _find(result: Result, wanted: Constraint | str) -> Constraint:
    constraints = result.problem.constraints
    for c in constraints:
        if wanted in (c, str(c), c.metric):
            return c
    known = [str(c) for c in constraints]
    raise DefinitionError(f"The search has no constraint {wanted!s}.{suggestion(wanted, known)}")


def _axes(ax: "Axes | None") -> Any:
    if ax is not None:
        return ax
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError as problem:
        raise MissingDependencyError(
            "fenceline.plots needs matplotlib. Install it with pip install 'fenceline[plots]'."
        ) from problem
    return pyplot.subplots(layout="constrained")[1]

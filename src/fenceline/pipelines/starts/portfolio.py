"""The portfolio: learnt pipelines that a space admits, in the order in which they should be tried.

It is built greedily: next comes the pipeline that lowers the mean regret over the tables most, for
the second that it takes, and weighed by the chance that it is inside the fence. Regrets of single
tables are on file, so that a benchmark can leave the table out that it reports on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import ConfigurationError
from fenceline.metrics.trial import Task
from fenceline.pipelines.fitting import group_weights
from fenceline.pipelines.starts.learnt import Learnt, learnt
from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.constraint import Constraint
from fenceline.problem.space import Space
from fenceline.problem.starts import space_starts

MOST = 24
"""Pipelines of a portfolio."""
_BOOSTERS = frozenset({"HistGradientBoosting", "LightGBM", "XGBoost"})
"""One of them comes first, if it is likely to be inside the fence: rarely far from the best ..."""
_DEARER = 0.02
"""... the one that was best elsewhere; one that takes twice as long must have had so much less regret ..."""
_NEAR = 4
"""... on tables of about as many rows: to this power, their weights leave out the others."""
_BEYOND = 3.0
"""Where rows are so many times those of the largest table, only boosters that stop by themselves come first."""
_SHRUNK = 0.1
"""How far a regret is drawn to the mean of its pipeline: what won on one table may have had luck.

With each table left out in turn, the best of the first twelve had a mean regret of .028, .022 and .027 (two
classes, more, numbers), with .3 of .027, .042 and .028: cheap boosters, all alike, had come before networks."""
_MANY_ROWS = 5_000
"""From so many rows to fit on, trees are not tried with a column for every category: that takes too long."""
_OVERHEAD_SECONDS = 0.5
"""What measuring a pipeline takes besides fitting it, so that tiny fits are not all that counts."""
_FOLDS = 3
_REWEIGHED = 2
"""Boosters that are tried with other weights of groups as well ..."""
_STRENGTHS = (1.0, 1.5, 0.0, 0.5)
"""... the usual one of Kamiran and Calders first, then a stronger one: evenly fitted boosters rarely keep such a fence."""
_LIKELY = 0.5
_FEWEST = 8
"""Pipelines that a portfolio must have; a space that admits fewer is served by its own starts."""
ENCODER = "encoder"
"""The module that a table without categories does without."""

_left_out: ContextVar[tuple[str, ...]] = ContextVar("left_out", default=())


@contextmanager
def leaving_out(*tables: str) -> Iterator[None]:
    """Let searches begin as if these tables had not been learnt from; for benchmarks on them.

    Parameters
    ----------
    tables : str
        Names such as ``"meta/letter"`` or ``"letter"``.
    """
    token = _left_out.set((*_left_out.get(), *tables))
    try:
        yield
    finally:
        _left_out.reset(token)


def starts(
    space: Space, task: Task, rows: int, constraints: Sequence[Constraint] = ()
) -> tuple[Configuration, ...]:
    """Return what a search begins with: the portfolio, and starts of algorithms it does not know.

    Parameters
    ----------
    space : Space
        Of scikit-learn pipelines.
    task : {"binary", "multiclass", "regression"}
        What is predicted.
    rows : int
        How many a pipeline is fitted on.
    constraints : sequence of Constraint
        Those on time and size decide about the order.
    """
    own = space_starts(space)
    found = portfolio(space, task, rows=rows, constraints=constraints)
    if len(found) < _FEWEST:
        return own
    known = {c.algorithm for p in _admitted(space, learnt(task)) for c in p.values()}
    new = [
        # Prepared like what comes first: nothing is known of what they would like better.
        space.configuration({**found[0], name: choice})
        for c in own
        for name, choice in c.items()
        if choice.algorithm not in known
    ]
    return (*found[:1], *new, *found[1:])


def expected(space: Space, task: Task, rows: int) -> tuple[tuple[Configuration, float], ...]:
    """Return learnt pipelines with the regret to expect of each: 0 of the best, 1 of a poor one.

    What nothing was learnt of, such as weights of groups, is drawn at random in each.
    """
    known = learnt(task).without(_left_out.get())
    admitted = _admitted(space, known)
    if len(admitted) < _FEWEST:
        return ()
    regrets = known.regret @ known.weights(rows)
    rng = np.random.default_rng(0)
    found = []
    for configuration, number in admitted.items():
        choices = {
            **space.sample(rng),
            **{m: configuration[m] for m in known.pipelines[number].choices if m in configuration},
        }
        found.append((space.configuration(choices), float(regrets[number])))
    return tuple(found)


def portfolio(
    space: Space,
    task: Task,
    leave_out: Sequence[str] = (),
    *,
    rows: int = 2000,
    constraints: Sequence[Constraint] = (),
    most: int = MOST,
) -> list[Configuration]:
    """Return learnt pipelines that a space admits, the most promising first.

    Parameters
    ----------
    space : Space
        Its algorithms and ranges decide which pipelines there are; modules of which nothing was
        learnt are at their first algorithm.
    task : {"binary", "multiclass", "regression"}
        What is predicted.
    leave_out : sequence of str
        Tables that must not have counted, such as ``"meta/letter"``.
    rows : int
        How many a pipeline is fitted on: with many of them time counts more.
    constraints : sequence of Constraint
        Those on time and size decide about the order.
    most : int
        How many pipelines at most, repetitions with other weights of groups aside.
    """
    known = learnt(task).without((*leave_out, *_left_out.get()))
    admitted = _admitted(space, known)
    if rows >= _MANY_ROWS:
        admitted = {c: n for c, n in admitted.items() if not known.pipelines[n].wide}
    initial = admitted.pop(space.initial, None)
    if not admitted:
        return []
    found, numbers = list(admitted), list(admitted.values())
    chances = np.array([known.pipelines[n].chance(constraints, rows) for n in numbers])
    costs = np.array([known.pipelines[n].at("seconds", rows) for n in numbers])
    seconds = _OVERHEAD_SECONDS + _FOLDS * costs
    weights = known.weights(rows)
    near = weights**_NEAR
    expected = known.regret[numbers] @ (near / near.sum())
    likely = chances >= _LIKELY
    if rows > _BEYOND * max(known.rows):
        likely &= np.array([_stops(c) for c in found])
    first = _first_booster(found, likely, costs, expected)
    regret = (1 - _SHRUNK) * known.regret + _SHRUNK * (known.regret @ weights)[:, None]
    begun = regret[initial] if initial is not None else np.ones(len(known.tables))
    order = greedy(regret[numbers], chances, seconds, begun, weights, first, most)
    return _reweighed(space, [found[i] for i in order])


def greedy(
    regret: NDArray[np.float64],
    chances: NDArray[np.float64],
    seconds: NDArray[np.float64],
    begun: NDArray[np.float64],
    weights: NDArray[np.float64],
    first: Sequence[int],
    most: int,
) -> list[int]:
    """Return rows of a table of regrets in the order in which they help most.

    Parameters
    ----------
    regret : array of shape (pipelines, tables)
        How far behind the best.
    chances : array of shape (pipelines,)
        To be inside the fence.
    seconds : array of shape (pipelines,)
        What measuring each takes.
    begun : array of shape (tables,)
        Regrets of what is measured before.
    weights : array of shape (tables,)
        How much each table counts.
    first : sequence of int
        Rows that come first whatever they bring.
    most : int
        Rows to return.
    """
    order: list[int] = []
    left = begun.copy()
    while len(order) < min(most, len(regret)):
        if len(order) < len(first):
            chosen = first[len(order)]
        else:
            gains = np.maximum(0.0, left - regret) @ weights
            # Where nothing improves on any table any more, the smallest mean regret decides.
            gains = chances / seconds * (gains + 1e-9 * (2.0 - regret @ weights))
            gains[order] = -np.inf
            chosen = int(np.argmax(gains))
        order.append(chosen)
        # Outside the fence it will have brought nothing.
        left = left - chances[chosen] * np.maximum(0.0, left - regret[chosen])
    return order


def _admitted(space: Space, known: Learnt) -> dict[Configuration, int]:
    """Return the learnt pipelines of which a space has the algorithms and ranges, with their numbers."""
    modules = {module.name for module in space.modules}
    initial = space.initial
    admitted: dict[Configuration, int] = {}
    for number, pipeline in enumerate(known.pipelines):
        missing = [name for name in pipeline.choices if name not in modules]
        if any(name != ENCODER and pipeline.choices[name][0] != "none" for name in missing):
            continue
        choices = {
            name: pipeline.choices.get(name, (choice.algorithm, choice.params))
            for name, choice in initial.items()
        }
        try:
            configuration = space.decode(*space.encode(space.configuration(choices)))
        except ConfigurationError:
            continue
        # Without categories, pipelines that differ in their encoder are one.
        admitted.setdefault(configuration, number)
    return admitted


def _first_booster(
    found: Sequence[Configuration],
    likely: NDArray[np.bool_],
    costs: NDArray[np.float64],
    regret: NDArray[np.float64],
) -> list[int]:
    """Return which of some pipelines comes first: the best booster for the time that it takes."""
    boosters = [
        i
        for i, configuration in enumerate(found)
        if likely[i] and any(c.algorithm in _BOOSTERS for c in configuration.values())
    ]
    priced = regret + _DEARER * np.log2(np.maximum(costs, 1e-3))
    return sorted(boosters, key=lambda i: float(priced[i]))[:1]


def _stops(configuration: Configuration) -> bool:
    """Tell whether a booster finds out by itself how many trees are right for as many rows."""
    return any(bool(choice.params.get("early_stopping")) for choice in configuration.values())


def _reweighed(space: Space, found: Sequence[Configuration]) -> list[Configuration]:
    """Return pipelines with the first boosters repeated, where groups can be weighed."""
    module = next((m for m in space.modules if m.name == group_weights.MODULE), None)
    if module is None or all(a.name != group_weights.REWEIGHING for a in module.algorithms):
        return list(found)
    boosters = [c for c in found if any(choice.algorithm in _BOOSTERS for choice in c.values())]
    again: list[Configuration] = []
    for configuration in found:
        strengths = _STRENGTHS if configuration in boosters[:_REWEIGHED] else (0.0,)
        for strength in strengths:
            weighed = Choice(group_weights.REWEIGHING, {"strength": strength})
            choices = {**configuration, module.name: weighed} if strength else configuration
            again.append(space.decode(*space.encode(space.configuration(choices))))
    return again

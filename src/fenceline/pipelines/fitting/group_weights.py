"""How much the rows of each group count in fitting the model, as one more module of a space.

Where a constraint compares groups, a model that looks more at the group it serves worst can be worth
more than any other algorithm. Only the model is fitted with such weights: what comes before it is
shared by pipelines that differ in nothing else, and every metric lets the rows count as before.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import SpaceError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Real
from fenceline.problem.space import Algorithm, Module, Space

MODULE = "emphasis"
EMPHASIS = "Emphasis"
"""The algorithm's name; beside it stands "none", with which all groups count the same."""
LOG_WEIGHT = 3.0
"""How much more or less than in the first group a row may count: 20 times."""
MOST_GROUPS = 8
"""With more of them there is more to search than a budget can pay for, and all count the same."""

Emphasis: TypeAlias = tuple[float, ...]
"""Logarithms of what a row of the second, third ... group counts, relative to one of the first."""


def with_emphasis(
    space: Space, groups: int, low: float = -LOG_WEIGHT, high: float = LOG_WEIGHT
) -> Space:
    """Return the space with the weights of groups as its first module.

    Parameters
    ----------
    space : Space
        Of pipelines.
    groups : int
        How many groups are compared.
    low, high : float
        The range of the logarithm of a weight, relative to the first group's.
    """
    if searches_emphasis(space):
        raise SpaceError("The space searches the weights of groups already.")
    weights = {f"group_{n}": Real(low, high) for n in range(2, groups + 1)}
    module = Module(MODULE, [Algorithm("none"), Algorithm(EMPHASIS, weights)])
    return Space([module, *space.modules])


def searches_emphasis(space: Space) -> bool:
    """Tell whether a module of a space holds the weights of groups."""
    return any(module.name == MODULE for module in space.modules)


def searched(
    space: Space, table: Table, metrics: Iterable[PipelineMetric], *, wanted: bool
) -> Space:
    """Return the space with the weights of the groups that are compared, if that is wanted.

    A space that has a module of that name already is left as it is, if it suits the groups.
    """
    group = compared(metrics)
    groups = 0 if group is None else len(table.grouping(*group)[0])
    if searches_emphasis(space):
        _check(space, groups)
        return space
    return with_emphasis(space, groups) if wanted and 2 <= groups <= MOST_GROUPS else space


def _check(space: Space, groups: int) -> None:
    """Refuse weights of groups that are not there."""
    module = next(module for module in space.modules if module.name == MODULE)
    if not groups:
        raise SpaceError(
            f"The space has a module {MODULE!r}, and nothing compares groups; leave the module out."
        )
    for algorithm in module.algorithms:
        weights = groups - 1 if algorithm.name == EMPHASIS else 0
        if algorithm.name not in ("none", EMPHASIS) or len(algorithm.params) != weights:
            raise SpaceError(
                f"The module {MODULE!r} does not suit {groups} groups: {algorithm.name!r} has "
                f"{len(algorithm.params)} weights. Make it with with_emphasis(space, {groups})."
            )


def split_emphasis(configuration: Mapping[str, Choice]) -> tuple[dict[str, Choice], Emphasis]:
    """Return the choices that are steps of a pipeline, and the weights of groups; none if all count the same."""
    steps = dict(configuration)
    chosen = steps.pop(MODULE, None)
    weights = () if chosen is None else tuple(chosen.params.values())
    return steps, tuple(weight for weight in weights if isinstance(weight, float))


def compared(metrics: Iterable[PipelineMetric]) -> tuple[str, tuple[float, ...]] | None:
    """Return the group, and its bins, that the first metric of those that compare any compares."""
    return next(((m.groups[0], tuple(getattr(m, "bins", ()))) for m in metrics if m.groups), None)


def emphasised(
    emphasis: Emphasis, table: Table, rows: Rows, group: tuple[str, tuple[float, ...]]
) -> NDArray[np.float64]:
    """Return what each of some rows counts in fitting the model; 1 on average, or as much as before."""
    _, codes = table.grouping(*group)
    factors = np.exp([0.0, *emphasis])[codes[rows]]
    weights = np.ones(len(rows)) if table.weights is None else table.weights[rows]
    return np.asarray(weights * factors * (weights.sum() / (weights @ factors)))

"""The paper's artificial black-box objective, without and with constraints."""

import math
import operator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.problem.configuration import Configuration
from fenceline.problem.constraint import metric
from fenceline.problem.problem import Problem
from fenceline.problems.artificial_measure import ArtificialMeasure, Function, draw_function
from fenceline.problems.artificial_optimum import global_minimum
from fenceline.problems.artificial_space import HIGHEST, LOWEST, artificial_space, scale

_POPULATION = 20_000
_POPULATION_KEY = 2**32 - 1
"""Spawn key of the population's generator, out of reach of the functions' own 0, 1, 2, ..."""


def artificial(seed: int, constraints: int = 0, feasible_fraction: float = 0.1) -> Problem:
    """Return the artificial black-box problem of the paper's appendix.

    Every module turns the value f that reaches it into the largest absolute value of ten samples
    of N(f, v), drawn with the chosen algorithm's own fixed seed, where v = ``|w'theta / 1'theta|``
    depends on its hyper-parameters. The last module's value is the loss. It is neither convex nor
    monotone, costs microseconds, and its global minimum is known.

    Parameters
    ----------
    seed : int
        Draws the weights and samples; the loss depends on nothing else.
    constraints : int
        How many further functions of the same kind, ``g1``, ``g2``, ..., are bounded.
    feasible_fraction : float
        Share of random pipelines that satisfies all the constraints together.

    Returns
    -------
    Problem
        With ``optimum`` filled when there is no constraint.

    Examples
    --------
    >>> problem = artificial(0)
    >>> problem.space.size
    6776
    """
    seed = _count("seed", seed, "give the number of the problem you want, such as 0")
    constraints = _count("constraints", constraints, "give 0 for the unconstrained problem")
    _check_fraction(feasible_fraction)
    functions = tuple(draw_function(seed, index) for index in range(constraints + 1))
    names = tuple(f"g{m}" for m in range(1, constraints + 1))
    bounds = _bounds(seed, functions[1:], feasible_fraction) if constraints else []
    return Problem(
        artificial_space(),
        ArtificialMeasure(("loss", *names), functions),
        objective="loss",
        constraints=[metric(name) <= bound for name, bound in zip(names, bounds, strict=True)],
        optimum=None if constraints else _minimum(seed)[0],
    )


def artificial_optimum(seed: int) -> tuple[float, Configuration]:
    """Return the global minimum of ``artificial(seed)`` and a configuration that attains it.

    Parameters
    ----------
    seed : int
        As in :func:`artificial`.
    """
    return _minimum(_count("seed", seed, "give the number of the problem you want, such as 0"))


@lru_cache(maxsize=256)
def _minimum(seed: int) -> tuple[float, Configuration]:
    return global_minimum(draw_function(seed, 0))


def _bounds(seed: int, functions: tuple[Function, ...], fraction: float) -> list[float]:
    """Return the bounds that leave a share of a fixed random population feasible.

    Every bound is the same quantile of its own function. A pipeline is feasible at a quantile
    when its worst rank among the functions does not exceed it; so the quantile that leaves the
    wanted share is the same quantile of the worst ranks.
    """
    values = _population(seed, functions)
    worst = values.argsort(axis=0).argsort(axis=0).max(axis=1)
    rank = np.sort(worst)[math.ceil(fraction * _POPULATION) - 1]
    return [float(bound) for bound in np.sort(values, axis=0)[rank]]


def _population(seed: int, functions: tuple[Function, ...]) -> NDArray[np.float64]:
    """Return every function at pipelines distributed as ``Space.sample`` draws them."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_POPULATION_KEY,)))
    values = np.zeros((_POPULATION, len(functions)))
    for i, module in enumerate(artificial_space().modules):
        chosen = rng.integers(len(module.algorithms), size=_POPULATION)
        for j, algorithm in enumerate(module.algorithms):
            rows = np.flatnonzero(chosen == j)
            theta = np.ones((rows.size, max(1, len(algorithm.params))))
            for k, parameter in enumerate(algorithm.params.values()):
                table = scale(parameter)
                if table is None:
                    theta[:, k] = rng.uniform(LOWEST, HIGHEST, rows.size)
                else:
                    theta[:, k] = rng.choice(list(table.values()), rows.size)
            for m, function in enumerate(functions):
                step = function[i][j]
                f = values[rows, m]
                v = np.abs(theta @ np.array(step.weights) / theta.sum(axis=1))
                values[rows, m] = np.maximum(f + v * step.up, v * step.down - f)
    return values


def _count(name: str, value: object, remedy: str) -> int:
    """Return a whole number of at least 0, or refuse it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise DefinitionError(
            f"artificial: {name} must be a whole number of at least 0. Got {value!r}; {remedy}."
        )
    return operator.index(value)


def _check_fraction(value: object) -> None:
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
    if not numeric or not 0 < value <= 1:  # type: ignore[operator]
        raise DefinitionError(
            f"artificial: feasible_fraction must lie in (0, 1]. Got {value!r}; "
            "0.1 leaves every tenth random pipeline feasible."
        )

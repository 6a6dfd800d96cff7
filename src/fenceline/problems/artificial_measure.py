"""The artificial objective itself, fast enough to be called millions of times."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import mul
from typing import TypeAlias

import numpy as np

from fenceline.problem.configuration import Choice
from fenceline.problems.artificial_space import Scale, artificial_space, scale

SAMPLES = 10
"""Drawn by every algorithm, once and for all."""


@dataclass(frozen=True, slots=True)
class Operator:
    """What one algorithm does to the value that reaches it.

    The largest absolute value of samples ``f + v * s_m`` depends on the fixed standard normals
    ``s_m`` only through their extremes, so these are all that is kept.
    """

    weights: tuple[float, ...]
    up: float
    """The largest of the samples."""
    down: float
    """Minus the smallest."""


Function: TypeAlias = tuple[tuple[Operator, ...], ...]
"""The operators of one objective, by module and algorithm."""


def draw_function(seed: int, index: int) -> Function:
    """Draw the weights and samples of every algorithm; ``index`` tells objective and constraints apart."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    modules = []
    for module in artificial_space().modules:
        operators = []
        for algorithm in module.algorithms:
            # An algorithm without hyper-parameters gets one weight too, for a constant v.
            weights = rng.standard_normal(max(1, len(algorithm.params)))
            own = np.random.default_rng(int(rng.integers(2**63)))
            samples = own.standard_normal(SAMPLES)
            operators.append(
                Operator(tuple(weights.tolist()), float(samples.max()), float(-samples.min()))
            )
        modules.append(tuple(operators))
    return tuple(modules)


@dataclass(frozen=True, slots=True)
class ArtificialMeasure:
    """Measures a pipeline on one or more artificial functions.

    Parameters
    ----------
    metrics : tuple of str
        Names under which the functions are returned.
    functions : tuple of Function
        One per metric.
    """

    metrics: tuple[str, ...]
    functions: tuple[Function, ...]

    def __call__(
        self, configuration: Mapping[str, Choice], fidelity: float = 1.0
    ) -> dict[str, float]:
        """Return every metric; a lower fidelity would save nothing here and changes nothing."""
        steps = []
        for module, algorithms in _readers():
            choice = configuration[module]
            index, scales = algorithms[choice.algorithm]
            params = choice.params
            theta: list[float] = [
                params[name] if table is None else table[params[name]]  # type: ignore[misc]
                for name, table in scales
            ]
            steps.append((index, theta, sum(theta)))
        measured = {}
        for metric, function in zip(self.metrics, self.functions, strict=True):
            f = 0.0
            for operators, (index, theta, total) in zip(function, steps, strict=True):
                operator = operators[index]
                weights = operator.weights
                # A single theta cancels out: skipping the division keeps v constant to the last bit.
                v = abs(sum(map(mul, weights, theta)) / total if len(theta) > 1 else weights[0])
                f = max(f + v * operator.up, v * operator.down - f)
            measured[metric] = f
        return measured


_Readers: TypeAlias = tuple[tuple[str, dict[str, tuple[int, tuple[tuple[str, Scale], ...]]]], ...]


@cache
def _readers() -> _Readers:
    """Per module: its name, and per algorithm its index and how to read its hyper-parameters."""
    return tuple(
        (
            module.name,
            {
                algorithm.name: (j, tuple((n, scale(p)) for n, p in algorithm.params.items()))
                for j, algorithm in enumerate(module.algorithms)
            },
        )
        for module in artificial_space().modules
    )

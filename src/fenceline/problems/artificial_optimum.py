"""The exact global minimum of the artificial objective, from its structure.

The scale v of an algorithm is the absolute value of a ratio of two linear functions. For fixed
integers and categories the ratio takes every value between its extremes, which sit at vertices
of the box of the reals; so the reachable v form a union of intervals. One module maps an
interval of incoming f and an interval of v onto an interval of outgoing f. Carrying these unions
through the modules gives every reachable f, and the smallest at the end is the minimum. The sets
are needed in full: a module may turn a larger incoming f into a smaller one.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.parameter import Value
from fenceline.problem.space import Algorithm
from fenceline.problems.artificial_measure import Function, Operator
from fenceline.problems.artificial_space import HIGHEST, LOWEST, artificial_space, scale

Array: TypeAlias = NDArray[np.float64]
Intervals: TypeAlias = NDArray[np.float64]
"""Rows of (low, high), sorted and disjoint; a point is an interval of length 0."""

_HALVINGS = 100


def global_minimum(function: Function) -> tuple[float, Configuration]:
    """Return the smallest value of a function, and a configuration that attains it."""
    space = artificial_space()
    ranges = [
        [
            Ratio.of(operator, algorithm)
            for operator, algorithm in zip(row, module.algorithms, strict=True)
        ]
        for row, module in zip(function, space.modules, strict=True)
    ]
    scales = [[_merge(ratio.magnitudes) for ratio in row] for row in ranges]
    reached: list[Intervals] = [np.zeros((1, 2))]
    for operators, sets in zip(function, scales, strict=True):
        images = [
            _image(reached[-1], v, op).reshape(-1, 2) for op, v in zip(operators, sets, strict=True)
        ]
        reached.append(_merge(np.concatenate(images)))
    minimum = float(reached.pop()[0, 0])

    # Backwards: which algorithm, incoming f and v produce the value that is wanted next?
    wanted = minimum
    chosen: dict[str, Choice] = {}
    for i in reversed(range(len(space.modules))):
        j, wanted, v = _explain(wanted, reached[i], function[i], scales[i])
        algorithm = space.modules[i].algorithms[j]
        chosen[space.modules[i].name] = Choice(algorithm.name, ranges[i][j].params(v))
    return minimum, space.configuration(chosen)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The signed ratio w'theta / 1'theta of one algorithm, over all its integers and categories."""

    algorithm: Algorithm
    weights: Array
    shape: tuple[int, ...]
    """Number of values of every integer and category."""
    low: Array
    """Smallest ratio, per assignment of the integers and categories."""
    high: Array

    @classmethod
    def of(cls, operator: Operator, algorithm: Algorithm) -> "Ratio":
        """Tabulate the extremes of an algorithm's ratio."""
        weights = np.array(operator.weights)
        scales = [scale(p) for p in algorithm.params.values()]
        shape = tuple(len(s) for s in scales if s is not None)
        if len(scales) < 2:
            constant = np.broadcast_to(weights, (math.prod(shape),))
            return cls(algorithm, weights, shape, constant, constant)
        top, bottom = np.zeros(1), np.zeros(1)
        for weight, table in zip(weights, scales, strict=True):
            if table is not None:
                theta = np.array(list(table.values()))
                top = np.add.outer(top, weight * theta).ravel()
                bottom = np.add.outer(bottom, theta).ravel()
        real_weights = weights[[s is None for s in scales]]
        low, high = np.full(top.shape, np.inf), np.full(top.shape, -np.inf)
        for vertex in product((LOWEST, HIGHEST), repeat=real_weights.size):
            ratio = (top + real_weights @ np.array(vertex)) / (bottom + sum(vertex))
            np.minimum(low, ratio, out=low)
            np.maximum(high, ratio, out=high)
        return cls(algorithm, weights, shape, low, high)

    @property
    def magnitudes(self) -> Array:
        """The intervals of |ratio|, one per assignment; 0 is reached where the sign changes."""
        nearest = np.maximum(0.0, np.maximum(self.low, -self.high))
        return np.column_stack([nearest, np.maximum(np.abs(self.low), np.abs(self.high))])

    def params(self, v: float) -> dict[str, Value]:
        """Return hyper-parameters whose |ratio| is v."""
        gap = {q: np.maximum(np.maximum(self.low - q, q - self.high), 0.0) for q in (v, -v)}
        ratio = min(gap, key=lambda q: float(gap[q].min()))
        digits = iter(np.unravel_index(int(gap[ratio].argmin()), self.shape) if self.shape else ())
        params: dict[str, Value] = {}
        top = bottom = 0.0
        reals: dict[str, float] = {}
        for (name, parameter), weight in zip(
            self.algorithm.params.items(), self.weights, strict=False
        ):
            table = scale(parameter)
            if table is None:
                params[name] = LOWEST
                reals[name] = float(weight)
            else:
                params[name], theta = list(table.items())[int(next(digits))]
                top, bottom = top + weight * theta, bottom + theta
        if reals:
            solved = _solve(np.array(list(reals.values())), top, bottom, ratio)
            params.update(zip(reals, solved.tolist(), strict=True))
        return params


def _solve(weights: Array, top: float, bottom: float, ratio: float) -> Array:
    """Return x in the box with (top + w'x) / (bottom + 1'x) = ratio.

    That is a linear equation: (w - ratio)'x = ratio * bottom - top. Its left side grows on the way
    from the vertex that makes it smallest to the opposite one.
    """
    slopes = weights - ratio
    start = np.where(slopes > 0, LOWEST, HIGHEST)
    end = np.where(slopes > 0, HIGHEST, LOWEST)
    length = float(slopes @ (end - start))
    part = (ratio * bottom - top - float(slopes @ start)) / length if length else 0.0
    return np.asarray(start + min(max(part, 0.0), 1.0) * (end - start))


def _merge(intervals: Array) -> Intervals:
    """Return the union of intervals."""
    intervals = intervals[np.argsort(intervals[:, 0])]
    ends = np.maximum.accumulate(intervals[:, 1])
    starts = np.flatnonzero(np.r_[True, intervals[1:, 0] > ends[:-1]])
    return np.column_stack([intervals[starts, 0], np.maximum.reduceat(ends, starts)])


def _step(f: Array, v: Array, operator: Operator) -> Array:
    return np.maximum(f + v * operator.up, v * operator.down - f)


def _extremal_points(f: Intervals, v: Intervals, operator: Operator) -> tuple[Array, Array]:
    """Return points of each rectangle f x v among which a module's output is smallest and largest.

    The output is the larger of two linear functions: largest at a vertex, smallest at a vertex or
    where an edge crosses the line on which the two are equal.
    """
    f_low, f_high = f[..., 0], f[..., 1]
    v_low, v_high = v[..., 0], v[..., 1]
    tilt = (operator.down - operator.up) / 2  # equal where f = tilt * v
    points = [(f_end, v_end) for f_end in (f_low, f_high) for v_end in (v_low, v_high)]
    points += [(np.clip(tilt * v_end, f_low, f_high), v_end) for v_end in (v_low, v_high)]
    points += [(f_end, np.clip(f_end / tilt, v_low, v_high)) for f_end in (f_low, f_high)]
    shape = np.broadcast_shapes(f_low.shape, v_low.shape)
    return (
        np.stack([np.broadcast_to(p, shape) for p, _ in points]),
        np.stack([np.broadcast_to(q, shape) for _, q in points]),
    )


def _image(f: Intervals, v: Intervals, operator: Operator) -> Array:
    """Return (low, high) of a module's output, for every interval of f and every one of v."""
    values = _step(*_extremal_points(f[:, None], v[None], operator), operator)
    return np.stack([values.min(axis=0), values.max(axis=0)], axis=-1)


def _explain(
    wanted: float, f: Intervals, operators: tuple[Operator, ...], scales: list[Intervals]
) -> tuple[int, float, float]:
    """Return an algorithm, an incoming f and a v from which a module makes the wanted value."""
    found = []
    for j, (operator, v) in enumerate(zip(operators, scales, strict=True)):
        image = _image(f, v, operator)
        gap = np.maximum(np.maximum(image[..., 0] - wanted, wanted - image[..., 1]), 0.0)
        best = int(gap.argmin())
        found.append((float(gap.flat[best]), j, *divmod(best, len(v))))
    _, j, row, column = min(found)
    operator = operators[j]
    points = np.stack(_extremal_points(f[row], scales[j][column], operator), axis=-1)
    values = _step(points[:, 0], points[:, 1], operator)
    low, high = points[values.argmin()], points[values.argmax()]
    # Convex and smallest at `low`, the output cannot fall on the way to `high`: halve the way.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _step(middle[0], middle[1], operator) < wanted:
            low = middle
        else:
            high = middle
    return j, float(low[0]), float(low[1])

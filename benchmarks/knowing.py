"""An agent that knows how the artificial problems are made: nobody can be expected to do better.

It has the formula and the distributions of its coefficients, and keeps functions that agree with
everything measured, by elliptical slice sampling (Murray, Adams and MacKay 2010,
https://proceedings.mlr.press/v9/murray10a.html) of all coefficients at once. It always tries the
pipeline that most of these functions find inside the fence. What it needs to get there is due to
what the first measurements cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fenceline import Problem
from fenceline.problem.problem import Evaluator
from fenceline.problems.artificial_measure import SAMPLES
from fenceline.problems.artificial_space import artificial_space, scale
from fenceline.search.iterate import Iterate
from fenceline.search.structured.lattice import Lattice

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FUNCTIONS = 160
"""Kept of each metric."""
_TOLERANCES = ((1.0, 15), (0.4, 15), (0.15, 40))
"""How closely functions agree with what was measured, and for how many steps: nearer by and by."""
_DRAWN, _CHANGED, _KEPT, _ROUNDS = 2500, 1500, 25, 2
"""Pipelines at random, variations of the best, the best, and how often they are varied."""

_SPACE = artificial_space()
_LATTICE = Lattice(_SPACE)
_SIZES = [len(module.algorithms) for module in _SPACE.modules]
_FIRST_ARM = np.cumsum([0, *_SIZES])
_ARMS = int(_FIRST_ARM[-1])
_WIDTHS = [[max(1, len(a.params)) for a in module.algorithms] for module in _SPACE.modules]
_FIRST_WEIGHT = np.cumsum([0, *(width for widths in _WIDTHS for width in widths)])
_WEIGHTS = int(_FIRST_WEIGHT[-1])
_WIDEST = max(map(max, _WIDTHS))
_ALL = _WEIGHTS + 2 * _ARMS


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Pipelines, and what of them enters the formula."""

    z: Indices
    theta: Array
    arms: Indices
    """Per module, which of all algorithms."""
    weights: Indices
    """Per module, where among all weights those of the algorithm stand; padded."""
    shares: Array
    """Per module, theta over its sum; zero where padded."""

    @classmethod
    def of(cls, z: Indices, theta: Array) -> Pipelines:
        """Look up the weights that rows of z and theta use."""
        shape = (*z.shape, _WIDEST)
        weights, shares = np.zeros(shape, dtype=np.intp), np.zeros(shape)
        arms = z + _FIRST_ARM[:-1]
        for i, module in enumerate(_SPACE.modules):
            for j, algorithm in enumerate(module.algorithms):
                rows = np.flatnonzero(z[:, i] == j)
                width = _WIDTHS[i][j]
                values = np.ones((len(rows), width))
                columns = _SPACE.columns[i][j]
                for k, parameter in enumerate(algorithm.params.values()):
                    unit, table = theta[rows, columns.start + k], scale(parameter)
                    if table is None:
                        values[:, k] = parameter.low + unit * (parameter.high - parameter.low)
                    else:
                        steps = np.array(list(table.values()))
                        values[:, k] = steps[np.rint(unit * (len(steps) - 1)).astype(np.intp)]
                weights[rows, i, :width] = _FIRST_WEIGHT[arms[rows, i]][:, None] + np.arange(width)
                shares[rows, i, :width] = values / values.sum(axis=1, keepdims=True)
        return cls(z, theta, arms, weights, shares)

    def __getitem__(self, rows: Indices) -> Pipelines:
        return Pipelines(
            self.z[rows], self.theta[rows], self.arms[rows], self.weights[rows], self.shares[rows]
        )

    def followed_by(self, other: Pipelines) -> Pipelines:
        """Return these pipelines and others."""
        return Pipelines.of(np.vstack([self.z, other.z]), np.vstack([self.theta, other.theta]))

    @classmethod
    def drawn(cls, rng: np.random.Generator, count: int) -> Pipelines:
        """Draw pipelines as the problem's population was drawn."""
        z = np.column_stack([rng.integers(size, size=count) for size in _SIZES])
        return cls.of(z.astype(np.intp), _LATTICE.sample(rng, count))

    def changed(self, rng: np.random.Generator, count: int) -> Pipelines:
        """Return variations: one or two modules with other algorithms, random or middling values."""
        parents = rng.integers(len(self.z), size=count)
        z, theta = self.z[parents].copy(), self.theta[parents].copy()
        others = Pipelines.drawn(rng, count)
        middle = rng.random(count) < 0.5
        first, second = (rng.integers(len(_SIZES), size=count) for _ in range(2))
        for i in range(len(_SIZES)):
            moves = (first == i) | (second == i)
            swaps = moves & (rng.random(count) < 0.6)
            z[swaps, i] = others.z[swaps, i]
            span = slice(_SPACE.columns[i][0].start, _SPACE.columns[i][-1].stop)
            theta[moves, span] = np.where(middle[moves, None], 0.5, others.theta[moves, span])
        return Pipelines.of(z, _LATTICE.project(theta))


def values(functions: Array, pipelines: Pipelines) -> Array:
    """Return what each function (a row of coefficients) says of each pipeline.

    The extremes of an algorithm's fixed samples are the largest of ten normals; as functions of
    one normal each they are sampled like the weights.
    """
    extremes = ndtri(ndtr(functions[:, _WEIGHTS:]) ** (1.0 / SAMPLES))
    up, down = extremes[:, :_ARMS], extremes[:, _ARMS:]
    f = np.zeros((len(functions), len(pipelines.z)))
    for i in range(len(_SIZES)):
        arms, shares = pipelines.arms[:, i], pipelines.shares[:, i]
        v = np.abs(np.einsum("cmd,md->cm", functions[:, pipelines.weights[:, i]], shares))
        f = np.maximum(f + v * up[:, arms], v * down[:, arms] - f)
    return f


def agreeing(
    functions: Array, pipelines: Pipelines, measured: Array, rng: np.random.Generator
) -> Array:
    """Return functions that agree with what was measured, reached from others."""
    for tolerance, steps in _TOLERANCES:

        def agreement(candidates: Array, tolerance: float = tolerance) -> Array:
            misses = (values(candidates, pipelines) - measured) / tolerance
            return np.asarray(-0.5 * np.einsum("ij,ij->i", misses, misses))

        now = agreement(functions)
        for _ in range(steps):
            functions, now = _slice(functions, now, agreement, rng)
    return functions


def _slice(
    functions: Array, now: Array, agreement: Callable[[Array], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Take one step on the ellipse through every function and a random one."""
    directions = rng.standard_normal(functions.shape)
    least = now + np.log(rng.random(len(functions)))
    angle = rng.uniform(0.0, 2.0 * math.pi, len(functions))
    low, high = angle - 2.0 * math.pi, angle.copy()
    moved, reached = functions.copy(), now.copy()
    left = np.arange(len(functions))
    while len(left):
        cosine, sine = np.cos(angle[left])[:, None], np.sin(angle[left])[:, None]
        tried = functions[left] * cosine + directions[left] * sine
        found = agreement(tried)
        good = found > least[left]
        moved[left[good]], reached[left[good]] = tried[good], found[good]
        left = left[~good]
        below = angle[left] < 0
        low[left[below]] = angle[left[below]]
        high[left[~below]] = angle[left[~below]]
        angle[left] = rng.uniform(low[left], high[left])
    return moved, reached


@dataclass(frozen=True, slots=True)
class Knowing:
    """Tries, again and again, what most functions that agree with the past find inside the fence."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search until the budget is spent; the loss does not matter."""
        names = [c.metric for c in problem.constraints]
        bounds = [c.bound for c in problem.constraints]
        functions = [rng.standard_normal((_FUNCTIONS, _ALL)) for _ in names]
        while True:
            pipelines = Pipelines.drawn(rng, _DRAWN)
            for turn in range(_ROUNDS + 1):
                chances = np.zeros(len(pipelines.z))
                for kept, bound in zip(functions, bounds, strict=True):
                    inside = (values(kept, pipelines) <= bound).mean(axis=0)
                    chances += np.log(inside + 0.3 / _FUNCTIONS)
                best = pipelines[np.argsort(-chances, kind="stable")[:_KEPT]]
                if turn < _ROUNDS:
                    pipelines = best.followed_by(best.changed(rng, _CHANGED))
            choices = tuple(int(j) for j in best.z[0])
            evaluator.submit(problem.space.decode(choices, best.theta[0]))
            history = evaluator.history
            encoded = [problem.space.encode(e.configuration) for e in history]
            known = Pipelines.of(
                np.array([z for z, _ in encoded], dtype=np.intp), np.array([t for _, t in encoded])
            )
            for m, name in enumerate(names):
                measured = np.array([e.metrics[name] for e in history])
                functions[m] = agreeing(functions[m], known, measured, rng)
            yield from ()

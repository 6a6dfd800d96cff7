"""Pipelines of several shapes: slots of one module are compared crosswise, orders pair by pair.

The kernel of a module that takes a set of algorithms is the mean over its slots of what they have in
common with *any* slot of the other pipeline, so that {pca, poly} and {poly, select} share what is
known of poly. In a chain, where an algorithm stands counts half. Two orders are as alike as the share
of pairs of modules that they leave in the same order. All of these are sums of products of
indicators, and so kernels; algorithms of a set are distinct, and so the variance stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fenceline.problem.space import Space
from fenceline.problem.template import NONE, SHAPE
from fenceline.search.surrogates.matern import Array, Indices, matern

if TYPE_CHECKING:
    from fenceline.search.surrogates.pipeline_kernel import Part

_ELSEWHERE = 0.5
"""What the same algorithm at another place of a chain has in common."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of each module, and what they share.

    Parameters
    ----------
    others : tuple of tuples of pairs
        Of each module, the other slots that it is compared with, and the weight.
    empty : tuple of int
        Of each module, the algorithm that leaves it empty; -1 if there is none.
    shape : int
        The module that holds the shapes; -1 if there is none.
    agreement : array
        How alike two shapes are.
    tied : array of int
        Of each entry of a vector of logarithms of amplitudes (the last three or so apart), the one it
        follows.
    """

    others: tuple[tuple[tuple[int, float], ...], ...]
    empty: tuple[int, ...]
    shape: int
    agreement: Array
    tied: Indices

    @classmethod
    def of(cls, space: Space) -> Slots:
        """Read a space."""
        names = [module.name for module in space.modules]
        shapes = space.shapes
        columns, count = len(space.parameters), len(names)
        tied = np.arange(columns + 2 * count)
        others: list[tuple[tuple[int, float], ...]] = [() for _ in names]
        if shapes is None:
            return cls(tuple(others), (-1,) * count, -1, np.ones((1, 1)), tied)
        for source, join in shapes.joins.items():
            group = [names.index(slot) for slot in shapes.slots_of[source]]
            weight = 1.0 if join == "union" else _ELSEWHERE
            for i in group:
                others[i] = tuple((s, weight) for s in group if s != i)
                tied[columns + i] = columns + group[0]
                tied[columns + count + i] = columns + count + group[0]
                for own, first in zip(space.columns[i], space.columns[group[0]], strict=False):
                    tied[own] = np.arange(first.start, first.stop)
        empty = tuple(
            next((j for j, a in enumerate(m.algorithms) if a.name == NONE), -1)
            for m in space.modules
        )
        return cls(tuple(others), empty, names.index(SHAPE), shapes.agreement, tied)

    def compared(
        self,
        i: int,
        left: Part,
        right: Sequence[Part],
        scales: Array,
        found: tuple[Array, Array, Array],
    ) -> tuple[Array, Array, Array]:
        """Return sameness, correlation and slope with every slot of the module; `found` are its own."""
        if i == self.shape:
            alike = self.agreement[np.ix_(left.algorithm, right[i].algorithm)]
            return alike, alike, np.zeros_like(alike)
        for s, weight in self.others[i]:
            more = self._crosswise(i, left, right[s], scales, weight)
            found = (found[0] + more[0], found[1] + more[1], found[2] + more[2])
        return found

    def stretched(self, i: int, parts: Sequence[Part], scales: Array, pull: Array) -> Array:
        """Return, for each feature of a slot, what its squared differences weigh in a gradient.

        `pull` is what the correlation of each pair of pipelines weighs, without its slope.
        """
        A = parts[i].features / scales
        squares = np.zeros(A.shape[1])
        for s, weight in ((i, 1.0), *self.others[i]):
            B = parts[s].features / scales
            pairs = pull * self._crosswise(i, parts[i], parts[s], scales, weight, own=s == i)[2]
            squares += pairs.sum(axis=1) @ (A * A) + pairs.sum(axis=0) @ (B * B)
            squares -= 2.0 * np.einsum("ij,ij->j", A, pairs @ B)
        return squares

    def _crosswise(
        self, i: int, left: Part, right: Part, scales: Array, weight: float, own: bool = False
    ) -> tuple[Array, Array, Array]:
        same = weight * np.equal.outer(left.algorithm, right.algorithm)
        if not own:  # an empty slot is like itself only
            same[left.algorithm == self.empty[i]] = 0.0
        correlation, slope = matern(left.features / scales, right.features / scales)
        return same, same * correlation, same * slope

    def matches(self, i: int, j: int, parts: Sequence[Part]) -> tuple[Indices, Array, Array]:
        """Return the evaluations that share algorithm j of module i: rows, weights and features."""
        if i == self.shape:
            alike = self.agreement[j, parts[i].algorithm]
            rows = np.flatnonzero(alike)
            return rows, alike[rows], parts[i].features[rows]
        found = [(i, 1.0), *(self.others[i] if j != self.empty[i] else ())]
        rows_of = [np.flatnonzero(parts[s].algorithm == j) for s, _ in found]
        return (
            np.concatenate(rows_of),
            np.repeat([weight for _, weight in found], [len(rows) for rows in rows_of]),
            np.concatenate(
                [parts[s].features[rows] for (s, _), rows in zip(found, rows_of, strict=True)]
            ),
        )

    def tie(self, logarithms: Array) -> Array:
        """Return amplitudes of which slots of one module have the same."""
        tied = logarithms.copy()
        tied[: len(self.tied)] = logarithms[self.tied]
        return tied

    def gathered(self, gradient: Array) -> Array:
        """Return a gradient in tied amplitudes as one in those that others follow."""
        out = gradient.copy()
        out[: len(self.tied)] = np.bincount(
            self.tied, gradient[: len(self.tied)], minlength=len(self.tied)
        )
        return out

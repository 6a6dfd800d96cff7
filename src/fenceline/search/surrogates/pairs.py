"""Pairs of pipelines that use the same algorithm somewhere: all that hyper-parameters can relate.

Of n (n - 1) / 2 pairs only those with a common algorithm in a module differ from all others there.
With them as one long list a likelihood costs a fraction of what dense matrices per module take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from fenceline.search.surrogates.matern import Array, Indices
from fenceline.search.surrogates.pipeline_kernel import Part, Structure


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of n pipelines, and for each module those that share its algorithm."""

    first: Indices
    second: Indices
    flat: Indices  # where each pair stands in a matrix that is laid out row by row
    entry: Indices  # the pair of each shared algorithm, module by module
    starts: Indices  # of each module in that list, and its end
    squares: csr_array  # of differences, a column per hyper-parameter
    by_parameter: csr_array  # the same, transposed
    by_module: csr_array  # ones where an entry belongs to a module

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, structure: Structure, parts: tuple[Part, ...]) -> Pairs:
        """List the pairs of some pipelines; kept, for every metric is learnt from the same ones."""
        n, width = len(parts[0]), len(structure.space.parameters)
        first, second = _upper(n)
        none = np.empty(0, dtype=np.intp)
        entries, counts, data, columns, lengths = [none], [], [np.empty(0)], [none], [none]
        for i, part in enumerate(parts):
            shared = 0
            for j in np.flatnonzero(np.bincount(part.algorithm) > 1):
                at = np.flatnonzero(part.algorithm == j)
                left, right = _upper(len(at))
                a, b = at[left], at[right]
                own = structure.features_of(i, int(j))
                features = part.features[np.ix_(at, own)]
                entries.append(a * n - a * (a + 1) // 2 + b - a - 1)
                data.append(((features[left] - features[right]) ** 2).ravel())
                columns.append(np.tile(structure.columns[i][own], len(a)))
                lengths.append(np.full(len(a), len(own)))
                shared += len(a)
            counts.append(shared)
        ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        squares = csr_array(
            (np.concatenate(data), np.concatenate(columns), ends), shape=(len(ends) - 1, width)
        )
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        every = np.arange(starts[-1])
        # Row by row a sum stays in a register: half the time of a column-wise product.
        return cls(
            first,
            second,
            first * n + second,
            np.concatenate(entries),
            starts,
            squares,
            squares.T.tocsr(),
            csr_array((np.ones(len(every)), every, starts), shape=(len(parts), len(every))),
        )

    def matrix(self, pairs: Array, diagonal: Array) -> Array:
        """Return a symmetric matrix of which LAPACK's lower triangle is filled, as it is read."""
        n = len(diagonal)
        full = np.zeros((n, n))
        full.ravel()[self.flat] = pairs
        full.flat[:: n + 1] = diagonal
        return full


@lru_cache(maxsize=32)
def _upper(n: int) -> tuple[Indices, Indices]:
    """Return the pairs of n things; most algorithms have as many evaluations as at the last fit."""
    return np.triu_indices(n, 1)

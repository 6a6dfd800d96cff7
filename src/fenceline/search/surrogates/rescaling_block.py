"""How much better other scales of one algorithm's hyper-parameters explain what was measured.

Scales change the kernel between evaluations of that algorithm only. With those last, the Cholesky
factor of the kernel begins with a part that no trial changes, and what a trial adds to the
likelihood comes from the small block that is left when everything else is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtrs

from fenceline.search.surrogates.matern import Array, Indices, cholesky, matern_at
from fenceline.search.surrogates.pipeline_gp import JITTER, SharedProcess
from fenceline.search.surrogates.pipeline_kernel import APART, Structure, assemble
from fenceline.search.surrogates.pipeline_likelihood import length_scale_prior
from fenceline.search.surrogates.rescaling import bent

MOST = 120
"""Evaluations that all scales are learnt from: a factor costs the cube of their number."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A process's kernel between some of its evaluations; blocks write to it what they adopt."""

    process: SharedProcess
    """Of those evaluations; it predicts nothing."""
    whole: Array
    interaction: Array
    """Of which blocks keep the upper triangle only."""

    @classmethod
    def of(cls, structure: Structure, process: SharedProcess) -> Kernel:
        """Compute it from what the process has learnt."""
        n, amplitudes = len(process.z), process.amplitudes
        rows = np.unique(np.linspace(0, n - 1, min(n, MOST)).astype(np.intp))
        # As they are where nothing is left out, so that all metrics share what is computed of them.
        parts = process.parts if len(rows) == n else tuple(part[rows] for part in process.parts)
        nothing = np.empty(0)
        few = SharedProcess(
            structure, amplitudes, parts, process.z[rows], nothing[None], 0.0, nothing
        )
        effects = [few.effects(i, part) for i, part in enumerate(parts)]
        interaction = np.full((len(rows), len(rows)), amplitudes.interaction)
        for _, factor in effects:
            interaction *= factor
        whole = assemble(amplitudes, effects)
        whole.flat[:: len(whole) + 1] += amplitudes.noise + JITTER
        return cls(few, whole, interaction)


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """The evaluations of a block when all others are known."""

    covariance: Array
    left: Array
    """Observations, and ones, less what the others predict of them."""
    products: Array
    """Of observations and ones, from the others."""
    unexplained: float
    """What the others add to the likelihood beside these."""

    @classmethod
    def of(cls, kernel: Kernel, rows: Indices) -> _Given:
        z = kernel.process.z
        observed = np.column_stack([z, np.ones(len(z))])
        block = kernel.whole[np.ix_(rows, rows)]
        others = np.delete(np.arange(len(z)), rows)
        if len(others) == 0:
            return cls(block, observed, np.zeros((2, 2)), 0.0)
        among = kernel.whole[np.ix_(others, others)]
        factor = cholesky(among, np.empty_like(among))
        both = np.hstack([kernel.whole[np.ix_(others, rows)], observed[others]])
        white = dtrtrs(factor, both, lower=1)[0]
        m, products = len(rows), white.T @ white
        return cls(
            block - products[:m, :m],
            observed[rows] - products[:m, m:],
            products[m:, m:],
            float(np.log(factor.diagonal()).sum()),
        )

    def __call__(self, covariance: Array) -> float:
        """Return the negative log likelihood, less a constant, with another covariance."""
        factor = cholesky(covariance, np.empty_like(covariance))
        white = dtrtrs(factor, self.left, lower=1)[0]
        (zz, z1), (_, ones) = self.products + white.T @ white
        # The constant mean that suits the observations best is taken out.
        explained = 0.5 * (zz - z1 * z1 / ones)
        return float(explained + self.unexplained + np.log(factor.diagonal()).sum())


@dataclass(slots=True, eq=False)
class Block:
    """The evaluations of one algorithm within a kernel: all that its scales can change."""

    kernel: Kernel
    module: int
    pairs: tuple[Indices, Indices]
    """Of its evaluations, as places in the block; the first stands before the second."""
    whole: tuple[Indices, Indices]
    """The same pairs in the whole kernel."""
    columns: Indices
    """Of theta, behind each feature."""
    scales: Array
    place: Array
    """Coordinates in the unit interval, on the scales of the ranges."""
    apart: Array
    """Squared differences of the pairs on today's scales, a row for each feature."""
    correlation: Array
    given: _Given
    unexplained: float

    @classmethod
    def of(cls, kernel: Kernel, structure: Structure, i: int, j: int) -> Block:
        """Take the evaluations that use algorithm j in module i out of a kernel."""
        part = kernel.process.parts[i]
        rows, own = np.flatnonzero(part.algorithm == j), structure.features_of(i, j)
        columns, features = structure.columns[i][own], part.features[np.ix_(rows, own)]
        scales = kernel.process.amplitudes.length_scales[columns]
        place = structure.rescaling.inverse(features + 0.5, columns)
        a, b = pairs = np.triu_indices(len(rows), 1)
        apart = (features[a] - features[b]).T ** 2
        correlation = matern_at(5.0 * (scales**-2.0 @ apart))[0]
        given = _Given.of(kernel, rows)
        unexplained, whole = given(given.covariance), (rows[a], rows[b])
        return cls(
            kernel, i, pairs, whole, columns, scales, place, apart, correlation, given, unexplained
        )

    def at(self, k: int) -> int:
        """Return which feature a column of theta is."""
        return int(np.flatnonzero(self.columns == k)[0])

    @property
    def usual_length_scale(self) -> float:
        """The median of its prior."""
        return float(np.exp(self._prior[0]))

    def gains(self, k: int, trials: Sequence[tuple[float, float]]) -> list[float]:
        """Return by how many nats more other scales of one column explain: bends and length scales."""
        if not trials:
            return []
        change = _Change.of(self, k)
        centre, width = self._prior
        lengths = np.log([self.scales[change.at], *(length for _, length in trials)])
        old, *new = 0.5 * ((lengths - centre) / width) ** 2
        # Bends come with several length scales each.
        apart = {bend: change.apart(bend) for bend in {bend for bend, _ in trials}}
        correlations = change.correlation(
            np.array([apart[bend] for bend, _ in trials]),
            np.array([length for _, length in trials])[:, None],
        )
        added = (correlations - self.correlation) * change.slope
        added += self.given.covariance[self.pairs]
        covariance, found = self.given.covariance.copy(), []
        for kernel, prior in zip(added, new, strict=True):
            covariance[self.pairs] = kernel
            found.append(float(self.unexplained - self.given(covariance) + old - prior))
        return found

    def adopt(self, k: int, bend: float, length_scale: float) -> None:
        """Go on with another scale of one column."""
        change, whole, (a, b) = _Change.of(self, k), self.kernel.whole, self.whole
        apart = change.apart(bend)
        correlation = change.correlation(apart, length_scale)
        added = (correlation - self.correlation) * change.slope
        self.given.covariance[self.pairs] += added
        self.unexplained = self.given(self.given.covariance)
        whole[a, b] += added
        whole[b, a] = whole[a, b]
        self.kernel.interaction[a, b] *= _factor(correlation) / _factor(self.correlation)
        self.apart[change.at], self.correlation = apart, correlation
        self.scales[change.at] = length_scale

    @property
    def _prior(self) -> tuple[float, float]:
        return length_scale_prior(len(np.unique(self.columns)))


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """Other scales of one column of a block; what they leave as it is has been computed once."""

    block: Block
    at: int
    others: Array
    """Squared differences of the pairs in the other columns, in their length scales."""
    slope: Array
    """By how much the kernel of a pair changes with its correlation, in which it is linear."""

    @classmethod
    def of(cls, block: Block, k: int) -> _Change:
        at = block.at(k)
        others = np.arange(len(block.columns)) != at
        squared = block.scales[others] ** -2.0 @ block.apart[others]
        rest = block.kernel.interaction[block.whole] / _factor(block.correlation)
        own = block.kernel.process.amplitudes.matern[block.module]
        return cls(block, at, squared, own + (1.0 - APART) * rest)

    def apart(self, bend: float) -> Array:
        """Return the squared differences of the pairs in this column with another bend."""
        place, (a, b) = self.block.place[:, self.at], self.block.pairs
        x = bent(place, bend) if bend else place
        return np.asarray((x[a] - x[b]) ** 2)

    def correlation(self, apart: Array, length_scale: Array | float) -> Array:
        """Return the correlations of the pairs that are so far apart in this column."""
        return matern_at(5.0 * (self.others + apart / length_scale**2))[0]


def _factor(correlation: Array) -> Array:
    """Return what a module brings to the interaction of pipelines that share its algorithm."""
    return APART + (1.0 - APART) * correlation

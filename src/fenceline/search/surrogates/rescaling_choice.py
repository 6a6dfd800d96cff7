"""Which scale each hyper-parameter has: the one on which the models explain most.

Scales are tried one at a time, with everything else that the models have learnt as it is. That
changes the kernel between evaluations of one algorithm only, so a trial costs one small block of it
and a Cholesky factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenceline.search.surrogates.matern import Array, Indices, cholesky, matern_at
from fenceline.search.surrogates.pair_likelihood import explained
from fenceline.search.surrogates.pipeline_gp import JITTER, SharedProcess
from fenceline.search.surrogates.pipeline_kernel import APART, Structure, assemble
from fenceline.search.surrogates.pipeline_likelihood import length_scale_prior
from fenceline.search.surrogates.rescaling import Rescaling, bent, contenders

PRIOR = 3.0
"""In nats, against any scale that is not that of the range."""
LEAST = 6
"""Evaluations of an algorithm that its scales are learnt from."""
MOST = 120
"""Evaluations that all scales are learnt from: a factor costs the cube of their number."""
HOPELESS = -2.0
"""In nats: an end of a range whose logarithm explains so much less is tried with no other bend."""
_FIRST = 1e3


def better_rescaling(
    structure: Structure, processes: Sequence[SharedProcess]
) -> tuple[Rescaling, dict[int, float]]:
    """Return the scales that explain all metrics best, one changed after the other.

    Also, by column, the length scales that suit those that have changed; {} if none has.
    """
    space, now = structure.space, structure.rescaling
    kernels = [_Kernel.of(structure, process) for process in processes]
    changed: dict[int, float] = {}
    for i, module in enumerate(space.modules):
        for j in range(len(module.algorithms)):
            columns = range(space.columns[i][j].start, space.columns[i][j].stop)
            tried = {k: contenders(space.parameters[k]) for k in columns}
            rows = np.flatnonzero(kernels[0].process.parts[i].algorithm == j)
            if len(rows) < LEAST or not any(tried.values()):
                continue
            blocks = [_Block.of(kernel, structure, i, j) for kernel in kernels]
            for k, bends in tried.items():
                best = _best(blocks, k, now.bend(k), bends)
                if best is not None:
                    bend, length_scale = best
                    now = now.changed(k, bend, len(space.parameters))
                    changed[k] = length_scale
                    for block in blocks:
                        block.adopt(k, bend, length_scale)
    return now, changed


def _best(
    blocks: Sequence[_Block], k: int, current: float, bends: Sequence[float]
) -> tuple[float, float] | None:
    """Return the bend and length scale that explain most, if that is more than the current ones do."""
    objective = blocks[0]
    own, median = float(objective.scales[objective.at(k)]), objective.usual_length_scale
    trials: list[tuple[float, float]] = []
    for sign in (1.0, -1.0):
        side = [bend for bend in bends if np.sign(bend) == sign and bend != current]
        first = min(side, key=lambda bend: abs(np.log(abs(bend) / _FIRST)), default=0.0)
        # Where a scale from this end is in use already, others from there are always worth a trial.
        used = np.sign(current) == sign
        if side and (used or objective.gains(k, [(first, median)])[0] >= HOPELESS):
            trials += [(bend, length) for bend in side for length in (median, 2.0 * median, own)]
    if current:
        trials += [(0.0, length) for length in (median, own)]
    every = [block.gains(k, trials) for block in blocks]
    gains = [
        sum(of_trial) + PRIOR * ((current != 0.0) - (bend != 0.0))
        for (bend, _), *of_trial in zip(trials, *every, strict=True)
    ]
    best = int(np.argmax(gains)) if gains else 0
    return trials[best] if gains and gains[best] > 0.0 else None


@dataclass(slots=True, eq=False)
class _Kernel:
    """A process's kernel between some of its evaluations, and how little it explains of them."""

    process: SharedProcess
    """Of those evaluations; it predicts nothing."""
    whole: Array
    interaction: Array
    unexplained: float

    @classmethod
    def of(cls, structure: Structure, process: SharedProcess) -> _Kernel:
        n, amplitudes = len(process.z), process.amplitudes
        rows = np.unique(np.linspace(0, n - 1, min(n, MOST)).astype(np.intp))
        parts = tuple(part[rows] for part in process.parts)
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
        return cls(few, whole, interaction, _unexplained(whole, few.z))


@dataclass(slots=True, eq=False)
class _Block:
    """The evaluations of one algorithm within a kernel: all that its scales can change."""

    kernel: _Kernel
    module: int
    rows: Indices
    columns: Indices
    """Of theta, behind each feature."""
    scales: Array
    place: Array
    """Coordinates in the unit interval, on the scales of the ranges."""
    apart: Array
    """Squared differences on today's scales, a matrix for each feature."""
    correlation: Array

    @classmethod
    def of(cls, kernel: _Kernel, structure: Structure, i: int, j: int) -> _Block:
        part = kernel.process.parts[i]
        rows, own = np.flatnonzero(part.algorithm == j), structure.features_of(i, j)
        columns, features = structure.columns[i][own], part.features[np.ix_(rows, own)]
        scales = kernel.process.amplitudes.length_scales[columns]
        place = structure.rescaling.inverse(features + 0.5, columns)
        apart = (features.T[:, :, None] - features.T[:, None, :]) ** 2
        correlation = matern_at(5.0 * np.einsum("kij,k->ij", apart, scales**-2.0))[0]
        return cls(kernel, i, rows, columns, scales, place, apart, correlation)

    def at(self, k: int) -> int:
        """Return which feature a column of theta is."""
        return int(np.flatnonzero(self.columns == k)[0])

    @property
    def usual_length_scale(self) -> float:
        """The median of its prior."""
        return float(np.exp(self._prior[0]))

    def gains(self, k: int, trials: Sequence[tuple[float, float]]) -> list[float]:
        """Return by how many nats more other scales of one column explain: bends and length scales."""
        kernel, rows = self.kernel, np.ix_(self.rows, self.rows)
        centre, width = self._prior
        change = _Change.of(self, k)
        found = []
        for bend, length_scale in trials:
            whole = kernel.whole.copy()
            whole[rows] += change(bend, length_scale).kernel
            old, new = np.log([self.scales[change.at], length_scale])
            prior = 0.5 * (((old - centre) / width) ** 2 - ((new - centre) / width) ** 2)
            found.append(float(kernel.unexplained - _unexplained(whole, kernel.process.z) + prior))
        return found

    def adopt(self, k: int, bend: float, length_scale: float) -> None:
        """Go on with another scale of one column."""
        kernel, rows = self.kernel, np.ix_(self.rows, self.rows)
        change = _Change.of(self, k)
        new = change(bend, length_scale)
        kernel.whole[rows] += new.kernel
        kernel.interaction[rows] = new.interaction
        kernel.unexplained = _unexplained(kernel.whole, kernel.process.z)
        self.apart[change.at], self.correlation = new.apart, new.correlation
        self.scales[change.at] = length_scale

    @property
    def _prior(self) -> tuple[float, float]:
        return length_scale_prior(len(np.unique(self.columns)))


@dataclass(frozen=True, slots=True, eq=False)
class _Changed:
    """A block on another scale of one column: what is added to its kernel, and what it then is."""

    kernel: Array
    interaction: Array
    apart: Array
    correlation: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """Other scales of one column of a block; what they leave as it is has been computed once."""

    block: _Block
    at: int
    others: Array
    """Squared differences of the other columns, in their length scales."""
    interaction: Array
    factor: Array

    @classmethod
    def of(cls, block: _Block, k: int) -> _Change:
        at = block.at(k)
        others = np.arange(len(block.columns)) != at
        squared = np.einsum("kij,k->ij", block.apart[others], block.scales[others] ** -2.0)
        interaction = block.kernel.interaction[np.ix_(block.rows, block.rows)]
        return cls(block, at, squared, interaction, _factor(block.correlation))

    def __call__(self, bend: float, length_scale: float) -> _Changed:
        block = self.block
        place = block.place[:, self.at]
        x = bent(place, bend) if bend else place
        apart = np.subtract.outer(x, x) ** 2
        correlation = matern_at(5.0 * (self.others + apart / length_scale**2))[0]
        interaction = self.interaction * (_factor(correlation) / self.factor)
        own = block.kernel.process.amplitudes.matern[block.module]
        kernel = own * (correlation - block.correlation) + interaction - self.interaction
        return _Changed(kernel, interaction, apart, correlation)


def _factor(correlation: Array) -> Array:
    """Return what a module brings to the interaction of pipelines that share its algorithm."""
    return APART + (1.0 - APART) * correlation


def _unexplained(kernel: Array, z: Array) -> float:
    return explained(cholesky(kernel, np.empty_like(kernel)), z)[0]

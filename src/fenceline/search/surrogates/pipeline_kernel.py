"""The kernel that follows the pipeline: what two pipelines have in common, module by module.

::

    k(x, x') = sum_i [same algorithm in module i] (c_i + m_i M_i)          effects of single modules
             + w prod_i (r + (1 - r) [same algorithm in module i] M_i)     their interaction

where M_i is a Matern 5/2 correlation over that algorithm's own hyper-parameters. Evidence is so
shared between all pipelines that use an algorithm, and hyper-parameters that are not active
never enter.

Where a module takes several algorithms, each of its slots is compared with all of theirs (:mod:`slots`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fenceline.problem.parameter import Categorical
from fenceline.problem.space import Space
from fenceline.search.surrogates.matern import Array, Indices, matern, matern_at
from fenceline.search.surrogates.rescaling import Rescaling
from fenceline.search.surrogates.slots import Slots

# r: how much pipelines without a common algorithm still share in the interaction term.
APART = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One module of many pipelines: the chosen algorithms, and the features of their hyper-parameters."""

    algorithm: Indices
    features: Array

    def __len__(self) -> int:
        return len(self.algorithm)

    def __getitem__(self, index: Indices | slice) -> Part:
        return Part(self.algorithm[index], self.features[index])

    def joined(self, other: Part) -> Part:
        """Return these pipelines followed by others."""
        return Part(
            np.concatenate([self.algorithm, other.algorithm]),
            np.concatenate([self.features, other.features]),
        )


@dataclass(frozen=True, eq=False)
class Structure:
    """How the pipelines of a space become parts, one per module.

    Compared by identity: what is kept about a structure is looked up at every step, and the hash of
    a whole space takes longer than most of it.
    """

    space: Space
    rescaling: Rescaling = Rescaling()  # noqa: RUF009 - frozen
    """The scales that hyper-parameters are compared on: those of their ranges unless others were learnt."""

    def parts(self, z: Indices, theta: Array) -> list[Part]:
        """Encode whole pipelines; inactive coordinates of theta may be anything."""
        return [self.part(i, z[:, i], theta) for i in range(len(self.space.modules))]

    def part(self, i: int, algorithm: Indices, theta: Array) -> Part:
        """Encode one module. Features of algorithms that are not chosen are zero, and so never differ."""
        layout = self._layouts[i]
        values = self.rescaling(theta[:, layout.column], layout.column)
        features = values - 0.5
        one_hot = np.rint(values[:, layout.category] * layout.high) == layout.value
        features[:, layout.category] = one_hot / np.sqrt(2.0)
        return Part(algorithm, np.where(layout.algorithm == algorithm[:, None], features, 0.0))

    @cached_property
    def columns(self) -> tuple[Indices, ...]:
        """Per module, the column of theta behind each feature."""
        return tuple(layout.column for layout in self._layouts)

    @cached_property
    def slots(self) -> Slots:
        """Which modules are slots of one module, and how alike orders are."""
        return Slots.of(self.space)

    def compared(
        self, i: int, left: Part, right: Sequence[Part], scales: Array
    ) -> tuple[Array, Array, Array]:
        """Return what module i of some pipelines shares with others: see :func:`compare`."""
        found = compare(left, right[i], scales)
        if self.space.shapes is None:
            return found
        return self.slots.compared(i, left, right, scales, found)

    def features_of(self, i: int, j: int) -> Indices:
        """Return which features of module i belong to its algorithm j."""
        return self._features[i][j]

    @cached_property
    def _features(self) -> tuple[tuple[Indices, ...], ...]:
        return tuple(
            tuple(np.flatnonzero(layout.algorithm == j) for j in range(len(module.algorithms)))
            for layout, module in zip(self._layouts, self.space.modules, strict=True)
        )

    @cached_property
    def _layouts(self) -> tuple[_Layout, ...]:
        return tuple(_layout(self.space, i) for i in range(len(self.space.modules)))


@dataclass(frozen=True, slots=True)
class _Layout:
    """What each feature of a module stands for; a category has one feature per value."""

    algorithm: Indices
    column: Indices
    category: Indices
    """Which features are values of a category; of those:"""
    high: Array
    value: Array


def _layout(space: Space, i: int) -> _Layout:
    features = [
        (j, k, isinstance(parameter, Categorical), float(parameter.high), value)
        for j, columns in enumerate(space.columns[i])
        for k in range(columns.start, columns.stop)
        for parameter in (space.parameters[k],)
        for value in (range(len(parameter.choices)) if isinstance(parameter, Categorical) else [0])
    ]
    table = np.array(features, dtype=np.float64).reshape(-1, 5).T
    category = np.flatnonzero(table[2])
    return _Layout(
        table[0].astype(np.intp),
        table[1].astype(np.intp),
        category,
        table[3, category],
        table[4, category],
    )


@dataclass(frozen=True, eq=False)
class Amplitudes:
    """What marginal likelihood learns: length scales, and variances of standardised observations."""

    length_scales: Array
    constant: Array
    matern: Array
    interaction: float
    noise: float

    @classmethod
    def of(cls, logarithms: Array, modules: int) -> Amplitudes:
        """Read the vector that an optimiser moves."""
        values = np.exp(logarithms)
        scales, constant, smooth, rest = np.split(values, [-2 - 2 * modules, -2 - modules, -2])
        return cls(scales, constant, smooth, float(rest[0]), float(rest[1]))

    @cached_property
    def prior_variance(self) -> float:
        """Variance of any single pipeline before anything is measured."""
        return float(self.constant.sum() + self.matern.sum() + self.interaction)


def compare(left: Part, right: Part, scales: Array) -> tuple[Array, Array, Array]:
    """Return sameness, Matern correlation and its slope, all zero where algorithms differ."""
    same = np.equal.outer(left.algorithm, right.algorithm).astype(np.float64)
    correlation, slope = matern(left.features / scales, right.features / scales)
    correlation *= same
    slope *= same
    return same, correlation, slope


def effect(amplitudes: Amplitudes, i: int, same: Array, correlation: Array) -> tuple[Array, Array]:
    """Return what module i adds to the kernel, and the factor it brings to the interaction."""
    return (
        amplitudes.constant[i] * same + amplitudes.matern[i] * correlation,
        APART + (1.0 - APART) * correlation,
    )


def effects_of(
    structure: Structure, amplitudes: Amplitudes, i: int, left: Part, right: Part
) -> tuple[Array, Array]:
    """Return :func:`effect` of :func:`compare`, where only pairs with a common algorithm cost much."""
    A = left.features / amplitudes.length_scales[structure.columns[i]]
    B, lengths = _scaled(structure, amplitudes, i, right)
    squared = A @ B.T
    squared *= -2.0
    squared += np.einsum("ij,ij->i", A, A)[:, None]
    squared += lengths
    # Most pairs have no algorithm in common: only the others are worth an exponential.
    same = _alike(left, right)
    correlation = matern_at(5.0 * np.maximum(squared.ravel()[same], 0.0))[0]
    term, factor = np.zeros(squared.shape), np.full(squared.shape, APART)
    term.ravel()[same] = amplitudes.constant[i] + amplitudes.matern[i] * correlation
    factor.ravel()[same] = APART + (1.0 - APART) * correlation
    return term, factor


@lru_cache(maxsize=64)
def _scaled(
    structure: Structure, amplitudes: Amplitudes, i: int, part: Part
) -> tuple[Array, Array]:
    """Return features in length scales, and their squared lengths; kept, for all candidates are compared with the same."""
    features = part.features / amplitudes.length_scales[structure.columns[i]]
    return features, np.einsum("ij,ij->i", features, features)


@lru_cache(maxsize=4)
def _alike(left: Part, right: Part) -> Indices:
    """Return which pairs have the algorithm in common; kept, for every metric asks about the same ones."""
    return np.flatnonzero(np.equal.outer(left.algorithm, right.algorithm))


def assemble(amplitudes: Amplitudes, effects: Sequence[tuple[Array, Array]]) -> Array:
    """Return the kernel from the modules' effects."""
    kernel = np.full_like(effects[0][1], amplitudes.interaction)
    for _, factor in effects:
        kernel = kernel * factor
    for term, _ in effects:
        kernel = kernel + term
    return kernel

"""One Gaussian process over *all* evaluated pipelines, on the kernel of :mod:`structure`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenceline.search.surrogates.gaussian_process import inverse_factor, profile
from fenceline.search.surrogates.matern import Array
from fenceline.search.surrogates.pipeline_kernel import (
    Amplitudes,
    Part,
    Structure,
    assemble,
    effect,
    effects_of,
)

JITTER = 1e-10
_BAND = 64  # rows of a triangle at a time: fewer zeros against more products


@dataclass(frozen=True, slots=True)
class SharedProcess:
    """A process conditioned on standardised observations; made by :func:`condition`, never changed."""

    structure: Structure
    amplitudes: Amplitudes
    parts: tuple[Part, ...]
    z: Array
    whitener: Array
    constant: float
    weights: Array

    def effects(self, i: int, part: Part) -> tuple[Array, Array]:
        """Return what module i of some pipelines shares with every evaluation."""
        return _effects(self.structure, self.amplitudes, i, part, self.parts)

    def predict(self, cross: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation from kernel rows, as :func:`structure.assemble` makes them."""
        white = _whitened(cross, self.whitener)
        left = self.amplitudes.prior_variance - np.einsum("ij,ij->i", white, white)
        return self.constant + cross @ self.weights, np.sqrt(np.maximum(left, 1e-12))

    def largest_deviation(self, nearest: Array) -> Array:
        """Return an upper bound of the deviation at a fraction of its cost.

        It is what is left when only the most similar evaluation is known, to which the kernel is
        `nearest`.
        """
        variance = self.amplitudes.prior_variance
        left = variance - nearest**2 / (variance + self.amplitudes.noise + JITTER)
        return np.sqrt(np.maximum(left, 1e-12))

    def predict_pipelines(self, parts: Sequence[Part]) -> tuple[Array, Array]:
        """Return mean and standard deviation of whole pipelines."""
        return self.predict(self._cross(parts))

    def mean_of_pipelines(self, parts: Sequence[Part]) -> Array:
        """Return the mean of whole pipelines, at a fraction of the deviation's cost."""
        return np.asarray(self.constant + self._cross(parts) @ self.weights)

    def _cross(self, parts: Sequence[Part]) -> Array:
        return assemble(self.amplitudes, [self.effects(i, p) for i, p in enumerate(parts)])

    def extend(
        self, parts: Sequence[Part], z: Array, joined: Sequence[Part] | None = None
    ) -> SharedProcess:
        """Return the process with more evaluations, measured or believed; O(n^2) each.

        The inverse Cholesky factor grows by a block, as the factor itself would. `joined` are all
        the pipelines, where somebody has put them together already.
        """
        border = self._cross(parts) @ self.whitener.T
        corner = inverse_factor(_kernel(self.structure, self.amplitudes, parts) - border @ border.T)
        n, m = len(self.z), len(z)
        whitener = np.zeros((n + m, n + m))
        whitener[:n, :n] = self.whitener
        whitener[n:, :n] = -corner @ border @ self.whitener
        whitener[n:, n:] = corner
        observed = np.concatenate([self.z, z])
        constant, weights = profile(whitener, observed)
        if joined is None:
            joined = [old.joined(new) for old, new in zip(self.parts, parts, strict=True)]
        return SharedProcess(
            self.structure, self.amplitudes, tuple(joined), observed, whitener, constant, weights
        )


def condition(
    structure: Structure, amplitudes: Amplitudes, parts: Sequence[Part], z: Array
) -> SharedProcess:
    """Return the process with the given hyper-parameters, conditioned on standardised observations."""
    whitener = inverse_factor(_kernel(structure, amplitudes, parts))
    constant, weights = profile(whitener, z)
    return SharedProcess(structure, amplitudes, tuple(parts), z, whitener, constant, weights)


def _whitened(cross: Array, whitener: Array) -> Array:
    """Return cross @ whitener.T without most of the zeros that stand above the whitener's diagonal.

    BLAS's product with a triangle was faster still, but rounds otherwise than a plain product does.
    """
    out = np.empty_like(cross)
    for begin in range(0, len(whitener), _BAND):
        end = begin + _BAND
        np.matmul(cross[:, :end], whitener[begin:end, :end].T, out=out[:, begin:end])
    return out


def _effects(
    structure: Structure, amplitudes: Amplitudes, i: int, left: Part, right: Sequence[Part]
) -> tuple[Array, Array]:
    if structure.space.shapes is None:
        return effects_of(structure, amplitudes, i, left, right[i])
    scales = amplitudes.length_scales[structure.columns[i]]
    same, correlation, _ = structure.compared(i, left, right, scales)
    return effect(amplitudes, i, same, correlation)


def _kernel(structure: Structure, amplitudes: Amplitudes, parts: Sequence[Part]) -> Array:
    effects = [_effects(structure, amplitudes, i, part, parts) for i, part in enumerate(parts)]
    kernel = assemble(amplitudes, effects)
    kernel.flat[:: len(kernel) + 1] += amplitudes.noise + JITTER
    return kernel

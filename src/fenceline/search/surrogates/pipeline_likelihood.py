"""How well hyper-parameters of the shared process explain all evaluations, with the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotri
from scipy.optimize import Bounds, minimize

from fenceline.search.surrogates.matern import Array, cholesky
from fenceline.search.surrogates.pair_likelihood import explained, pair_likelihood
from fenceline.search.surrogates.pairs import Pairs
from fenceline.search.surrogates.pipeline_gp import JITTER
from fenceline.search.surrogates.pipeline_kernel import (
    APART,
    Amplitudes,
    Part,
    Structure,
    effect,
)

# Log-normal priors: median, width of the logarithm, lower and upper limit. A length scale's median
# grows with the root of the number of hyper-parameters beside it, as distances do. Variances are
# of standardised observations. Medians three times larger or smaller changed little.
_PRIORS = {
    "length_scale": (0.5, 0.8, 0.02, 100.0),
    "constant": (0.3, 1.0, 1e-4, 50.0),
    "matern": (0.5, 1.0, 1e-4, 50.0),
    "interaction": (0.3, 1.0, 1e-4, 50.0),
    "noise": (1e-3, 2.0, 1e-10, 1.0),
}
# Of looks: how much their discrepancy varies beside the metric itself, what all have in common, and
# the noise of one split.
_LOOK_PRIORS = {
    "ratio": (0.1, 1.0, 1e-4, 10.0),
    "offset": (1.0, 1.5, 1e-3, 100.0),
    "look_noise": (0.03, 1.5, 1e-6, 3.0),
}


@dataclass(frozen=True, slots=True)
class LookAmplitudes:
    """Variances of what a look shows beside the metric: see :mod:`look_model`."""

    ratio: float
    offset: float
    noise: float

    @classmethod
    def of(cls, logarithms: Array) -> LookAmplitudes:
        """Read the last entries of the vector that an optimiser moves."""
        return cls(*(float(v) for v in np.exp(logarithms)))

    def applied(self, kernel: Array, discounts: Array) -> Array:
        """Return the kernel between looks; `discounts` are the products of theirs."""
        return kernel * (1.0 + self.ratio * discounts) + self.offset * discounts


def length_scale_prior(beside: int) -> tuple[float, float]:
    """Return centre and width of a length scale's logarithm, one of so many of an algorithm."""
    median, width, _, _ = _PRIORS["length_scale"]
    return float(np.log(median) + 0.5 * np.log(beside)), width


def fit(
    structure: Structure,
    parts: Sequence[Part],
    z: Array,
    start: Array | None = None,
    steps: int = 40,
    discounts: Array | None = None,
) -> tuple[float, Array]:
    """Return the smallest negative log density downhill from `start`, and where it lies (in logarithms)."""
    evidence = PipelineEvidence.of(structure, parts, z, discounts)
    end = minimize(
        evidence,
        np.clip(evidence.centre if start is None else start, evidence.low, evidence.high),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(evidence.low, evidence.high),
        options={"ftol": 1e-5, "gtol": 1e-3, "maxiter": steps},
    )
    return float(end.fun), structure.slots.tie(np.asarray(end.x))


@dataclass(frozen=True, slots=True)
class PipelineEvidence:
    """Negative log posterior density of the hyper-parameters' logarithms."""

    structure: Structure
    parts: Sequence[Part]
    z: Array
    centre: Array
    width: Array
    low: Array
    high: Array
    discounts: Array | None = None
    """Of looks, beside 0 for full measurements; None if all are full."""
    pairs: Pairs | None = None
    """Where all pipelines have the same shape."""

    @classmethod
    def of(
        cls,
        structure: Structure,
        parts: Sequence[Part],
        z: Array,
        discounts: Array | None = None,
    ) -> PipelineEvidence:
        """Attach the priors that suit the structure."""
        widths = [c.stop - c.start for module in structure.space.columns for c in module]
        roots = np.repeat(np.sqrt(np.array(widths, dtype=np.float64)), widths)
        modules = len(parts)
        counts = dict(zip(_PRIORS, (len(roots), modules, modules, 1, 1), strict=True))
        rows = [_PRIORS[name] for name, count in counts.items() for _ in range(count)]
        table = np.array([*rows, *(() if discounts is None else _LOOK_PRIORS.values())])
        centre, low, high = np.log(table[:, 0]), np.log(table[:, 2]), np.log(table[:, 3])
        centre[: len(roots)] += np.log(roots)
        pairs = Pairs.of(structure, tuple(parts)) if structure.space.shapes is None else None
        return cls(structure, parts, z, centre, table[:, 1], low, high, discounts, pairs)

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """Value and gradient at one point; the constant mean is profiled out, which adds no gradient."""
        slots = self.structure.slots
        tied = slots.tie(logarithms)
        looks = None if self.discounts is None else LookAmplitudes.of(tied[-3:])
        amplitudes = Amplitudes.of(tied if looks is None else tied[:-3], len(self.parts))
        if self.pairs is None:
            value, gradient = self._densely(amplitudes, looks)
        else:
            value, gradient = pair_likelihood(self.pairs, amplitudes, self.z, looks, self.discounts)
        from_centre = (logarithms - self.centre) / self.width
        prior = 0.5 * float(from_centre @ from_centre)
        return value + prior, slots.gathered(gradient) + from_centre / self.width

    def _densely(self, amplitudes: Amplitudes, looks: LookAmplitudes | None) -> tuple[float, Array]:
        """Return the same without prior where slots are compared crosswise: all pairs, each module."""
        n, modules, slots = len(self.z), len(self.parts), self.structure.slots
        compared, effects = [], []
        for i, part in enumerate(self.parts):
            scales = amplitudes.length_scales[self.structure.columns[i]]
            compared.append(self.structure.compared(i, part, self.parts, scales))
            effects.append(effect(amplitudes, i, *compared[i][:2]))
        interaction = np.full((n, n), amplitudes.interaction)
        for _, factor in effects:
            interaction *= factor
        kernel = interaction.copy()
        for term, _ in effects:
            kernel += term
        last: list[float] = []
        if looks is None or self.discounts is None:
            kernel.flat[:: n + 1] += amplitudes.noise + JITTER
            value, weights = _explain(kernel, self.z)
            last = [np.vdot(weights, interaction), amplitudes.noise * weights.trace()]
        else:
            products = np.multiply.outer(self.discounts, self.discounts)
            partly = self.discounts > 0
            whole = looks.applied(kernel, products)
            whole.flat[:: n + 1] += amplitudes.noise + JITTER + looks.noise * partly
            value, weights = _explain(whole, self.z)
            noises = [amplitudes.noise * weights.trace()]
            noises.append(looks.ratio * np.vdot(weights, products * kernel))
            noises.append(looks.offset * np.vdot(weights, products))
            noises.append(looks.noise * weights.diagonal()[partly].sum())
            # What the kernel itself changes it changes in a look's discrepancy as well.
            weights *= 1.0 + looks.ratio * products
            last = [np.vdot(weights, interaction), *noises]

        pulls = np.zeros(len(amplitudes.length_scales))
        constants, materns = np.empty(modules), np.empty(modules)
        for i, (same, correlation, slope) in enumerate(compared):
            constants[i] = amplitudes.constant[i] * np.vdot(weights, same)
            materns[i] = amplitudes.matern[i] * np.vdot(weights, correlation)
            columns = self.structure.columns[i]
            if len(columns):
                # d M / d log l = 5/3 slope (x - x')^2 / l^2, in both places where M enters.
                pull = interaction / effects[i][1]
                pull *= 1.0 - APART
                pull += amplitudes.matern[i]
                scales = amplitudes.length_scales[columns]
                if slots.others[i]:
                    squares = slots.stretched(i, self.parts, scales, pull * weights)
                else:
                    pull *= slope
                    pull *= weights
                    A = self.parts[i].features / scales
                    squares = 2.0 * (
                        pull.sum(axis=0) @ (A * A) - np.einsum("ij,ij->j", A, pull @ A)
                    )
                pulls += np.bincount(columns, squares, len(pulls)) * (5.0 / 3.0)
        return value, np.concatenate([pulls, constants, materns, last])


def _explain(kernel: Array, z: Array) -> tuple[float, Array]:
    """Negative log likelihood of z under a kernel matrix, and its derivative in that matrix."""
    n = len(z)
    factor = cholesky(kernel, np.empty((n, n)))
    value, alpha = explained(factor, z)
    # LAPACK fills one triangle of the inverse only.
    inverse = np.tril(dpotri(factor, lower=1, overwrite_c=1)[0])
    weights = inverse + inverse.T
    weights.flat[:: n + 1] *= 0.5
    weights -= np.multiply.outer(alpha, alpha)
    weights *= 0.5
    return value, weights

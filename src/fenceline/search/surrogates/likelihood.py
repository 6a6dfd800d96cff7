"""How well hyper-parameters explain the data: marginal likelihood times prior, with its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs
from scipy.optimize import Bounds, minimize

from fenceline.search.surrogates.matern import Array, Indices, cholesky, matern, scaled

# Log-normal priors, as (log of the median, width). They are weak, but they are what keeps ten
# points in ten dimensions from explaining themselves with ten length scales. The length scales'
# median grows with the square root of the dimension, as distances do (Hvarfner et al. 2024,
# "Vanilla Bayesian optimization performs great in high dimensions"). A noise median of 0.01 was
# tried: it gave confident nonsense on ten noisy points, and gained little on forty clean ones.
_LENGTH_SCALE = (np.log(0.5), 0.8)
_AMPLITUDE = (0.0, 1.0)
_NOISE = (np.log(0.3), 1.5)

_LENGTH_SCALE_LIMITS = (0.005, 500.0)
_AMPLITUDE_LIMITS = (0.01, 100.0)
_NOISE_LIMITS = (1e-4, 10.0)  # the floor keeps the kernel matrix invertible when rows repeat


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Negative log posterior density of the logarithms of the hyper-parameters.

    Called with the logarithms of the length scales, the amplitude and the noise (all deviations,
    for standardised observations `z`), it returns the value and the gradient. The constant mean is
    profiled out, so by the envelope theorem it adds nothing to the gradient.
    """

    X: Array
    z: Array
    groups: Indices
    centre: Array
    width: Array
    buffers: Array  # three n x n matrices: fresh ones at every call would cost more than the sums

    @classmethod
    def of(cls, X: Array, z: Array, groups: Indices) -> Evidence:
        """The evidence in data, with the priors that suit the number of groups."""
        count = int(groups.max(initial=-1)) + 1
        length_scale = _LENGTH_SCALE[0] + 0.5 * np.log(max(count, 1))
        centre = np.array([length_scale] * count + [_AMPLITUDE[0], _NOISE[0]])
        width = np.array([_LENGTH_SCALE[1]] * count + [_AMPLITUDE[1], _NOISE[1]])
        return cls(X, z, groups, centre, width, np.empty((3, len(z), len(z))))

    @property
    def limits(self) -> tuple[Array, Array]:
        """The box, in logarithms, in which everything stays finite."""
        count = len(self.centre) - 2
        pairs = [_LENGTH_SCALE_LIMITS] * count + [_AMPLITUDE_LIMITS, _NOISE_LIMITS]
        low, high = np.log(np.array(pairs)).T
        return low, high

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """Value and gradient at one point."""
        n, count = len(self.z), len(logarithms) - 2
        length_scales = np.exp(logarithms[:-2])
        variance, noise = np.exp(2.0 * logarithms[-2:])
        A = scaled(self.X, length_scales, self.groups)
        kernel, slope = matern(A, A, self.buffers)
        kernel *= variance
        kernel.flat[:: n + 1] += noise
        factor = cholesky(kernel, self.buffers[2])
        solved = dpotrs(factor, np.column_stack([self.z, np.ones(n)]), lower=1)[0]
        constant = solved[:, 0].sum() / solved[:, 1].sum()
        alpha = solved[:, 0] - constant * solved[:, 1]
        fit = (self.z - constant) @ alpha
        value = 0.5 * fit + np.log(factor.diagonal()).sum() + 0.5 * n * np.log(2.0 * np.pi)

        # LAPACK fills one triangle of the inverse only. That is enough: every contraction below
        # is with a symmetric matrix of zero diagonal, so half of alpha alpha^T minus the one
        # triangle counts as (alpha alpha^T - K^-1) / 2, and no n x n x d array is ever formed.
        inverse = dpotri(factor, lower=1, overwrite_c=1)[0].T
        trace = inverse.trace()
        weights = np.multiply.outer(0.5 * alpha, alpha, out=kernel)
        weights -= inverse
        weights *= slope
        both = weights.sum(axis=0) + weights.sum(axis=1)
        columns = both @ (A * A) - 2.0 * np.einsum("ij,ij->j", A, weights @ A)
        gradient = np.empty(count + 2)
        gradient[:-2] = np.bincount(self.groups, columns, count) * (-5.0 / 3.0 * variance)
        squares = alpha @ alpha
        gradient[-2] = n - noise * trace - (fit - noise * squares)
        gradient[-1] = noise * (trace - squares)

        from_centre = (logarithms - self.centre) / self.width
        return value + 0.5 * from_centre @ from_centre, gradient + from_centre / self.width


def descend(evidence: Evidence, begin: Array) -> tuple[float, Array]:
    """Value and place of the minimum that lies downhill from `begin`."""
    low, high = evidence.limits
    end = minimize(
        evidence,
        np.clip(begin, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        # A thousandth of a nat decides nothing, so the optimiser may stop early.
        options={"ftol": 1e-5, "gtol": 1e-3, "maxiter": 60, "maxcor": 20},
    )
    return float(end.fun), end.x

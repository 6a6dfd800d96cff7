"""The likelihood of a process over pipelines of one shape, from the pairs that share an algorithm."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs

from fenceline.search.surrogates.matern import Array, cholesky, matern_at
from fenceline.search.surrogates.pairs import Pairs
from fenceline.search.surrogates.pipeline_gp import JITTER
from fenceline.search.surrogates.pipeline_kernel import APART, Amplitudes

if TYPE_CHECKING:
    from fenceline.search.surrogates.pipeline_likelihood import LookAmplitudes


def pair_likelihood(
    pairs: Pairs,
    amplitudes: Amplitudes,
    z: Array,
    looks: LookAmplitudes | None = None,
    discounts: Array | None = None,
) -> tuple[float, Array]:
    """Return the negative log likelihood of z, and its gradient in the amplitudes' logarithms."""
    modules = len(amplitudes.constant)
    inverse_squares = amplitudes.length_scales**-2.0
    correlation, slope = matern_at(pairs.squares @ (5.0 * inverse_squares))
    factor = (1.0 - APART) * correlation
    factor += APART
    # Most pairs have nothing in common in most modules: r to the number of modules for all, and
    # then what those have more that share an algorithm.
    interaction = np.full(len(pairs.first), amplitudes.interaction * APART**modules)
    own = np.empty(len(correlation))
    for i, (begin, end) in enumerate(pairwise(pairs.starts)):
        interaction[pairs.entry[begin:end]] *= factor[begin:end] / APART
        own[begin:end] = amplitudes.constant[i] + amplitudes.matern[i] * correlation[begin:end]
    kernel = np.asarray(interaction + np.bincount(pairs.entry, own, len(interaction)), np.float64)
    prior, noise = amplitudes.prior_variance, amplitudes.noise
    if looks is None or discounts is None:
        diagonal = np.full(len(z), prior + noise + JITTER)
        value, by_pair, by_diagonal = _explain(pairs, kernel, diagonal, z)
        last = [noise * by_diagonal.sum()]
    else:
        products = discounts[pairs.first] * discounts[pairs.second]
        squares, partly = discounts * discounts, discounts > 0
        diagonal = looks.applied(np.full(len(z), prior), squares) + noise + JITTER
        diagonal += looks.noise * partly
        whole = looks.applied(kernel, products)
        value, by_pair, by_diagonal = _explain(pairs, whole, diagonal, z)
        last = [
            noise * by_diagonal.sum(),
            looks.ratio * (by_pair @ (products * kernel) + prior * (by_diagonal @ squares)),
            looks.offset * (by_pair @ products + by_diagonal @ squares),
            looks.noise * by_diagonal[partly].sum(),
        ]
        # What the kernel itself changes it changes in a look's discrepancy as well.
        by_pair = by_pair * (1.0 + looks.ratio * products)
        by_diagonal = by_diagonal * (1.0 + looks.ratio * squares)

    every, shared = by_diagonal.sum(), by_pair.take(pairs.entry)
    constants = amplitudes.constant * (pairs.by_module @ shared + every)
    alike = pairs.by_module @ (shared * correlation)
    materns = amplitudes.matern * (alike + every)
    # d M / d log l = 5/3 slope (x - x')^2 / l^2, in both places where M enters.
    pull = interaction.take(pairs.entry)
    pull /= factor
    pull *= 1.0 - APART
    for i, (begin, end) in enumerate(pairwise(pairs.starts)):
        pull[begin:end] += amplitudes.matern[i]
    slope *= shared
    pull *= slope
    scales = (pairs.by_parameter @ pull) * inverse_squares * (5.0 / 3.0)
    together = by_pair @ interaction + amplitudes.interaction * every
    return value, np.concatenate([scales, constants, materns, [together], last])


def _explain(pairs: Pairs, kernel: Array, diagonal: Array, z: Array) -> tuple[float, Array, Array]:
    """Return the negative log likelihood of z, and its derivatives by pair and on the diagonal."""
    n = len(z)
    factor = cholesky(pairs.matrix(kernel, diagonal), np.empty((n, n)))
    value, alpha = explained(factor, z)
    # LAPACK fills one triangle of the inverse only, which is all that pairs need.
    inverse = dpotri(factor, lower=1, overwrite_c=1)[0]
    # It is laid out column by column, so that its transpose can be read like any other matrix.
    change = inverse.T
    change -= np.multiply.outer(alpha, alpha)
    return value, change.ravel()[pairs.flat], 0.5 * change.diagonal()


def explained(factor: Array, z: Array) -> tuple[float, Array]:
    """Return the negative log likelihood of z from a Cholesky factor, and the weights of z.

    The constant mean that suits z best is taken out.
    """
    n = len(z)
    solved = dpotrs(factor, np.column_stack([z, np.ones(n)]), lower=1)[0]
    constant = solved[:, 0].sum() / solved[:, 1].sum()
    alpha = solved[:, 0] - constant * solved[:, 1]
    value = (
        0.5 * (z - constant) @ alpha
        + np.log(factor.diagonal()).sum()
        + 0.5 * n * np.log(2.0 * np.pi)
    )
    return float(value), alpha

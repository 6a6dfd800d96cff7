"""The Matern 5/2 kernel on scaled rows, and a Cholesky factor that always exists."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def scaled(X: Array, length_scales: Array, groups: Indices) -> Array:
    """Rows with each column divided by its group's length scale."""
    # Centred on the cube, because squared distances are taken as differences of squares.
    return np.asarray((X - 0.5) / length_scales[groups])


def matern(A: Array, B: Array, buffers: Array | None = None) -> tuple[Array, Array]:
    """Matern 5/2 correlations of scaled rows, and -6/5 of their derivative in squared distance."""
    if buffers is None:
        buffers = np.empty((3, len(A), len(B)))
    squared, slope, decay = buffers
    np.matmul(A, B.T, out=squared)
    squared *= -10.0
    squared += 5.0 * np.einsum("ij,ij->i", A, A)[:, None]
    squared += 5.0 * np.einsum("ij,ij->i", B, B)
    np.maximum(squared, 0.0, out=squared)
    np.sqrt(squared, out=slope)
    np.exp(np.negative(slope, out=decay), out=decay)
    slope += 1.0
    slope *= decay
    squared *= 1.0 / 3.0
    squared *= decay
    squared += slope
    return squared, slope


def matern_at(squared: Array) -> tuple[Array, Array]:
    """Matern 5/2 correlations at five times squared distances, and their slopes as in `matern`."""
    # In place: these are the longest arrays of a fit, and memory took as long as the arithmetic.
    slope = np.sqrt(squared)
    decay = np.negative(slope)
    np.exp(decay, out=decay)
    slope += 1.0
    slope *= decay
    decay *= squared
    decay /= 3.0
    decay += slope
    return decay, slope


def cholesky(kernel: Array, out: Array) -> Array:
    """Lower factor, in the memory of `out`, after as much jitter on the diagonal as it takes."""
    jitter = 0.0
    while True:
        np.copyto(out, kernel)
        out.flat[:: len(out) + 1] += jitter
        factor, failed = dpotrf(out.T, lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(factor)
        jitter = 10.0 * jitter or max(1e-10 * float(np.abs(kernel.diagonal()).mean()), 1e-20)

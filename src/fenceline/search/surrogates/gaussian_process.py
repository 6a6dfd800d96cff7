"""A fast exact Gaussian process: ARD Matern 5/2, profiled mean, learned noise, analytic gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtri

from fenceline.errors import DefinitionError
from fenceline.search.surrogates.likelihood import Evidence, descend
from fenceline.search.surrogates.matern import Array, Indices, cholesky, matern, scaled

# From this many rows on, a cold start pays for finding its way on every second row first.
_THIN_FROM = 128


@dataclass(frozen=True, slots=True, eq=False)
class Hyperparameters:
    """What the marginal likelihood chooses, in units of the standardised observations.

    Attributes
    ----------
    length_scales : Array
        One per group of columns, in ascending order of the group's number.
    amplitude : float
        Prior standard deviation of the latent function.
    noise : float
        Standard deviation of the observation noise.
    """

    length_scales: Array
    amplitude: float
    noise: float

    def __post_init__(self) -> None:
        values = np.array([*self.length_scales, self.amplitude, self.noise])
        if not (np.isfinite(values) & (values > 0.0)).all():
            raise DefinitionError(
                f"Hyper-parameters must be positive and finite. Got {values} instead."
            )


@dataclass(frozen=True, slots=True, eq=False)
class GaussianProcess:
    """A fitted process; made by `fit` or `posterior`, never changed.

    Attributes
    ----------
    X, y : Array
        The data, as given.
    hyperparameters : Hyperparameters
        In units of ``(y - shift) / scale``.
    groups : Indices
        The length scale that each column of `X` uses.
    shift, scale : float
        The standardisation of `y`, which `condition` keeps.
    whitener : Array
        Inverse of the Cholesky factor of the noisy kernel matrix: products with it are faster
        than triangular solves, and it grows by blocks as the factor itself does.
    constant : float
        The generalised-least-squares mean, standardised.
    weights : Array
        The kernel matrix's inverse times the centred, standardised observations.
    """

    X: Array
    y: Array
    hyperparameters: Hyperparameters
    groups: Indices
    shift: float
    scale: float
    whitener: Array
    constant: float
    weights: Array

    def predict(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and standard deviation of the latent function at each row, in y's own units."""
        correlation, _ = matern(self._scaled(_matrix(X, self.X.shape[1])), self._scaled(self.X))
        variance = self.hyperparameters.amplitude**2
        cross = variance * correlation
        return self._mean(cross), self._deviation(cross @ self.whitener.T)

    def predict_with_gradient(self, X: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation and their gradients at each row.

        Parameters
        ----------
        X : array of shape (m, d)

        Returns
        -------
        mean, sd : Array
            Of shape (m,).
        mean_gradient, sd_gradient : Array
            Of shape (m, d): each row's derivatives with respect to that row.
        """
        A, B = self._scaled(_matrix(X, self.X.shape[1])), self._scaled(self.X)
        correlation, slope = matern(A, B)
        variance = self.hyperparameters.amplitude**2
        cross = variance * correlation
        slope *= -5.0 / 3.0 * variance
        white = cross @ self.whitener.T
        mean, sd = self._mean(cross), self._deviation(white)

        def pull(weights: Array) -> Array:
            """Contract weights (m, n) with the kernel's gradient in the first argument."""
            weights = weights * slope
            gradient = weights.sum(axis=1)[:, None] * A - weights @ B
            return np.asarray(gradient / self.hyperparameters.length_scales[self.groups])

        mean_gradient = self.scale * pull(np.broadcast_to(self.weights, cross.shape))
        sd_gradient = pull(white @ self.whitener) * (-self.scale / (sd / self.scale))[:, None]
        return mean, sd, mean_gradient, sd_gradient

    def condition(self, X_new: ArrayLike, y_new: ArrayLike) -> GaussianProcess:
        """The process with more data (real or fantasised) and the same hyper-parameters.

        The Cholesky factor grows by a block, so this costs O(n^2) per new row.
        """
        X_new = _matrix(X_new, self.X.shape[1])
        y_new = _vector(y_new, len(X_new))
        if len(X_new) == 0:
            return self
        old, new = self._scaled(self.X), self._scaled(X_new)
        variance = self.hyperparameters.amplitude**2
        border = variance * matern(new, old)[0] @ self.whitener.T
        schur = _kernel_matrix(new, self.hyperparameters) - border @ border.T
        corner = inverse_factor(schur)
        n, m = len(self.X), len(X_new)
        whitener = np.zeros((n + m, n + m))
        whitener[:n, :n] = self.whitener
        whitener[n:, :n] = -corner @ border @ self.whitener
        whitener[n:, n:] = corner
        y = np.concatenate([self.y, y_new])
        constant, weights = profile(whitener, (y - self.shift) / self.scale)
        return replace(
            self,
            X=np.vstack([self.X, X_new]),
            y=y,
            whitener=whitener,
            constant=constant,
            weights=weights,
        )

    def _scaled(self, X: Array) -> Array:
        return scaled(X, self.hyperparameters.length_scales, self.groups)

    def _mean(self, cross: Array) -> Array:
        return np.asarray(self.shift + self.scale * (self.constant + cross @ self.weights))

    def _deviation(self, white: Array) -> Array:
        variance = self.hyperparameters.amplitude**2
        left = variance - np.einsum("ij,ij->i", white, white)
        # Rounding can take away all that is left; a zero would poison every acquisition.
        return np.asarray(self.scale * np.sqrt(np.maximum(left, 1e-14 * variance)))


def fit(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: Sequence[int] | None = None,
    start: Hyperparameters | None = None,
    restarts: int = 0,
) -> GaussianProcess:
    """Fit a process, with the hyper-parameters of largest posterior density.

    Parameters
    ----------
    X : array of shape (n, d)
        Points, in or near the unit cube.
    y : array of shape (n,)
        Observations, on any scale.
    groups : sequence of d integers, optional
        Columns with the same number share a length scale (the columns of a one-hot encoded
        category, say). By default each column has its own.
    start : Hyperparameters, optional
        Where to start the optimiser, such as the previous fit's. By default the prior's medians.
    restarts : int
        How many further starts to try, with length scales alternately shorter and longer than
        the first start's; the best end wins. No start is random.

    Returns
    -------
    GaussianProcess
    """
    X, y, ties = _validated(X, y, groups)
    z = standardise(y)[0]
    evidence = Evidence.of(X, z, ties)
    if start is not None:
        if np.shape(start.length_scales) != (len(evidence.centre) - 2,):
            raise DefinitionError(
                f"'start' must have {len(evidence.centre) - 2} length scales, one per group of "
                f"columns. Got shape {np.shape(start.length_scales)} instead."
            )
        first = np.log([*start.length_scales, start.amplitude, start.noise])
    elif len(X) >= _THIN_FROM:
        first = descend(Evidence.of(X[::2], z[::2], ties), evidence.centre)[1]
    else:
        first = evidence.centre
    ends = [descend(evidence, first)]
    for k in range(1, restarts + 1):
        begin = first.copy()
        begin[:-2] += (-1) ** k * 1.5 * ((k + 1) // 2)
        ends.append(descend(evidence, begin))
    best = np.exp(min(ends, key=lambda end: end[0])[1])
    found = Hyperparameters(best[:-2], float(best[-2]), float(best[-1]))
    return posterior(X, y, found, groups=groups)


def posterior(
    X: ArrayLike,
    y: ArrayLike,
    hyperparameters: Hyperparameters,
    *,
    groups: Sequence[int] | None = None,
) -> GaussianProcess:
    """Build the process that has the given hyper-parameters, without fitting any."""
    X, y, ties = _validated(X, y, groups)
    z, shift, scale = standardise(y)
    kernel = _kernel_matrix(scaled(X, hyperparameters.length_scales, ties), hyperparameters)
    whitener = inverse_factor(kernel)
    constant, weights = profile(whitener, z)
    return GaussianProcess(X, y, hyperparameters, ties, shift, scale, whitener, constant, weights)


def _kernel_matrix(A: Array, hyperparameters: Hyperparameters) -> Array:
    kernel = hyperparameters.amplitude**2 * matern(A, A)[0]
    kernel.flat[:: len(A) + 1] += hyperparameters.noise**2
    return kernel


def inverse_factor(kernel: Array) -> Array:
    """Inverse of the lower Cholesky factor, after as much jitter as it takes."""
    return np.ascontiguousarray(dtrtri(cholesky(kernel, kernel.copy()), lower=1)[0])


def profile(whitener: Array, z: Array) -> tuple[float, Array]:
    """Generalised-least-squares mean of z, and the weights of what it leaves."""
    white, ones = whitener @ z, whitener.sum(axis=1)
    constant = float(ones @ white / (ones @ ones))
    return constant, whitener.T @ (white - constant * ones)


def standardise(y: Array) -> tuple[Array, float, float]:
    """Observations of zero mean and unit deviation, with the shift and the scale taken out."""
    largest = float(np.abs(y).max()) or 1.0
    relative = y / largest  # so that the squares of huge values stay finite
    shift = relative.mean()
    spread = relative.std()
    if spread <= 1e-12:  # constant, up to rounding: the unit is then as good as any
        return np.zeros_like(y), float(shift * largest), 1.0
    scale = max(float(spread * largest), float(np.finfo(float).tiny))
    return (relative - shift) / spread, float(shift * largest), scale


def _validated(
    X: ArrayLike, y: ArrayLike, groups: Sequence[int] | None
) -> tuple[Array, Array, Indices]:
    X = _matrix(X).copy()  # the caller may go on to change theirs
    if len(X) == 0:
        raise DefinitionError("'X' must have at least one row. Got none.")
    y = _vector(y, len(X)).copy()
    if groups is None:
        return X, y, np.arange(X.shape[1])
    if len(groups) != X.shape[1]:
        raise DefinitionError(
            f"'groups' must have one number for each of the {X.shape[1]} columns of 'X'. "
            f"Got {len(groups)} instead."
        )
    return X, y, np.unique(np.asarray(groups, dtype=np.intp), return_inverse=True)[1]


def _matrix(X: ArrayLike, columns: int | None = None) -> Array:
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or columns not in (None, X.shape[1]):
        wanted = "(rows, columns)" if columns is None else f"(rows, {columns})"
        raise DefinitionError(f"'X' must have shape {wanted}. Got {X.shape} instead.")
    if not np.isfinite(X).all():
        raise DefinitionError("'X' must be finite. Drop or impute the rows with NaN or infinity.")
    return X


def _vector(y: ArrayLike, length: int) -> Array:
    y = np.asarray(y, dtype=float)
    if y.shape != (length,):
        raise DefinitionError(
            f"'y' must have shape ({length},), as 'X' has rows. Got {y.shape} instead."
        )
    if not np.isfinite(y).all():
        raise DefinitionError("'y' must be finite. Leave failed evaluations out instead.")
    return y

"""Acquisition values in logarithms, exact far into the tail, with their derivatives.

Everything is for minimisation. In the tail the naive formulas underflow and leave an optimiser on
a plateau of zeros; the treatment here follows Ament et al. 2023, "Unexpected improvements to
expected improvement for Bayesian optimization".
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr

Array: TypeAlias = NDArray[np.float64]

_TINY = float(np.finfo(float).tiny)
_LOG_ROOT_TAU = 0.5 * np.log(2.0 * np.pi)
_ROOT_HALF, _ROOT_HALF_PI = np.sqrt(0.5), np.sqrt(0.5 * np.pi)
_FARTHEST = 1e150  # in deviations; the square of more is not a float
# Where the series takes over from 1 - t R(t), which cancels: both err by less than 1e-12 here.
_SERIES_FROM = 50.0
_CERTAIN_FROM = 30.0  # deviations below the best value: improvement is certain


def log_expected_improvement(mean: ArrayLike, sd: ArrayLike, best: ArrayLike) -> Array:
    """Logarithm of the expected improvement on `best` of normal variables.

    Parameters
    ----------
    mean, sd : array
        Of the predicted values.
    best : array or float
        The value to go below.

    Returns
    -------
    Array
        Finite for all finite arguments up to 1e150 deviations from `best`, and constant beyond.
    """
    gap, sd, z = _deviations(mean, sd, best)
    # EI / sd = phi(z) (1 + z Phi(z) / phi(z)): one form from the far tail up to where Phi / phi
    # overflows, and beyond that EI is the gap itself.
    middle = _within(z)
    value = np.log(sd) - 0.5 * middle**2 - _LOG_ROOT_TAU + np.log1p(middle * _mills(-middle))
    if (middle != z).any():
        t = np.maximum(-z, _SERIES_FROM)
        far = np.log(sd) - 0.5 * t**2 - _LOG_ROOT_TAU + _log_tail(t)
        value = np.where(z < -_SERIES_FROM, far, value)
        value = np.where(z > _CERTAIN_FROM, np.log(np.maximum(gap, _TINY)), value)
    return np.asarray(value)


def log_expected_improvement_with_gradient(
    mean: ArrayLike, sd: ArrayLike, best: ArrayLike
) -> tuple[Array, Array, Array]:
    """`log_expected_improvement`, and its derivatives in `mean` and in `sd`."""
    gap, sd, z = _deviations(mean, sd, best)
    # The same form: EI / sd = phi(z) (1 + z R), R = Phi / phi; phi cancels in the derivatives.
    middle = _within(z)
    mills = _mills(-middle)
    rest = 1.0 + middle * mills
    value = np.log(sd) - 0.5 * middle**2 - _LOG_ROOT_TAU + np.log(rest)
    with np.errstate(over="ignore"):
        by_mean, by_sd = -mills / rest / sd, 1.0 / rest / sd
    if (middle != z).any():
        far, certain = z < -_SERIES_FROM, z > _CERTAIN_FROM
        t, gap = np.maximum(-z, _SERIES_FROM), np.maximum(gap, _TINY)
        log_rest = _log_tail(t)
        value = np.where(far, np.log(sd) - 0.5 * t**2 - _LOG_ROOT_TAU + log_rest, value)
        value = np.where(certain, np.log(gap), value)
        with np.errstate(over="ignore"):
            steep = -np.exp(np.log(_mills(t)) - log_rest - np.log(sd))
            by_mean = np.where(far, steep, np.where(certain, -1.0 / gap, by_mean))
            by_sd = np.where(far, np.exp(-log_rest - np.log(sd)), np.where(certain, 0.0, by_sd))
    return np.asarray(value), np.asarray(by_mean), np.asarray(by_sd)


def probability_below(mean: ArrayLike, sd: ArrayLike, bound: ArrayLike) -> Array:
    """Probability that normal variables are at most `bound`."""
    return np.asarray(ndtr(_deviations(mean, sd, bound)[2]))


def log_probability_below(mean: ArrayLike, sd: ArrayLike, bound: ArrayLike) -> Array:
    """Logarithm of `probability_below`; finite up to 1e150 deviations, and constant beyond."""
    return np.asarray(log_ndtr(_deviations(mean, sd, bound)[2]))


def _deviations(mean: ArrayLike, sd: ArrayLike, bound: ArrayLike) -> tuple[Array, Array, Array]:
    """Gap to the bound, usable deviation, and their quotient."""
    gap = np.subtract(bound, mean, dtype=np.float64)
    sd = np.maximum(sd, _TINY)
    with np.errstate(over="ignore"):
        z = np.minimum(np.maximum(gap / sd, -_FARTHEST), _FARTHEST)
    return gap, sd, z


def _within(z: Array) -> Array:
    """Return deviations, no farther out than the middle form holds; half the time of `np.clip`."""
    return np.asarray(np.minimum(np.maximum(z, -_SERIES_FROM), _CERTAIN_FROM))


def _mills(t: Array) -> Array:
    """Upper tail of the standard normal at t, divided by its density."""
    return np.asarray(_ROOT_HALF_PI * erfcx(t * _ROOT_HALF))


def _log_tail(t: Array) -> Array:
    """log(1 - t R(t)) for large t, by its series."""
    u = 1.0 / t**2
    return np.asarray(
        np.log(u) + np.log1p(-3.0 * u * (1.0 - 5.0 * u * (1.0 - 7.0 * u * (1.0 - 9.0 * u))))
    )

"""The point of the unit cube with the largest expected improvement, on or off a lattice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from fenceline.search.surrogates.improvement import (
    log_expected_improvement,
    log_expected_improvement_with_gradient,
)

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_SPREAD = 512  # candidates over the whole cube
_LOCAL = 256  # candidates around the incumbents
_CLIMBERS = 4  # candidates that gradient steps improve
_SAME = 1e-9  # coordinates closer than this are one point
_SWEEP = 1025  # values tried per coordinate when every candidate is already known


class Surrogate(Protocol):
    """What `maximise` needs of a model; `GaussianProcess` is one."""

    def predict(self, X: Array, /) -> tuple[Array, Array]:
        """Mean and standard deviation at each row."""

    def predict_with_gradient(self, X: Array, /) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation, and the gradient of each at each row."""


def maximise(
    gp: Surrogate,
    best: float,
    rng: np.random.Generator,
    *,
    dimension: int,
    incumbents: Array,
    project: Callable[[Array], Array] | None = None,
    continuous: Mask | None = None,
    features: Callable[[Array], Array] | None = None,
    avoid: Array | None = None,
) -> Array:
    """Find where the expected improvement on `best` is largest.

    Random candidates and perturbed incumbents are put on the lattice and compared; gradient steps
    then move the continuous coordinates of the few best.

    Parameters
    ----------
    gp : Surrogate
        The model of what is to be minimised.
    best : float
        The value to improve on.
    rng : numpy.random.Generator
        Source of the candidates.
    dimension : int
        Of the cube.
    incumbents : array of shape (m, dimension)
        Good points, to look around; may be empty.
    project : callable, optional
        Maps rows of the cube to the nearest rows on the lattice, each coordinate by itself. By
        default every point is allowed.
    continuous : boolean array of shape (dimension,), optional
        The coordinates that gradient steps may move; `project` leaves these alone. By default
        all, or none where `project` or `features` is given.
    features : callable, optional
        Maps rows of the cube to rows for `gp`, with the continuous coordinates first, unchanged
        and in their order, and then whatever encodes the others. By default the rows themselves.
    avoid : array of shape (k, dimension), optional
        Points not to be returned again, known or pending.

    Returns
    -------
    Array
        Of shape (dimension,). A row of `avoid` only if the lattice has no other point whose cell
        is wider than a thousandth of each side.
    """
    onto = project or np.asarray
    encode = features or np.asarray
    if continuous is None:
        continuous = np.full(dimension, project is None and features is None)
    moving = np.flatnonzero(continuous)
    columns = moving if features is None else np.arange(len(moving))
    known = np.empty((0, dimension)) if avoid is None else avoid

    def value(points: Array) -> Array:
        return log_expected_improvement(*gp.predict(encode(points)), best)

    points = onto(_candidates(rng, dimension, incumbents))
    values = value(points)
    if len(moving):
        top = points[np.argsort(values)[-_CLIMBERS:]]
        top[:, moving] = _climb(gp, best, encode(top), columns)
        points, values = np.vstack([points, top]), np.append(values, value(top))
    for index in np.argsort(-values, kind="stable"):
        if not _same(points[index], known).any():
            return np.asarray(points[index])
    fresh = _neighbour(known, onto, value)
    return points[np.argmax(values)] if fresh is None else fresh


def _candidates(rng: np.random.Generator, dimension: int, incumbents: Array) -> Array:
    spread = rng.random((_SPREAD, dimension))
    if len(incumbents) == 0:
        return spread
    local = incumbents[rng.integers(len(incumbents), size=_LOCAL)]
    # Steps of all sizes in few coordinates at a time: small ones refine, and a redrawn coordinate
    # is what reaches another category.
    step = 10.0 ** rng.uniform(-3.0, -0.5, (_LOCAL, 1)) * rng.standard_normal(local.shape)
    redrawn = rng.random(local.shape)
    moved = np.where(rng.random(local.shape) < 0.25, redrawn, np.clip(local + step, 0.0, 1.0))
    chosen = rng.random(local.shape) < min(1.0, 3.0 / max(dimension, 1))
    return np.vstack([spread, np.where(chosen, moved, local), incumbents])


def _climb(gp: Surrogate, best: float, rows: Array, columns: NDArray[np.intp]) -> Array:
    """The given columns of the rows after gradient steps on log-EI.

    The rows climb together: their sum separates, and one batch costs little more than one row.
    """
    rows = rows.copy()
    shape = (len(rows), len(columns))

    def downhill(flat: Array) -> tuple[float, Array]:
        rows[:, columns] = flat.reshape(shape)
        mean, sd, mean_gradient, sd_gradient = gp.predict_with_gradient(rows)
        value, by_mean, by_sd = log_expected_improvement_with_gradient(mean, sd, best)
        gradient = by_mean[:, None] * mean_gradient + by_sd[:, None] * sd_gradient
        return -float(value.sum()), -gradient[:, columns].ravel()

    start = rows[:, columns].ravel()
    end = minimize(
        downhill,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.zeros(start.size), np.ones(start.size)),
        options={"ftol": 1e-6, "maxiter": 15},
    )
    return np.asarray(end.x.reshape(shape))


def _same(point: Array, others: Array) -> Mask:
    return np.asarray((np.abs(others - point) <= _SAME).all(axis=1))


def _neighbour(
    known: Array, onto: Callable[[Array], Array], value: Callable[[Array], Array]
) -> Array | None:
    """The best unknown point that differs from some known one in a single coordinate.

    On a lattice that is a product, such a point exists whenever any unknown point does.
    """
    grid = np.linspace(0.0, 1.0, _SWEEP)
    for row in known:
        for coordinate in range(len(row)):
            line = np.tile(row, (_SWEEP, 1))
            line[:, coordinate] = grid
            line = np.unique(onto(line), axis=0)
            line = line[[not _same(point, known).any() for point in line]]
            if len(line):
                return np.asarray(line[np.argmax(value(line))])
    return None

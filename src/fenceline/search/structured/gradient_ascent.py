"""Gradient steps on the acquisition: the last digits of the continuous hyper-parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from fenceline.problem.parameter import Real
from fenceline.problem.space import Choices
from fenceline.search.structured.acquisition import Acquisition
from fenceline.search.surrogates.matern import matern_at
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import APART, Part, Structure

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_STEPS = 12


def ascend(
    acquisition: Acquisition, structure: Structure, z: Choices, theta: Array
) -> tuple[float, Array]:
    """Return the log acquisition and theta after L-BFGS steps of the active real hyper-parameters."""
    space = structure.space
    columns = np.array(
        [k for k in space.active(z) if isinstance(space.parameters[k], Real)], dtype=np.intp
    )
    slices = _slices(acquisition.processes, structure, z)
    theta = theta.copy()
    features = [part.features[0] for part in structure.parts(np.array([z]), theta[None])]
    varying = [structure.features_of(i, j) for i, j in enumerate(z)]
    # Where each real hyper-parameter stands among the features: only those move.
    real = np.zeros(len(theta), dtype=np.bool_)
    real[columns] = True
    places = [(i, np.flatnonzero(real[structure.columns[i]])) for i in range(len(z))]
    rank = {int(k): n for n, k in enumerate(columns)}
    moving = [(i, at, [rank[int(k)] for k in structure.columns[i][at]]) for i, at in places]

    def downhill(x: Array) -> tuple[float, Array]:
        for i, at, which in moving:
            features[i][at] = x[which] - 0.5
        varied = np.concatenate([f[own] for f, own in zip(features, varying, strict=True)])
        predictions = [s.predict(varied) for s in slices]
        value, slopes = acquisition.value_with_gradient(
            [(mean, sd) for mean, sd, _, _ in predictions]
        )
        gradient = np.zeros(len(theta))
        for (by_mean, by_sd), (_, _, mean_gradient, sd_gradient) in zip(
            slopes, predictions, strict=True
        ):
            gradient += by_mean * mean_gradient + by_sd * sd_gradient
        return -value, -gradient[columns]

    start = structure.rescaling(theta[columns], columns)
    if len(columns) == 0:
        return -downhill(start)[0], theta
    end = minimize(
        downhill,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(np.zeros(len(start)), np.ones(len(start))),
        options={"maxiter": _STEPS, "ftol": 1e-6},
    )
    theta[columns] = structure.rescaling.inverse(end.x, columns)
    return -float(end.fun), theta


@dataclass(frozen=True, slots=True)
class _Matches:
    """What evaluations have in common with one choice of algorithms, where only hyper-parameters move.

    It is laid out as one table, a row for each module and evaluation of the same algorithm, so that
    an L-BFGS step costs a handful of array operations and not a handful for each module.
    """

    module: Indices  # of each row
    rows: Indices  # and its evaluation
    flat: Indices  # where both stand in a matrix of modules by evaluations
    columns: Indices  # of theta, behind all features that vary with the algorithms
    owned: Array  # 1 where a feature belongs to the row's module
    known: Array  # the evaluations' features there, and 0 elsewhere
    shared: Array  # how much of it is shared: 1, but for slots of one module and for shapes
    modules: int
    width: int

    @classmethod
    def of(cls, parts: Sequence[Part], structure: Structure, z: Choices) -> _Matches:
        matches = [structure.slots.matches(i, j, parts) for i, j in enumerate(z)]
        features = [structure.features_of(i, j) for i, j in enumerate(z)]
        module = np.repeat(np.arange(len(z)), [len(at) for at, _, _ in matches])
        of_feature = np.repeat(np.arange(len(z)), [len(own) for own in features])
        owned = np.equal.outer(module, of_feature)
        known = np.zeros(owned.shape)
        row = column = 0
        for (_, _, theirs), own in zip(matches, features, strict=True):
            below, right = row + len(theirs), column + len(own)
            known[row:below, column:right] = theirs[:, own]
            row, column = below, right
        rows = np.concatenate([at for at, _, _ in matches])
        return cls(
            module,
            rows,
            module * len(parts[0]) + rows,
            np.concatenate([structure.columns[i][own] for i, own in enumerate(features)]),
            owned.astype(np.float64),
            known,
            np.concatenate([weights for _, weights, _ in matches]),
            len(z),
            len(structure.space.parameters),
        )


def _slices(processes: Sequence[SharedProcess], structure: Structure, z: Choices) -> list[_Slice]:
    """Return every process seen from one choice of algorithms."""
    # Metrics that are learnt from the same pipelines differ in their amplitudes only.
    matches = {parts: _Matches.of(parts, structure, z) for parts in {p.parts for p in processes}}
    return [_Slice.of(process, matches[process.parts]) for process in processes]


@dataclass(frozen=True, slots=True)
class _Slice:
    """A process seen from one choice of algorithms."""

    process: SharedProcess
    matches: _Matches
    scales: Array
    known: Array  # the evaluations' features, in length scales
    constants: Array
    materns: Array

    @classmethod
    def of(cls, process: SharedProcess, matches: _Matches) -> _Slice:
        amplitudes = process.amplitudes
        scales = amplitudes.length_scales[matches.columns]
        return cls(
            process,
            matches,
            scales,
            matches.known / scales,
            amplitudes.constant[matches.module] * matches.shared,
            amplitudes.matern[matches.module],
        )

    def predict(self, features: Array) -> tuple[float, float, Array, Array]:
        """Return mean and deviation of one pipeline, and their gradients in theta."""
        process, amplitudes, matches = self.process, self.process.amplitudes, self.matches
        n, rows = len(process.z), matches.rows
        apart = matches.owned * (features / self.scales) - self.known
        correlation, slope = matern_at(5.0 * np.einsum("ij,ij->i", apart, apart))
        correlation *= matches.shared
        slope *= matches.shared
        factors = np.full((matches.modules, n), APART)
        factors.ravel()[matches.flat] = APART + (1.0 - APART) * correlation
        product = amplitudes.interaction * factors.prod(axis=0)
        cross = product + np.bincount(rows, self.constants + self.materns * correlation, n)
        white = process.whitener @ cross
        back = white @ process.whitener
        sd = math.sqrt(max(amplitudes.prior_variance - float(white @ white), 1e-12))
        # d M / d x = -5/3 slope (x - x') / l, in scaled coordinates, wherever M enters.
        others = product[rows] / factors.ravel()[matches.flat]
        pull = slope * (self.materns + (1.0 - APART) * others) * (-5.0 / 3.0)
        both = np.stack([process.weights[rows], back[rows] / -sd]) * pull
        gradients = np.zeros((2, matches.width))
        # A category has several features in one column; it does not move, and the last may stand.
        gradients[:, matches.columns] = both @ apart / self.scales
        return process.constant + float(cross @ process.weights), sd, gradients[0], gradients[1]

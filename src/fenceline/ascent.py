"""Gradient steps on the acquisition: the last digits of the continuous hyper-parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from fenceline.parameter import Real
from fenceline.promise import Promise
from fenceline.space import Choices
from fenceline.surrogates.matern import matern
from fenceline.surrogates.shared import SharedProcess
from fenceline.surrogates.structure import APART, Structure

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_STEPS = 12


def ascend(promise: Promise, structure: Structure, z: Choices, theta: Array) -> tuple[float, Array]:
    """Return the log acquisition and theta after L-BFGS steps of the active real hyper-parameters."""
    space = structure.space
    columns = np.array(
        [k for k in space.active(z) if isinstance(space.parameters[k], Real)], dtype=np.intp
    )
    slices = [_Slice.of(process, structure, z) for process in promise.processes]
    theta = theta.copy()
    features = [part.features[0] for part in structure.parts(np.array([z]), theta[None])]
    # Where each real hyper-parameter stands among the features: only those move.
    places = [(i, np.flatnonzero(np.isin(structure.columns[i], columns))) for i in range(len(z))]
    rank = {int(k): n for n, k in enumerate(columns)}
    moving = [(i, at, [rank[int(k)] for k in structure.columns[i][at]]) for i, at in places]

    def downhill(x: Array) -> tuple[float, Array]:
        for i, at, which in moving:
            features[i][at] = x[which] - 0.5
        predictions = [s.predict(features) for s in slices]
        value, slopes = promise.value_with_gradient([(mean, sd) for mean, sd, _, _ in predictions])
        gradient = np.zeros(len(theta))
        for (by_mean, by_sd), (_, _, mean_gradient, sd_gradient) in zip(
            slopes, predictions, strict=True
        ):
            gradient += by_mean * mean_gradient + by_sd * sd_gradient
        return -value, -gradient[columns]

    start = theta[columns]
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
    theta[columns] = end.x
    return -float(end.fun), theta


@dataclass(frozen=True, slots=True)
class _Module:
    """What one module of a pipeline has in common with the evaluations of the same algorithm."""

    rows: Indices
    own: Indices  # its features
    columns: Indices  # and the columns of theta behind them
    scales: Array
    scaled: Array


@dataclass(frozen=True, slots=True)
class _Slice:
    """A process seen from one choice of algorithms, where only hyper-parameters move."""

    process: SharedProcess
    modules: tuple[_Module, ...]
    width: int

    @classmethod
    def of(cls, process: SharedProcess, structure: Structure, z: Choices) -> _Slice:
        modules = []
        for i, j in enumerate(z):
            part = process.parts[i]
            rows = np.flatnonzero(part.algorithm == j)
            own = structure.features_of(i, j)
            columns = structure.columns[i][own]
            scales = process.amplitudes.length_scales[columns]
            modules.append(
                _Module(rows, own, columns, scales, part.features[np.ix_(rows, own)] / scales)
            )
        return cls(process, tuple(modules), len(structure.space.parameters))

    def predict(self, features: list[Array]) -> tuple[float, float, Array, Array]:
        """Return mean and deviation of one pipeline, and their gradients in theta."""
        amplitudes, n = self.process.amplitudes, len(self.process.z)
        cross, product = np.zeros(n), np.full(n, amplitudes.interaction)
        compared = []
        for i, module in enumerate(self.modules):
            at = features[i][module.own] / module.scales
            correlation, slope = (m[0] for m in matern(at[None], module.scaled))
            factor = np.full(n, APART)
            factor[module.rows] += (1.0 - APART) * correlation
            cross[module.rows] += amplitudes.constant[i] + amplitudes.matern[i] * correlation
            product *= factor
            compared.append((at, slope, factor))
        cross += product
        white = self.process.whitener @ cross
        back = white @ self.process.whitener
        sd = math.sqrt(max(amplitudes.prior_variance - float(white @ white), 1e-12))
        mean_gradient, sd_gradient = np.zeros(self.width), np.zeros(self.width)
        for i, (module, (at, slope, factor)) in enumerate(zip(self.modules, compared, strict=True)):
            rows = module.rows
            others = product[rows] / factor[rows]
            # d M / d x = -5/3 slope (x - x') / l, in scaled coordinates, wherever M enters.
            pull = slope * (amplitudes.matern[i] + (1.0 - APART) * others) * (-5.0 / 3.0)
            moved = (at - module.scaled) * pull[:, None] / module.scales
            mean_gradient[module.columns] = self.process.weights[rows] @ moved
            sd_gradient[module.columns] = back[rows] @ moved / -sd
        mean = self.process.constant + float(cross @ self.process.weights)
        return mean, sd, mean_gradient, sd_gradient

"""Multipliers from the models: what the constraints press with where the best pipeline stands.

At a minimiser the gradient of the loss is held by those of the active constraints and by the ends
of the ranges. The multipliers that balance them best in the sense of least squares (Nocedal and
Wright, *Numerical Optimization*, eq. 18.21, with signs) need no minimiser of the Lagrangian, which
dual ascent over a handful of measurements never reaches: there the multiplier of a constraint that
the search learned to respect stayed near zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from fenceline.problem.parameter import Real
from fenceline.problem.space import Choices, Space
from fenceline.search.lagrangian import Scales
from fenceline.search.structured.models import Models
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Part, Structure

Array = NDArray[np.float64]

_STEP = 1e-3  # of a range: far below any length scale, far above rounding
_AT_END = 1e-6
_NEAR = 0.05  # a constraint is active if a step of so much of the ranges would reach its bound
_RELUCTANCE = 0.1  # of such a constraint to share the load of nearer ones


def multipliers(models: Models, scales: Scales) -> Array | None:
    """Return what the constraints press with at the best feasible pipeline, scaled.

    None without constraints, while nothing feasible is known, or where no real hyper-parameter is
    active: between the points of a lattice a bound has no price.
    """
    data, structure = models.data, models.structure
    feasible = data.feasible()
    if len(feasible) == 0 or not models.learned or not models.constraints:
        return None
    best = int(feasible[np.argmin(data.loss[feasible])])
    z, theta = data.row(best)
    columns = reals(structure.space, z)
    if len(columns) == 0:
        return None
    steps = _Steps.around(structure, z, theta, columns)
    loss = steps.slopes(models.objective, float(data.loss[best]))
    slopes = [
        steps.slopes(model, float(y))
        for model, y in zip(models.constraints, data.excess[best], strict=True)
    ]
    return balance(
        loss / scales.loss,
        np.array(slopes).reshape(-1, len(columns)) / scales.constraints[:, None],
        data.excess[best] / scales.constraints,
        np.array([c.equality for c in data.problem.constraints], dtype=np.bool_),
        structure.rescaling(theta[columns], columns),
    )


def reals(space: Space, z: Choices) -> NDArray[np.intp]:
    """Return the active real hyper-parameters: what can give way when a bound moves a little."""
    active = space.active(z)
    return np.array([k for k in active if isinstance(space.parameters[k], Real)], dtype=np.intp)


@dataclass(frozen=True, slots=True)
class _Steps:
    """A small step down and one up along each of some hyper-parameters, on the scales that were learnt.

    Multipliers do not depend on the scales.
    """

    parts: Sequence[Part]
    """The pipelines a step below, followed by those a step above."""
    widths: Array

    @classmethod
    def around(
        cls, structure: Structure, z: Choices, theta: Array, columns: NDArray[np.intp]
    ) -> _Steps:
        """Step from a pipeline."""
        low = np.repeat(theta[None], len(columns), axis=0)
        high = low.copy()
        rows = np.arange(len(columns))
        scale = structure.rescaling
        place = scale(theta[columns], columns)
        below, above = np.maximum(place - _STEP, 0.0), np.minimum(place + _STEP, 1.0)
        low[rows, columns] = scale.inverse(below, columns)
        high[rows, columns] = scale.inverse(above, columns)
        both = np.tile(np.array(z, dtype=np.intp), (2 * len(columns), 1))
        return cls(structure.parts(both, np.vstack([low, high])), above - below)

    def slopes(self, model: MetricModel, y: float) -> Array:
        """Return the slopes of a metric that was measured as `y`."""
        assert model.process is not None, "update() comes first"
        assert model.warp is not None
        means = model.process.mean_of_pipelines(self.parts)
        count = len(self.widths)
        return np.asarray((means[count:] - means[:count]) / self.widths / model.warp.slope(y))


def balance(
    loss: Array, constraints: Array, excess: Array, equal: NDArray[np.bool_], place: Array
) -> Array:
    """Return the multipliers that best hold the gradient of the loss.

    Parameters
    ----------
    loss : array of shape (d,)
        Its gradient.
    constraints : array of shape (m, d)
        Their gradients.
    excess : array of shape (m,)
        How far each lies beyond its bound; one that lies well inside has multiplier 0.
    equal : boolean array of shape (m,)
        Whether the multiplier may be negative.
    place : array of shape (d,)
        Where in the unit cube this is: its sides push back, too.
    """
    sizes = np.maximum(np.linalg.norm(constraints, axis=1), 1e-300)
    distance = np.where(equal, 0.0, np.maximum(-excess, 0.0) / sizes)
    active = np.flatnonzero(distance <= _NEAR)
    signed = active[equal[active]]
    sides = np.eye(len(place))
    columns = [
        constraints[active].T,
        -constraints[signed].T,
        -sides[:, place <= _AT_END],
        sides[:, place >= 1.0 - _AT_END],
    ]
    matrix = np.hstack(columns)
    # Columns of one length, so that no unit makes the least squares ill-conditioned.
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    # Where two constraints pull the same way, the nearer one is at work.
    reluctance = np.zeros(matrix.shape[1])
    reluctance[: len(active)] = _RELUCTANCE * distance[active] / _NEAR
    system = np.vstack([matrix / lengths, np.diag(reluctance)])
    wanted = np.append(-loss, np.zeros(len(reluctance)))
    found = nnls(system, wanted)[0] / lengths if matrix.size else np.zeros(len(lengths))
    multipliers = np.zeros(len(excess))
    multipliers[active] = found[: len(active)]
    multipliers[signed] -= found[len(active) : len(active) + len(signed)]
    return multipliers

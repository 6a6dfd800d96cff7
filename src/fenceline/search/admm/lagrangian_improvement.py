"""Expected improvement of the *augmented Lagrangian*: its penalties are known functions of the metrics.

f and every g have models of their own. For a draw of g the penalties are numbers, and what is left
is the expected improvement of f on a target lowered by them, which has a closed form. The mean over
a fixed set of draws of g does the rest: multipliers enter exactly, and no model ever learns a
penalty whose kink and whose multipliers change from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from fenceline.search.lagrangian import Lagrangian
from fenceline.search.structured.acquisition import Chance, believing
from fenceline.search.structured.models import Models
from fenceline.search.surrogates.improvement import (
    log_expected_improvement,
    log_expected_improvement_with_gradient,
)
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.warp import Warp

Array = NDArray[np.float64]

_DRAWS = 64
_MOST = 1e100  # scaled; the square of more may not be a float


@dataclass(frozen=True, slots=True)
class LagrangianImprovement:
    """Log expected improvement of f + rho/2 sum (g - eps + u + mu/rho)^2 on the best merit known.

    Improvement is measured on the scale on which f is modelled: that of f, or of its logarithm.
    """

    objective: SharedProcess
    constraints: tuple[SharedProcess, ...]
    warp: Warp
    warps: tuple[Warp, ...]
    lagrangian: Lagrangian
    best: float | Array
    """The merit to go below, one for all pipelines or one each."""
    draws: Array
    """Standard normal, a column per constraint."""
    success: Chance | None = None

    @classmethod
    def of(cls, models: Models, lagrangian: Lagrangian, best: float) -> LagrangianImprovement:
        """Return the acquisition under everything known, with what is pending taken at its prediction."""
        objective, constraints = models.fit()
        failure = models.fit_failures()
        success = None
        if failure is not None:
            success = Chance(failure, -np.inf, models.failure.warped(0.5))
        assert models.objective.warp is not None
        warps = tuple(m.warp for m in models.constraints if m.warp is not None)
        draws = normal_draws(len(constraints))
        found = cls(
            objective, tuple(constraints), models.objective.warp, warps, lagrangian, best, draws, success
        )  # fmt: skip
        pending = models.pending
        if not pending:
            return found
        return replace(
            found,
            objective=believing(objective, pending),
            constraints=tuple(believing(process, pending) for process in constraints),
            success=success and replace(success, process=believing(success.process, pending)),
        )

    def lowered(self, by: float | Array) -> LagrangianImprovement:
        """Return the acquisition where a known penalty comes on top of the merit."""
        return replace(self, best=self.best - by)

    @property
    def processes(self) -> tuple[SharedProcess, ...]:
        """Every model that is asked, in the order in which `value` takes its predictions."""
        last = () if self.success is None else (self.success.process,)
        return (self.objective, *self.constraints, *last)

    def value(self, predictions: Sequence[tuple[Array, Array]]) -> Array:
        """Return the acquisition of many pipelines from each model's means and deviations."""
        mean, sd = predictions[0]
        constrained = predictions[1 : 1 + len(self.constraints)]
        target, _, _ = self._targets(constrained, np.shape(mean))
        each = log_expected_improvement(mean[:, None], sd[:, None], target)
        total = logsumexp(each, axis=1) - np.log(each.shape[1])
        if self.success is not None:
            total = total + self.success.log(*predictions[-1])
        return np.asarray(total)

    def value_with_gradient(
        self, predictions: Sequence[tuple[float, float]]
    ) -> tuple[float, list[tuple[float, float]]]:
        """Return the acquisition of one pipeline, and its derivatives in each mean and deviation."""
        mean, sd = predictions[0]
        constrained = [
            (np.array([m]), np.array([s])) for m, s in predictions[1 : 1 + len(self.constraints)]
        ]
        target, slope, by_g = self._targets(constrained, (1,))
        each, by_mean, by_sd = log_expected_improvement_with_gradient(mean, sd, target[0])
        total = float(logsumexp(each) - np.log(len(each)))
        weights = np.exp(each - each.max())
        weights /= weights.sum()
        slopes = [(float(weights @ by_mean), float(weights @ by_sd))]
        # The target falls as a penalty grows, and a lower target is as bad as a higher mean.
        steep = weights * by_mean * slope[0]
        for m, by in enumerate(by_g):
            slopes.append((float(steep @ by[0]), float(steep @ (by[0] * self.draws[:, m]))))
        if self.success is not None:
            chance, *by_chance = self.success.log_with_gradient(*predictions[-1])
            total += chance
            slopes.append((by_chance[0], by_chance[1]))
        return total, slopes

    def _targets(
        self, constrained: Sequence[tuple[Array, Array]], shape: tuple[int, ...]
    ) -> tuple[Array, Array, list[Array]]:
        """Return the value f must go below in each draw, on its model's scale, with slopes.

        They are the slope of that value in the merit, and those of the merit in each constraint's model.
        """
        penalty: Array = np.zeros((*shape, len(self.draws)))
        slopes = []
        scales, mu, rho = self.lagrangian.scales, self.lagrangian.mu, self.lagrangian.rho
        upper = self.lagrangian.upper
        with np.errstate(over="ignore"):  # whatever is measured, the acquisition stays finite
            for m, (mean, sd) in enumerate(constrained):
                drawn = mean[:, None] + sd[:, None] * self.draws[:, m]
                excess = self.warps[m].inverse(drawn) / scales.constraints[m]
                slack = np.clip(-excess - mu[m] / rho, 0.0, upper[m])
                lack = np.clip(excess + slack + mu[m] / rho, -_MOST, _MOST)
                penalty = penalty + 0.5 * rho * lack**2
                # The slack is at its best, so that it does not move the penalty to first order.
                slope = lack * self.warps[m].inverse_slope(drawn) * (rho / scales.constraints[m])
                slopes.append(np.clip(slope, -_MOST, _MOST))
            below = (np.asarray(self.best)[..., None] - penalty) * scales.loss
            target = np.clip(self.warp(below), -_MOST, _MOST)
            return target, scales.loss * self.warp.slopes(below), slopes


def normal_draws(columns: int) -> Array:
    """Return evenly spread standard normal rows: the additive recurrence of the plastic ratios.

    Martin Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018. Fixed draws make
    the acquisition a smooth function, the same at every call.
    """
    if columns == 0:
        return np.zeros((1, 0))
    ratio = 2.0
    for _ in range(50):  # the fixed point of x^(d+1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (columns + 1.0))
    steps = ratio ** -np.arange(1.0, columns + 1.0)
    return np.asarray(ndtri((0.5 + np.outer(np.arange(1, _DRAWS + 1), steps)) % 1.0))

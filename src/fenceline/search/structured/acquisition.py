"""The acquisition: expected improvement of the loss, weighed by the chance of every constraint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fenceline.search.structured.crowding import Crowd
from fenceline.search.structured.models import Models
from fenceline.search.surrogates.improvement import (
    log_expected_improvement,
    log_expected_improvement_with_gradient,
    log_probability_below,
)
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Part

Array = NDArray[np.float64]

_LOG_ROOT_TAU = 0.5 * float(np.log(2.0 * np.pi))
_FAR = 1e6  # deviations: at an end that is farther away, nothing is left of the density


class Acquisition(Protocol):
    """What measuring a pipeline promises, computed from what some models predict of it."""

    @property
    def processes(self) -> tuple[SharedProcess, ...]:
        """Every model that is asked, in the order in which `value` takes its predictions."""

    def value(self, predictions: Sequence[tuple[Array, Array]]) -> Array:
        """Return the acquisition of many pipelines from each model's means and deviations."""

    def value_with_gradient(
        self, predictions: Sequence[tuple[float, float]]
    ) -> tuple[float, list[tuple[float, float]]]:
        """Return the acquisition of one pipeline, and its derivatives in each mean and deviation."""


class Requirement(Protocol):
    """What counts beside the improvement: a factor, given as its logarithm, from one model."""

    @property
    def process(self) -> SharedProcess:
        """The model that is asked."""

    def log(self, mean: Array, sd: Array) -> Array:
        """Return the logarithm of the factor."""

    def log_with_gradient(self, mean: float, sd: float) -> tuple[float, float, float]:
        """Return the logarithm for one pipeline, and its derivatives in mean and deviation."""

    def believing(self, parts: Sequence[Part]) -> Requirement:
        """Return it if pipelines that are being measured turn out as predicted."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability that a modelled metric lies between two values."""

    process: SharedProcess
    low: float
    high: float

    def log(self, mean: Array, sd: Array) -> Array:
        """Return its logarithm, exact far into the tails on either side."""
        if self.low == -math.inf:
            return log_probability_below(mean, sd, self.high)
        if self.high == math.inf:
            return log_probability_below(-mean, sd, -self.low)
        inside, outside = log_ndtr((self.high - mean) / sd), log_ndtr((self.low - mean) / sd)
        return np.asarray(inside + np.log1p(-np.exp(np.minimum(outside - inside, -1e-16))))

    def log_with_gradient(self, mean: float, sd: float) -> tuple[float, float, float]:
        """Return the logarithm for one pipeline, and its derivatives in mean and deviation."""
        value = float(self.log(np.array([mean]), np.array([sd]))[0])
        first, last = (min(max((end - mean) / sd, -_FAR), _FAR) for end in (self.low, self.high))
        low, high = _steepness(first, value), _steepness(last, value)
        return value, (low - high) / sd, (first * low - last * high) / sd

    def believing(self, parts: Sequence[Part]) -> Chance:
        """Return the chance if pipelines that are being measured turn out as predicted."""
        return replace(self, process=believing(self.process, parts))


@dataclass(frozen=True, slots=True)
class Toll:
    """What counts against a pipeline in proportion to what a model predicts: seconds, say."""

    process: SharedProcess
    weight: float
    """Per unit of the process."""

    def log(self, mean: Array, sd: Array) -> Array:
        """Return the logarithm of the factor."""
        return -self.weight * mean

    def log_with_gradient(self, mean: float, sd: float) -> tuple[float, float, float]:
        """Return the same for one pipeline, and its derivatives in mean and deviation."""
        return -self.weight * mean, -self.weight, 0.0

    def believing(self, parts: Sequence[Part]) -> Toll:
        """Return the same toll: what is being measured does not change it."""
        return self


@dataclass(frozen=True, slots=True)
class ConstrainedImprovement:
    """Log expected improvement on the best feasible loss plus the log chances of every constraint.

    While nothing feasible is known (`best` is None) only the chances count: first into the fence.
    """

    objective: SharedProcess
    best: float | None
    chances: tuple[Requirement, ...] = ()

    @property
    def processes(self) -> tuple[SharedProcess, ...]:
        """Every model that is asked, in the order in which `value` takes its predictions."""
        needed = () if self.best is None else (self.objective,)
        return (*needed, *(c.process for c in self.chances))

    def value(self, predictions: Sequence[tuple[Array, Array]]) -> Array:
        """Return the acquisition from each model's means and deviations."""
        total = np.zeros(len(predictions[0][0]))
        rest = list(predictions)
        if self.best is not None:
            total += log_expected_improvement(*rest.pop(0), self.best)
        for chance, (mean, sd) in zip(self.chances, rest, strict=True):
            total += chance.log(mean, sd)
        return total

    def value_with_gradient(
        self, predictions: Sequence[tuple[float, float]]
    ) -> tuple[float, list[tuple[float, float]]]:
        """Return the acquisition of one pipeline, and its derivatives in each mean and deviation."""
        total, slopes = 0.0, []
        rest = list(predictions)
        if self.best is not None:
            found = log_expected_improvement_with_gradient(*rest.pop(0), self.best)
            total += float(found[0])
            slopes.append((float(found[1]), float(found[2])))
        for chance, (mean, sd) in zip(self.chances, rest, strict=True):
            value, by_mean, by_sd = chance.log_with_gradient(mean, sd)
            total += value
            slopes.append((by_mean, by_sd))
        return total, slopes

    @classmethod
    def of(
        cls,
        models: Models,
        *,
        learn_failures: bool = True,
        room: float = 0.0,
        without: Crowd | None = None,
    ) -> ConstrainedImprovement:
        """Return the acquisition under everything known, with what is pending taken at its prediction.

        Parameters
        ----------
        models : Models
            They learn what is new first.
        learn_failures : bool
            Whether the chance to fail counts.
        room : float
            How many typical errors, of those that feasibility leaves out, to stay inside the fence;
            at most one more than some pipeline is known to.
        without : Crowd, optional
            Algorithms that are not to dominate the model of the objective.
        """
        data = models.data
        room = data.within_reach(room)
        objective, constrained = models.fit()
        if without is not None:
            objective = models.fit_without_crowd(without)
        chances: list[Chance] = []
        for model, process, constraint, error in zip(
            models.constraints,
            constrained,
            data.problem.constraints,
            data.typical_error,
            strict=True,
        ):
            within, low = constraint.tolerance - room * error, -np.inf
            if constraint.equality:
                within = max(within, 0.0)
                low = model.warped(-within)
            chances.append(Chance(process, low, model.warped(within)))
        if learn_failures and (failure := models.fit_failures()) is not None:
            chances.append(Chance(failure, -np.inf, models.failure.warped(0.5)))
        feasible = data.feasible(room)
        if without is not None:
            # On the best of the others: seen from the best of all, they would be explored for ever
            # and tuned never.
            feasible = feasible[~without.includes(data.z[data.ok])[feasible]]
        best = models.best_loss(objective, feasible)
        acquisition = cls(objective, best, tuple(chances))
        pending = models.pending
        return acquisition.believing(pending) if pending else acquisition

    def believing(self, parts: Sequence[Part]) -> ConstrainedImprovement:
        """Return the acquisition if pipelines that are being measured turn out as predicted."""
        chances = tuple(c.believing(parts) for c in self.chances)
        return ConstrainedImprovement(believing(self.objective, parts), self.best, chances)


def believing(process: SharedProcess, parts: Sequence[Part]) -> SharedProcess:
    """Return a process that takes pipelines at what it predicts of them."""
    return process.extend(parts, process.mean_of_pipelines(parts))


def _steepness(end: float, log_chance: float) -> float:
    """Return the density at an end over the chance; both may be far below the smallest float."""
    return float(np.exp(min(-0.5 * end * end - _LOG_ROOT_TAU - log_chance, 700.0)))

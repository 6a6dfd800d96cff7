"""The augmented Lagrangian: the merit of a *raw* evaluation under today's multipliers.

Nothing here is stored: objective and constraints are kept as measured, so that multipliers,
slacks and scales can change without losing a single observation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space, Theta

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
UnitsName: TypeAlias = Literal["unit", "raw"]


@dataclass(frozen=True, slots=True)
class Scales:
    """What counts as one: of the loss, and of each constraint."""

    loss: float
    constraints: Array

    @classmethod
    def of(cls, problem: Problem, history: Sequence[Evaluation], *, raw: bool) -> "Scales":
        """Return the scales of the seed, or those that make a problem scale-free."""
        return cls.raw(problem) if raw else cls.observed(problem, history)

    @classmethod
    def raw(cls, problem: Problem) -> "Scales":
        """Take everything as measured, as the seed does."""
        return cls(1.0, np.ones(len(problem.constraints)))

    @classmethod
    def observed(cls, problem: Problem, history: Sequence[Evaluation]) -> "Scales":
        """Make rho = 1 mean the same everywhere: the loss by its spread, constraints by their scale.

        A bound of zero says nothing about its metric's size, so there the spread decides.
        """
        measured = [e for e in history if e.ok and not e.look]
        return cls(
            _spread([e.objective for e in measured]),
            np.array(
                [
                    c.scale
                    if c.bound != 0 or c.scale != 1
                    else _spread([e.metrics[c.metric] for e in measured])
                    for c in problem.constraints
                ]
            ),
        )

    def carried(self, mu: Array, lam: Array, before: "Scales") -> tuple[Array, Array]:
        """Return multipliers that are worth under these scales what they were worth before.

        A multiplier is loss per unit of its equation. The spread of the loss falls while a search
        closes in, and what a bound costs must not fall with it.
        """
        share = min(before.loss / self.loss, 1e100)
        return mu * share * np.minimum(self.constraints / before.constraints, 1e100), lam * share

    def prices(self, problem: Problem, mu: Array) -> dict[str, float]:
        """Return what one unit of each bound is worth in objective: multipliers, unscaled."""
        with np.errstate(over="ignore"):  # past the largest float a price is infinite
            worth = mu * self.loss / self.constraints
        return {str(c): float(p) for c, p in zip(problem.constraints, worth, strict=True)}


@dataclass(frozen=True, slots=True)
class Lagrangian:
    """f + rho/2 * sum_m (g_m - eps_m + u_m + mu_m / rho)^2, in scaled units.

    `upper` bounds the slacks: 0 for an equality, eps in the seed (which knows g >= 0),
    infinite otherwise.
    """

    problem: Problem
    scales: Scales
    rho: float
    mu: Array
    upper: Array

    def loss(self, evaluation: Evaluation) -> float:
        """Return f, scaled."""
        return evaluation.objective / self.scales.loss

    def excess(self, evaluation: Evaluation) -> Array:
        """Return g - eps for every constraint, scaled; negative inside the fence."""
        values = [
            c.excess(evaluation.metrics[c.metric], evaluation.errors.get(c.metric, 0.0))
            for c in self.problem.constraints
        ]
        return np.array(values, dtype=np.float64) / self.scales.constraints

    def slack(self, excess: Array) -> Array:
        """Return the u that minimises the merit for a measured g: closed form, no search needed."""
        return np.clip(-excess - self.mu / self.rho, 0.0, self.upper)

    def merit(self, evaluation: Evaluation, u: Array | None = None) -> float:
        """Return the merit of a successful evaluation; u is eliminated unless it is given."""
        return float(
            self.merits(np.array([self.loss(evaluation)]), self.excess(evaluation)[None], u)[0]
        )

    def merits(self, losses: Array, excesses: Array, u: Array | None = None) -> Array:
        """Return the merits of many evaluations, given as scaled losses and scaled excesses (a row each)."""
        slack = self.slack(excesses) if u is None else u
        lack = excesses + slack + self.mu / self.rho
        # Solvers count on finite merits, whatever was measured.
        with np.errstate(over="ignore"):
            penalties = 0.5 * self.rho * np.einsum("ij,ij->i", lack, lack)
        return np.asarray(np.clip(losses, -1e300, 1e300) + np.clip(penalties, 0.0, 1e300))


def slack_bounds(problem: Problem, *, as_seed: bool = False, raw: bool = False) -> Array:
    """Return the upper ends of u: unbounded, 0 for an equality, or eps as in the seed.

    The seed takes g >= 0 for granted, and a search needs a box anyway; in unit measure eps is 1.
    """
    ends = []
    for c in problem.constraints:
        end = (abs(c.bound) or 1.0) if raw else 1.0
        ends.append(0.0 if c.equality else end if as_seed or raw else np.inf)
    return np.array(ends)


@dataclass(frozen=True)
class Integers:
    """theta_d: the integer and categorical coordinates of theta, in unit or in raw measure."""

    space: Space
    units: UnitsName

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """Where in theta they are."""
        return np.array(
            [k for k, p in enumerate(self.space.parameters) if not isinstance(p, Real)],
            dtype=np.intp,
        )

    def of(self, theta: Theta) -> Array:
        """Return theta_d, relaxed: any real number within the range."""
        values = theta[self.columns]
        if self.units == "raw":
            return np.where(
                self._log,
                self._low * np.exp(values * self._log_ratio),
                self._low + values * self._width,
            )
        return values

    def penalty(self, theta: Array, *, b: Array, rho: float, among: Indices) -> Array:
        """Return rho/2 |theta_d - b|^2 of rows of theta, over the integers among some columns."""
        counted = np.isin(self.columns, among)
        distance = np.array([self.of(row) for row in theta])[:, counted] - b[counted]
        return np.array([0.5 * rho * float(row @ row) for row in distance])

    def put(self, theta: Theta, values: Array) -> Theta:
        """Return a theta whose integer coordinates are these; the inverse of :meth:`of`."""
        if self.units == "raw":
            bent = np.log(np.maximum(values, 0.5) / np.maximum(self._low, 0.5)) / self._log_ratio
            values = np.where(self._log, bent, (values - self._low) / np.maximum(self._width, 1.0))
        theta = theta.copy()
        theta[self.columns] = values
        return theta

    def clip(self, values: Array) -> Array:
        """Project onto the relaxed range: the theta-min of inactive integers."""
        if self.units == "raw":
            return np.clip(values, self._low, self._low + self._width)
        return np.clip(values, 0.0, 1.0)

    def round(self, values: Array) -> Array:
        """Project onto the lattice: the delta-min."""
        if self.units == "raw":
            return np.rint(self.clip(values))
        parameters = [self.space.parameters[k] for k in self.columns]
        return np.array(
            [float(p.project(np.float64(v))) for p, v in zip(parameters, values, strict=True)]
        )

    @cached_property
    def _low(self) -> Array:
        return np.array([float(self.space.parameters[k].low) for k in self.columns])

    @cached_property
    def _width(self) -> Array:
        return np.array([float(self.space.parameters[k].high) for k in self.columns]) - self._low

    @cached_property
    def _log(self) -> NDArray[np.bool_]:
        return np.array([self.space.parameters[k].log for k in self.columns], dtype=np.bool_) & (
            self._width > 0
        )

    @cached_property
    def _log_ratio(self) -> Array:
        low = np.where(self._log, self._low, 1.0)
        return np.where(self._log, np.log(np.maximum((low + self._width) / low, 1.0)), 1.0)


def _spread(values: Sequence[float]) -> float:
    """Inter-quartile range: what a typical pipeline differs by, whatever the outliers do.

    Of one value nothing is known but its size: in raw units a loss of thousands would outweigh every
    bound, and the first theta-min would leave the fence at once (pressure_vessel: 8 of 100 evaluations
    kept it).
    """
    if len(values) < 2:
        return (abs(values[0]) if values else 0.0) or 1.0
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low) or float(np.ptp(values)) or 1.0

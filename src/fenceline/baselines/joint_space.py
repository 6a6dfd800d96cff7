"""All variables in one cube, active or not: choices first, then every hyper-parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.admm.solvers.cube import Cube

Array = NDArray[np.float64]

_SPREAD, _LOCAL = 1500, 1500  # candidates over the whole cube, and around the best points


@dataclass(frozen=True)
class JointSpace:
    """The view of a problem that joint optimisers have."""

    problem: Problem

    @cached_property
    def cube(self) -> Cube:
        """Geometry and features of the variables."""
        return Cube([*self.problem.space.choices, *self.problem.space.parameters])

    def configure(self, point: Array) -> Configuration:
        """Return the configuration of a point; what is inactive is dropped."""
        space = self.problem.space
        modules = len(space.modules)
        return space.decode(space.z_at(point[:modules]), point[modules:])

    def locate(self, configuration: Configuration) -> Array:
        """Return a point of a configuration; what is inactive stands in the middle."""
        space = self.problem.space
        z, theta = space.encode(configuration)
        return np.append(space.point_of(z), np.where(np.isnan(theta), space.centre, theta))

    def candidates(self, rng: np.random.Generator, good: Array) -> Array:
        """Return random points, and good ones with a few coordinates moved or drawn anew."""
        spread = rng.random((_SPREAD, self.cube.dimension))
        near = good[rng.integers(len(good), size=_LOCAL)]
        step = 10.0 ** rng.uniform(-3.0, -0.5, (_LOCAL, 1)) * rng.standard_normal(near.shape)
        moved = np.where(
            rng.random(near.shape) < 0.25, rng.random(near.shape), np.clip(near + step, 0.0, 1.0)
        )
        few = rng.random(near.shape) < min(1.0, 3.0 / max(1, self.cube.dimension))
        return self.cube.project(np.vstack([spread, np.where(few, moved, near)]))

    def submit_best(
        self, evaluator: Evaluator, points: Array, values: Array, rng: np.random.Generator
    ) -> None:
        """Have the best new and allowed candidate measured, or any where there is none."""
        for index in np.argsort(-values, kind="stable")[:200]:
            configuration = self.configure(points[index])
            new = evaluator.known(configuration) is None and configuration not in evaluator.pending
            if new and self.problem.allows(configuration):
                evaluator.submit(configuration)
                return
        evaluator.submit(self.problem.sample(rng))


class Record:
    """Everything measured, as points with losses and excesses; grows with the history."""

    def __init__(self, space: JointSpace, evaluator: Evaluator) -> None:
        self.space = space
        self.evaluator = evaluator
        self.points = np.empty((0, space.cube.dimension))
        self._losses: list[float] = []
        self._excesses: list[list[float]] = []

    def refresh(self) -> None:
        """Take in what is new."""
        new = self.evaluator.history[len(self.points) :]
        if not new:
            return
        constraints = self.space.problem.constraints
        located = [self.space.locate(e.configuration) for e in new]
        self.points = np.vstack([self.points, located])
        for e in new:
            self._losses.append(e.objective if e.ok else np.nan)
            self._excesses.append(
                [
                    c.beyond(e.metrics[c.metric], e.errors.get(c.metric, 0.0)) / c.scale
                    if e.ok
                    else np.nan
                    for c in constraints
                ]
            )

    @property
    def measured(self) -> bool:
        """Whether any pipeline succeeded."""
        return not np.isnan(self._losses).all()

    @property
    def losses(self) -> Array:
        """Losses; a failed pipeline counts as the worst that was seen."""
        return _filled(self._losses)

    @property
    def excesses(self) -> Sequence[Array]:
        """Scaled excesses, constraint by constraint; positive where one is broken."""
        table = np.array(self._excesses).reshape(len(self._losses), -1)
        return [_filled(column) for column in table.T]


def _filled(values: Sequence[float] | Array) -> Array:
    known = np.asarray(values, dtype=np.float64)
    # Huge values would overflow when they are standardised.
    return np.clip(np.where(np.isnan(known), np.nanmax(known), known), -1e100, 1e100)

"""Both sub-problems of ADMM on models that learn from all pipelines measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Choices
from fenceline.search.admm.lagrangian_improvement import LagrangianImprovement
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Merits, Subproblem
from fenceline.search.lagrangian import Lagrangian
from fenceline.search.structured.data import Data
from fenceline.search.structured.gradient_ascent import ascend
from fenceline.search.structured.models import Models
from fenceline.search.structured.module_ascent import Climb
from fenceline.threads import one_thread

Array = NDArray[np.float64]

_FIRST = 5  # pipelines that must have succeeded before the models are asked
_NEAR, _RANDOM, _ELITES = 96, 32, 5
_STARTS, _SWEEPS = 4, 3


class SharedSurrogate:
    """One model per metric over all pipelines, from which both sub-problems are solved."""

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self.problem = problem
        self.models = Models(Data(problem, evaluator))

    def over_theta(
        self, lagrangian: Lagrangian, z: Choices, theta: Array, penalty: Callable[[Array], Array]
    ) -> ThetaSolver:
        """Return a solver of theta-min; `penalty` holds theta_d near delta, and is known."""
        return ThetaSolver(self.models, lagrangian, z, theta, penalty)

    def over_z(self, lagrangian: Lagrangian, theta: Array) -> ZSolver:
        """Return a solver of z-min, where every algorithm keeps its own hyper-parameters."""
        return ZSolver(self.models, lagrangian, theta)


@dataclass(frozen=True, slots=True)
class ThetaSolver:
    """Maximise the improvement of the augmented Lagrangian over the active hyper-parameters."""

    models: Models
    lagrangian: Lagrangian
    z: Choices
    theta: Array
    penalty: Callable[[Array], Array]
    """Of rows of theta."""

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Array]:
        """Yield the most promising point that is not known, again and again."""
        cube, active = Cube(task.parameters), self.models.structure.space.active(self.z)
        while True:
            acquisition = _acquisition(self.models, self.lagrangian, task.observed()[1])
            if acquisition is None or not len(active):
                yield cube.sample(rng)
                continue
            with one_thread():
                found = self._best(acquisition, rng)
            yield cube.sample(rng) if found is None else found[active]

    def _best(self, acquisition: LagrangianImprovement, rng: np.random.Generator) -> Array | None:
        lattice, data = self.models.lattice, self.models.data
        # What other pipelines learned of these algorithms, the best merits first; the rest stays.
        merits = self.lagrangian.merits(
            data.losses(self.lagrangian.scales), data.excesses(self.lagrangian.scales)
        )
        order = np.flatnonzero(data.ok)[np.argsort(merits, kind="stable")]
        same = (data.z[order] == self.z).sum(axis=1)
        order = order[np.argsort(-same, kind="stable")[:_ELITES]]
        known = np.where(np.isnan(data.theta[order]), self.theta, data.theta[order])
        bases = np.vstack([self.theta, known])
        near = bases[rng.integers(len(bases), size=_NEAR)]
        steps = 10.0 ** rng.uniform(-2.5, -0.5, _NEAR)
        rows = np.vstack([bases, lattice.perturb(rng, near, steps), lattice.sample(rng, _RANDOM)])
        values = self._value(acquisition, rows)
        top = np.repeat(rows[values.argmax()][None], _NEAR, axis=0)
        closer = lattice.perturb(rng, top, 0.2 * rng.uniform(0.1, 1.0, _NEAR))
        rows, values = (
            np.vstack([rows, closer]),
            np.append(values, self._value(acquisition, closer)),
        )
        start = rows[values.argmax()]
        at_start = acquisition.lowered(float(self.penalty(start[None])[0]))
        value, moved = ascend(at_start, self.models.structure, self.z, start)
        rows, values = np.vstack([rows, moved]), np.append(values, value)
        for row in rows[np.argsort(-values, kind="stable")]:
            if _is_new(data, self.z, row):
                return np.asarray(row)
        return None

    def _value(self, acquisition: LagrangianImprovement, rows: Array) -> Array:
        z = np.tile(np.array(self.z, dtype=np.intp), (len(rows), 1))
        parts = self.models.structure.parts(z, rows)
        predictions = [p.predict_pipelines(parts) for p in acquisition.processes]
        return acquisition.lowered(self.penalty(rows)).value(predictions)


@dataclass(frozen=True, slots=True)
class ZSolver:
    """Maximise the improvement of the augmented Lagrangian over the choices, one module at a time."""

    models: Models
    lagrangian: Lagrangian
    theta: Array

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Array]:
        """Yield the most promising point that is not known, again and again."""
        space, cube = self.models.structure.space, Cube(task.parameters)
        while True:
            points, merits = task.observed()
            acquisition = _acquisition(self.models, self.lagrangian, merits)
            found = None
            if acquisition is not None:
                with one_thread():
                    starts = [space.z_at(p) for p in points[np.argsort(merits)[:_STARTS]]]
                    found = self._best(acquisition, starts, rng)
            yield cube.sample(rng) if found is None else space.point_of(found)

    def _best(
        self, acquisition: LagrangianImprovement, known: list[Choices], rng: np.random.Generator
    ) -> Choices | None:
        structure, data = self.models.structure, self.models.data
        space = structure.space
        climb = Climb(acquisition, structure, rng, self.models.permission)
        counts = [len(module.algorithms) for module in space.modules]
        pools = [
            climb.pool(i, np.arange(count), np.repeat(self.theta[None], count, axis=0))
            for i, count in enumerate(counts)
        ]
        drawn = [[int(rng.integers(count)) for count in counts] for _ in range(_STARTS)]
        # Between shapes the climb moves in several modules at once: by where it starts.
        canonical = [space.canonical(tuple(z), self.theta)[0] for z in [*known, *drawn]]
        starts = np.array(canonical, dtype=np.intp)
        chosen, values = climb(pools, starts, _SWEEPS)
        # The top may be known already: all that differ from it in one module come next.
        top = chosen[values.argmax()]
        rows = np.vstack([chosen, *_neighbours(top, counts)])
        if space.shapes is not None:
            rows = np.array([space.canonical(tuple(row), self.theta)[0] for row in rows])
        rows = np.unique(rows, axis=0)
        parts = structure.parts(rows, np.repeat(self.theta[None], len(rows), axis=0))
        values = acquisition.value([p.predict_pipelines(parts) for p in acquisition.processes])
        for row in rows[np.argsort(-values, kind="stable")]:
            z = tuple(int(j) for j in row)
            if _is_new(data, z, self.theta):
                return z
        return None


def _acquisition(
    models: Models, lagrangian: Lagrangian, merits: Merits
) -> LagrangianImprovement | None:
    """Return the acquisition on the best merit of a block; None while there is too little to learn from."""
    models.refresh()
    data = models.data
    if len(data.loss) < min(_FIRST, data.problem.cardinality - 1):
        return None
    if len(merits):
        best = float(merits.min())
    else:  # nothing succeeded here yet: anything like what is known elsewhere is an improvement
        scales = lagrangian.scales
        best = float(lagrangian.merits(data.losses(scales), data.excesses(scales)).max())
    with one_thread():
        return LagrangianImprovement.of(models, lagrangian, best)


def _is_new(data: Data, z: Choices, theta: Array) -> bool:
    configuration = data.problem.space.decode(z, theta)
    evaluator = data.evaluator
    return (
        evaluator.known(configuration) is None
        and configuration not in evaluator.pending
        and data.problem.allows(configuration)
    )


def _neighbours(row: NDArray[np.intp], counts: list[int]) -> list[NDArray[np.intp]]:
    """Return everything that differs in one module, as one table for each."""
    tables = []
    for i, count in enumerate(counts):
        table = np.tile(row, (count, 1))
        table[:, i] = np.arange(count)
        tables.append(table)
    return tables

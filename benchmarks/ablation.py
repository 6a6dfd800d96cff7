"""The default algorithm with one of its parts taken away, or done in another way.

The library has no switch for some of these, and needs none: what is missing is replaced here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from fenceline import ADMM
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.admm.solvers import Bandit, Bayesian
from fenceline.search.iterate import Iterate
from fenceline.search.structured.acquisition import Acquisition
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.module_ascent import Maximiser, Search
from fenceline.search.structured.search import StructuredBO
from fenceline.search.surrogates import pipeline_likelihood as shared_evidence
from fenceline.search.surrogates.pipeline_kernel import Structure

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Value = Callable[[Indices, Array], Array]

_NOTHING = (1e-12, 1.0, 1e-12, 1e-12)
# The interaction has to explain everything now, so its prior is that of a whole variance.
_INTERACTION_ONLY = {
    "constant": _NOTHING,
    "matern": _NOTHING,
    "interaction": (1.0, 1.0, 1e-4, 50.0),
}


def without_sharing() -> ADMM:
    """Return ADMM with a process per fixed choice, its sub-problems solved by measuring."""
    return ADMM(theta=Bayesian(), z=Bandit())


def without_transformation() -> StructuredBO:
    """Return the default on the metric as it comes."""
    return StructuredBO(transform=False)


def without_failures() -> StructuredBO:
    """Return the default that does not learn from failed evaluations."""
    return StructuredBO(failures=False)


def alternation_measured() -> StructuredBO:
    """Return the default with blocks that are measured one after the other."""
    return StructuredBO(search=MeasuredBlocks())


@dataclass(frozen=True, slots=True)
class WithoutStructure:
    """The default whose kernel has no effects of single modules, only the whole pipeline's."""

    algorithm: StructuredBO = field(default_factory=StructuredBO)

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Run the default while the amplitudes of single modules are held at nothing."""
        with patch.dict(shared_evidence._PRIORS, _INTERACTION_ONLY):
            yield from self.algorithm.iterates(problem, evaluator, rng)


@dataclass(frozen=True, slots=True)
class MeasuredBlocks(Search):
    """theta-min and z-min that take turns at being measured, as in the paper, on the same surrogate.

    For `turn` evaluations only the active hyper-parameters of the best pipeline move; for the
    next `turn` only the choices, each algorithm with its best known hyper-parameters.
    """

    turn: int = 4

    def __call__(
        self,
        acquisition: Acquisition,
        structure: Structure,
        lattice: Lattice,
        z: Indices,
        theta: Array,
        rng: np.random.Generator,
        allows: object = None,
        without: object = None,
    ) -> list[Maximiser]:
        """Return promising pipelines of the block whose turn it is, best first."""
        assert allows is None, "the problems of the ablation have no rules"

        def value(z: Indices, theta: Array) -> Array:
            parts = structure.parts(z, theta)
            return acquisition.value([p.predict_pipelines(parts) for p in acquisition.processes])

        if (len(z) // self.turn) % 2:
            return self._choices(value, structure, z, theta, rng)
        return self._hyper_parameters(value, lattice, z, theta, rng)

    def _hyper_parameters(
        self, value: Value, lattice: Lattice, z: Indices, theta: Array, rng: np.random.Generator
    ) -> list[Maximiser]:
        # All that is known with these choices, steps of every size from it, and random values;
        # then ever smaller steps from the best.
        known = theta[(z == z[0]).all(axis=1)][: self.elites]
        near = known[rng.integers(len(known), size=4 * self.local)]
        steps = 10.0 ** rng.uniform(-2.5, -0.5, len(near))
        drawn = lattice.sample(rng, 4 * self.local)
        rows = np.concatenate([known, lattice.perturb(rng, near, steps), drawn])
        values = value(np.tile(z[0], (len(rows), 1)), rows)
        for size in 0.2 * 0.35 ** np.arange(self.rounds):
            near = np.repeat(rows[values.argmax()][None], 2 * self.local, axis=0)
            moved = lattice.perturb(rng, near, size * rng.uniform(0.2, 1.0, len(near)))
            rows = np.concatenate([rows, moved])
            values = np.append(values, value(np.tile(z[0], (len(moved), 1)), moved))
        return _best_first(values, np.tile(z[0], (len(rows), 1)), rows)

    def _choices(
        self,
        value: Value,
        structure: Structure,
        z: Indices,
        theta: Array,
        rng: np.random.Generator,
    ) -> list[Maximiser]:
        # One theta holds the best known hyper-parameters of every algorithm that was tried.
        fixed = np.full(theta.shape[1], np.nan)
        tried = []
        for i in range(z.shape[1]):
            algorithms, at = np.unique(z[:, i], return_index=True)
            tried.append(algorithms)
            for j, row in zip(algorithms, at, strict=True):
                columns = structure.space.columns[i][j]
                fixed[columns] = theta[row, columns]
        starts = [z[0], *([rng.choice(a) for a in tried] for _ in range(self.starts - 1))]
        seen_z, seen_values = [], []
        for start in starts:
            now = np.array(start, dtype=np.intp)
            for i in [*range(len(tried))] * self.sweeps:
                rows = np.tile(now, (len(tried[i]), 1))
                rows[:, i] = tried[i]
                values = value(rows, np.tile(fixed, (len(rows), 1)))
                seen_z.append(rows)
                seen_values.append(values)
                now = rows[values.argmax()]
        all_z = np.concatenate(seen_z)
        return _best_first(np.concatenate(seen_values), all_z, np.tile(fixed, (len(all_z), 1)))


def _best_first(values: Array, z: Indices, theta: Array) -> list[Maximiser]:
    order = np.argsort(-values, kind="stable")
    return [Maximiser(float(values[k]), tuple(int(j) for j in z[k]), theta[k]) for k in order]

"""The default algorithm with one of its parts taken away, or done in another way.

The library has no switch for some of these, and needs none: what is missing is replaced here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from fenceline import ADMM
from fenceline.alternation import Candidate, Search, _assembled, _Climb
from fenceline.consensus import Consensus
from fenceline.iterate import Iterate
from fenceline.lattice import Lattice
from fenceline.problem import Evaluator, Problem
from fenceline.promise import Promise
from fenceline.solvers import Bandit, Bayesian
from fenceline.surrogates import shared_evidence
from fenceline.surrogates.structure import Structure

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

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


def without_transformation() -> Consensus:
    """Return the default on the metric as it comes."""
    return Consensus(transform=False)


def without_failures() -> Consensus:
    """Return the default that does not learn from failed evaluations."""
    return Consensus(failures=False)


def alternation_measured() -> Consensus:
    """Return the default with blocks that are measured one after the other."""
    return Consensus(search=MeasuredBlocks())


@dataclass(frozen=True, slots=True)
class WithoutStructure:
    """The default whose kernel has no effects of single modules, only the whole pipeline's."""

    algorithm: ADMM = field(default_factory=ADMM)

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
        promise: Promise,
        structure: Structure,
        lattice: Lattice,
        z: Indices,
        theta: Array,
        rng: np.random.Generator,
    ) -> list[Candidate]:
        """Return promising pipelines of the block whose turn it is, best first."""
        climb = _Climb(promise, structure, rng)
        if (len(z) // self.turn) % 2:
            found = self._choices(climb, z, theta, rng)
        else:
            found = self._hyper_parameters(climb, lattice, z, theta, rng)
        return sorted(found, key=lambda candidate: -candidate.value)

    def _hyper_parameters(
        self, climb: _Climb, lattice: Lattice, z: Indices, theta: Array, rng: np.random.Generator
    ) -> list[Candidate]:
        fixed = z[0]
        # Everything known with these choices, small steps from it, and hyper-parameters at random.
        same = theta[(z == fixed).all(axis=1)][: self.elites]
        near = same[rng.integers(len(same), size=self.local)]
        steps = 10.0 ** rng.uniform(-2.5, -0.5, self.local)
        drawn = lattice.sample(rng, self.random * self.elites)
        rows = np.concatenate([same, lattice.perturb(rng, near, steps), drawn])
        pools = [climb.pool(i, np.full(len(rows), j), rows) for i, j in enumerate(fixed)]
        starts = np.arange(min(self.starts, len(rows)))
        chosen, values = climb(pools, np.tile(starts[:, None], len(pools)), self.sweeps)
        found = [
            Candidate(float(value), *_assembled(climb.structure, pools, row))
            for value, row in zip(values, chosen, strict=True)
        ]
        best = max(found, key=lambda candidate: candidate.value)
        return [self._refine(climb, lattice, best, rng), *found]

    def _choices(
        self, climb: _Climb, z: Indices, theta: Array, rng: np.random.Generator
    ) -> list[Candidate]:
        pools = []
        for i in range(z.shape[1]):
            tried, at = np.unique(z[:, i], return_index=True)  # the first is the best known
            pools.append(climb.pool(i, tried, theta[at]))
        sizes = [len(pool.algorithm) for pool in pools]
        now = [int(np.flatnonzero(p.algorithm == j)[0]) for p, j in zip(pools, z[0], strict=True)]
        starts = np.vstack([now, rng.integers(sizes, size=(self.starts - 1, len(sizes)))])
        chosen, values = climb(pools, starts, self.sweeps)
        found = []
        # The best choices may be known already; then those that differ in one module come next.
        for i, size in enumerate(sizes):
            along = climb._along(pools, chosen, i)
            for s in range(len(chosen)):
                for c in range(size):
                    row = np.concatenate([chosen[s, :i], [c], chosen[s, i + 1 :]])
                    found.append((float(along[s, c]), row))
        found += list(zip(values.tolist(), chosen, strict=True))
        return [Candidate(v, *_assembled(climb.structure, pools, row)) for v, row in found]

"""theta-min and z-min on the *acquisition*: alternate over modules until no block can do better.

Measured alternation spends evaluations to learn that a block has nothing to gain while the other
stands still. On the surrogate alternation is free, so the blocks settle first and only what they
agree on is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.space import Choices
from fenceline.search.structured.acquisition import Acquisition
from fenceline.search.structured.crowding import Crowd
from fenceline.search.structured.gradient_ascent import ascend
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.permission import Permission
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Structure

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]
Indices = NDArray[np.intp]


_EXACT = 16  # components per start and module whose acquisition is computed exactly
_MOST_ASKED = 64  # components per start and module that the rules are asked about


@dataclass(frozen=True, slots=True)
class Maximiser:
    """A pipeline and the log acquisition it promises."""

    value: float
    z: Choices
    theta: Array


@dataclass(frozen=True, slots=True)
class Search:
    """How thoroughly the acquisition is maximised."""

    starts: int = 4
    elites: int = 10
    random: int = 4
    local: int = 32
    sweeps: int = 3
    rounds: int = 1

    def __call__(
        self,
        acquisition: Acquisition,
        structure: Structure,
        lattice: Lattice,
        z: Indices,
        theta: Array,
        rng: np.random.Generator,
        allows: Permission | None = None,
        without: Crowd | None = None,
    ) -> list[Maximiser]:
        """Return promising pipelines, best first; `z` and `theta` hold what is known, best first.

        Algorithms that they are to do without are in none of these, either.
        """
        climb = Climb(acquisition, structure, rng, allows)
        modules = structure.space.modules
        elite_z, elite_theta = z[: self.elites], theta[: self.elites]
        near = rng.integers(len(elite_z), size=self.local)
        steps = 10.0 ** rng.uniform(-2.5, -0.5, self.local)
        near_z, near_theta = elite_z[near], lattice.perturb(rng, elite_theta[near], steps)
        drawn = lattice.sample(rng, self.random)

        # z-min: every algorithm with its best known hyper-parameters, a few random ones, and the
        # components of the best pipelines with small changes.
        pools = []
        for i, module in enumerate(modules):
            count = len(module.algorithms)
            best_known = _first(z[:, i], count)
            algorithm = np.concatenate(
                [
                    elite_z[:, i],
                    z[best_known, i],
                    np.tile(np.arange(count), self.random),
                    near_z[:, i],
                ]
            )
            rows = np.concatenate(
                [elite_theta, theta[best_known], np.repeat(drawn, count, axis=0), near_theta]
            )
            if without is not None and i == without.module:
                others = ~np.isin(algorithm, without.algorithms)
                algorithm, rows = algorithm[others], rows[others]
            pools.append(climb.pool(i, algorithm, rows))
        starts = np.arange(min(self.starts, len(elite_z)))
        chosen, values = climb(pools, np.tile(starts[:, None], len(modules)), self.sweeps)
        found = [
            Maximiser(float(values[s]), *_assembled(structure, pools, chosen[s]))
            for s in np.argsort(-values, kind="stable")
        ]

        # theta-min: the best, by steps on the lattice and then by gradient steps.
        refined = self._refine(climb, lattice, found[0], rng)
        value, moved = ascend(acquisition, structure, refined.z, refined.theta)
        if value > refined.value:
            found.insert(0, Maximiser(value, refined.z, moved))
        return [found[0], refined, *found[1:]]

    def _refine(
        self, climb: Climb, lattice: Lattice, candidate: Maximiser, rng: np.random.Generator
    ) -> Maximiser:
        structure = climb.structure
        for size in 0.2 * 0.2 ** np.arange(self.rounds):
            rows = np.repeat(candidate.theta[None], self.local + 1, axis=0)
            rows[1:] = lattice.perturb(rng, rows[1:], size * rng.uniform(0.2, 1.0, self.local))
            pools = [climb.pool(i, np.full(len(rows), j), rows) for i, j in enumerate(candidate.z)]
            chosen, values = climb(pools, np.zeros((1, len(pools)), dtype=np.intp), 1)
            if values[0] > candidate.value:
                candidate = Maximiser(float(values[0]), *_assembled(structure, pools, chosen[0]))
        return candidate


@dataclass(frozen=True, slots=True)
class Pool:
    """Components that one module may take, and what each shares with the evaluations of each model."""

    algorithm: Indices
    theta: Array
    effects: tuple[tuple[Array, Array], ...]
    rough: tuple[tuple[Array32, Array32], ...]
    """The same effects with half the digits, for a bound that needs no more."""


@dataclass(frozen=True, slots=True)
class Climb:
    """Coordinate ascent over modules: the component of one module moves, the others stand still."""

    acquisition: Acquisition
    structure: Structure
    rng: np.random.Generator
    allows: Permission | None

    def pool(self, i: int, algorithm: Indices, theta: Array) -> Pool:
        """Return components that module i may take."""
        part = self.structure.part(i, algorithm, theta)
        effects = tuple(p.effects(i, part) for p in self.acquisition.processes)
        rough = tuple((t.astype(np.float32), f.astype(np.float32)) for t, f in effects)
        return Pool(algorithm, theta, effects, rough)

    def __call__(
        self, pools: Sequence[Pool], chosen: Indices, sweeps: int
    ) -> tuple[Indices, Array]:
        """Move all starts (rows of component indices) uphill together."""
        # Starts that have met go on as one.
        every = [tuple(row) for row in chosen.tolist()]
        apart = sorted(set(every))
        chosen, same = np.array(apart, dtype=np.intp), [apart.index(row) for row in every]
        values = np.full(len(chosen), -np.inf)
        totals = self._totals(pools, chosen)
        # A module is worth another look when another one has moved since the last.
        waiting = np.ones(chosen.shape, dtype=np.bool_)
        for _ in range(sweeps):
            if not waiting.any():
                break
            for i in self.rng.permutation(len(pools)):
                moving = np.flatnonzero(waiting[:, i])
                if len(moving) == 0:
                    continue
                pool, old = pools[i], chosen[moving, i]
                # The module that moves leaves the totals, and comes back with what it chose.
                others = [
                    (terms[moving] - term[old], factors[moving] / factor[old])
                    for (terms, factors), (term, factor) in zip(totals, pool.effects, strict=True)
                ]
                along = self._along(pools, chosen[moving], int(i), others)
                new = along.argmax(axis=1)
                chosen[moving, i], values[moving] = new, along.max(axis=1)
                waiting[moving[new != old]] = True
                waiting[moving, i] = False
                for (terms, factors), (term, factor), (rest, product) in zip(
                    totals, pool.effects, others, strict=True
                ):
                    terms[moving] = rest + term[new]
                    factors[moving] = product * factor[new]
        return chosen[same], values[same]

    def _totals(self, pools: Sequence[Pool], chosen: Indices) -> list[tuple[Array, Array]]:
        """Return, for each model, the sum of the modules' terms and the product of their factors."""
        totals = []
        for m, process in enumerate(self.acquisition.processes):
            parts = [
                (p.effects[m][0][c], p.effects[m][1][c])
                for p, c in zip(pools, chosen.T, strict=True)
            ]
            factors = np.prod([factor for _, factor in parts], axis=0)
            totals.append(
                (
                    np.sum([term for term, _ in parts], axis=0),
                    process.amplitudes.interaction * factors,
                )
            )
        return totals

    def _along(
        self,
        pools: Sequence[Pool],
        chosen: Indices,
        i: int,
        others: Sequence[tuple[Array, Array]],
    ) -> Array:
        """Return the acquisition of every start with every component of module i.

        Only components that look best under an optimistic deviation are worth the exact one, which
        costs a product with an n x n matrix; the others are out of the race.
        """
        pool, processes = pools[i], self.acquisition.processes
        hopes = self.acquisition.value(
            [
                _roughly(process, *effects, *rough, *rest)
                for process, effects, rough, rest in zip(
                    processes, pool.effects, pool.rough, others, strict=True
                )
            ]
        ).reshape(len(chosen), -1)
        count = hopes.shape[1]
        rows = np.arange(hopes.size)
        shaped = self.structure.space.shapes is not None
        if shaped or (self.allows is not None and not self.allows.by_algorithms):
            rows = self._allowed(pools, chosen, i, hopes)
        else:
            closed = None if self.allows is None else self._closed(pools, chosen, i)
            if closed is not None:
                hopes[closed] = -np.inf
            if count > _EXACT:
                best = np.argpartition(-hopes, _EXACT, axis=1)[:, :_EXACT]
                rows = (best + count * np.arange(len(chosen))[:, None]).ravel()
            if closed is not None:
                rows = rows[~closed.ravel()[rows]]
        s, c = np.divmod(rows, count)
        exact = [
            process.predict(_cross(factors[s], factor[c], term[c], terms[s]))
            for process, (term, factor), (terms, factors) in zip(
                processes, pool.effects, others, strict=True
            )
        ]
        values = np.full(hopes.size, -np.inf)
        values[rows] = self.acquisition.value(exact)
        return values.reshape(hopes.shape)

    def _closed(self, pools: Sequence[Pool], chosen: Indices, i: int) -> NDArray[np.bool_]:
        """Tell which components of module i the rules refuse each start; never that where it stands."""
        assert self.allows is not None
        closed = np.empty((len(chosen), len(pools[i].algorithm)), dtype=np.bool_)
        for s, start in enumerate(chosen):
            z = tuple(int(pool.algorithm[c]) for pool, c in zip(pools, start, strict=True))
            closed[s] = ~self.allows.algorithms(z, i)[pools[i].algorithm]
            closed[s, start[i]] = False
        return closed

    def _allowed(
        self, pools: Sequence[Pool], chosen: Indices, i: int, hopes: Array
    ) -> NDArray[np.intp]:
        """Return the most hopeful components that the rules allow, and where each start stands.

        Of encodings that mean the same pipeline only one is allowed.
        """
        rows: list[int] = []
        space = self.structure.space
        for s, (start, row) in enumerate(zip(chosen, hopes, strict=True)):
            kept = [int(start[i])]
            z = [int(pool.algorithm[c]) for pool, c in zip(pools, start, strict=True)]
            for c in np.argsort(-row, kind="stable")[:_MOST_ASKED]:
                z[i] = int(pools[i].algorithm[c])
                moved = start.copy()
                moved[i] = c
                if (
                    c != start[i]
                    and space.is_canonical(tuple(z))
                    and (
                        self.allows is None
                        or self.allows(*_assembled(self.structure, pools, moved))
                    )
                ):
                    kept.append(int(c))
                if len(kept) == _EXACT:
                    break
            rows += [s * hopes.shape[1] + c for c in kept]
        return np.array(rows, dtype=np.intp)


def _roughly(
    process: SharedProcess,
    term: Array,
    factor: Array,
    rough_term: Array32,
    rough_factor: Array32,
    terms: Array,
    factors: Array,
) -> tuple[Array, Array]:
    """Return mean and largest deviation of every start (`terms`, `factors`) with every component.

    The mean is linear in the kernel, so it needs no kernel rows; only the bound does.
    """
    weights = process.weights
    mean = (factors * weights) @ factor.T
    mean += term @ weights
    mean += (terms @ weights + process.constant)[:, None]
    cross = factors.astype(np.float32)[:, None] * rough_factor
    cross += rough_term
    cross += terms.astype(np.float32)[:, None]
    nearest = cross.max(axis=2).astype(np.float64)
    return mean.ravel(), process.largest_deviation(nearest.ravel())


def _cross(product: Array, factor: Array, *terms: Array) -> Array:
    """Return kernel rows from the interaction of all other modules, that of one, and the effects."""
    # In one place: memory for every step of the sum took as long as the sum.
    product *= factor
    for term in terms:
        product += term
    return product


def _first(algorithms: Indices, count: int) -> Indices:
    """Return where each algorithm that occurs does so first; a quarter of the time of `np.unique`."""
    first = np.full(count, -1)
    # The last of several assignments to one place stays.
    first[algorithms[::-1]] = np.arange(len(algorithms))[::-1]
    return first[first >= 0]


def _assembled(
    structure: Structure, pools: Sequence[Pool], chosen: Indices
) -> tuple[Choices, Array]:
    """Put the chosen components together; what is not active is NaN."""
    theta = np.full(len(structure.space.parameters), np.nan)
    z = []
    for i, (pool, c) in enumerate(zip(pools, chosen, strict=True)):
        z.append(int(pool.algorithm[c]))
        columns = structure.space.columns[i][z[i]]
        theta[columns] = pool.theta[c, columns]
    return tuple(z), theta

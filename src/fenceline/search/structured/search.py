"""The default algorithm: ADMM whose sub-problems are solved on one surrogate of all pipelines.

One iteration: theta-min and z-min alternate on the acquisition until they agree
(:mod:`fenceline.search.structured.module_ascent`), what they agree on is measured, and the multipliers gather what
the constraints still lack. Proposals lie on the lattice, so theta_d = delta holds throughout and
lambda stays zero; u is eliminated in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.rule_sampling import MOST_ENUMERATED
from fenceline.problem.starts import space_starts
from fenceline.search.iterate import Iterate
from fenceline.search.lagrangian import Lagrangian, Scales, slack_bounds
from fenceline.search.precision import Adaptive, Fixed
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.models import Memory
from fenceline.search.structured.module_ascent import Search
from fenceline.threads import one_thread

Array = NDArray[np.float64]

# The shared model learns from so little that choosing with it pays from the start: with 5 random
# pipelines the regret after 50 evaluations was a quarter below that with 11, and half that with 20.
_DESIGN = 5

# A search that goes right up to the fence finds pipelines that other rows confirm half of the time.
# Where the errors of the constraints are known, one proposal in three stays inside by so many of
# them as it takes to be certified on a fifth of the rows, so that a good pipeline can be.
_ALOOF, _ROOM = 3, 4.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """Settings of the default algorithm.

    Parameters
    ----------
    rho : float
        Penalty of a squared, scaled violation; doubled while the best merit is infeasible.
    precision : Adaptive or Fixed
        Evaluations between two updates of the multipliers.
    search : Search
        How thoroughly the acquisition is maximised.
    transform : bool
        Let the evidence choose between a metric and its logarithm.
    failures : bool
        Learn where pipelines fail, and keep away.
    """

    rho: float = 1.0
    precision: Adaptive | Fixed = Fixed(2)  # noqa: RUF009 - frozen
    search: Search = Search()  # noqa: RUF009 - frozen
    transform: bool = True
    failures: bool = True

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Run until the evaluator says that the budget is spent."""
        memory = Memory(problem, evaluator, transform=self.transform)
        for configuration in _design(problem, rng):
            evaluator.submit(configuration)

        mu, rho, t = np.zeros(len(problem.constraints)), self.rho, 0
        while True:
            scales = Scales.observed(problem, evaluator.history)
            for _ in range(self.precision(t)):
                memory.refresh()
                lagrangian = Lagrangian(problem, scales, rho, mu, slack_bounds(problem))
                with one_thread():
                    configuration = self._propose(memory, lagrangian, rng)
                evaluator.submit(configuration)

            # Multipliers: the minimiser of the merit over everything measured shows what the
            # constraints still lack; where it is infeasible, the penalty was too weak. As soon as
            # something feasible is known, the models tell what the constraints press with there.
            memory.refresh()
            if memory.ok.any():
                merits = lagrangian.merits(memory.losses(scales), memory.excesses(scales))
                best = int(np.argmin(merits))
                excess = memory.excesses(scales)[best]
                u = lagrangian.slack(excess)
                lack = excess + u
                pressed = memory.multipliers(scales)
                mu = mu + rho * lack if pressed is None else pressed
                z, theta = memory.row(best)
                if np.any(excess > 0.0):
                    rho = min(2.0 * rho, 1e6 * self.rho)
                nothing = np.zeros(0)
                prices = lagrangian.prices(mu)
                yield Iterate(
                    t, z, theta, nothing, nothing, u, mu, rho, math.hypot(*lack), 0.0,
                    len(evaluator.history), prices,
                )  # fmt: skip
            t += 1

    def _propose(
        self, memory: Memory, lagrangian: Lagrangian, rng: np.random.Generator
    ) -> Configuration:
        """Return the unmeasured configuration that promises most."""
        space, evaluator = memory.problem.space, memory.evaluator
        if memory.ok.any():
            aloof = len(evaluator.history) % _ALOOF == 0
            promise = memory.promise(learn_failures=self.failures, room=_ROOM if aloof else 0.0)
            merits = lagrangian.merits(
                memory.losses(lagrangian.scales), memory.excesses(lagrangian.scales)
            )
            order = np.flatnonzero(memory.ok)[np.argsort(merits, kind="stable")]
            problem = memory.problem
            found = self.search(
                promise,
                memory.structure,
                memory.lattice,
                memory.z[order],
                memory.theta[order],
                rng,
                (lambda z, theta: problem.allows(space.decode(z, theta)))
                if problem.allowed
                else None,
            )
            for candidate in found:
                configuration = space.decode(candidate.z, candidate.theta)
                if (
                    evaluator.known(configuration) is None
                    and configuration not in evaluator.pending
                    and problem.allows(configuration)
                ):
                    return configuration
        return _anything_new(memory, rng)


def _design(problem: Problem, rng: np.random.Generator) -> Iterator[Configuration]:
    """Yield the first pipelines: something safe, those known to be good, then a few at random.

    The latter differ in their algorithms, and are the fewer the more are known to be good.
    """
    space = problem.space
    yield problem.allowed_near(space.initial, rng)
    starts = [c for c in problem.starts or space_starts(space) if problem.allows(c)]
    yield from starts
    missing = _DESIGN - len(starts)
    if missing <= 0:
        return
    theta = Lattice(space).sample(rng, missing)
    columns = []
    for module in space.modules:
        count = len(module.algorithms)
        columns.append(
            np.concatenate([rng.permutation(count) for _ in range(-(-missing // count))])[:missing]
        )
    for row, choices in enumerate(np.array(columns).T):
        configuration = space.decode(tuple(int(j) for j in choices), theta[row])
        yield problem.allowed_near(configuration, rng)


def _anything_new(memory: Memory, rng: np.random.Generator) -> Configuration:
    """Return an unmeasured configuration at random; a known one only when there is no other."""
    problem, evaluator = memory.problem, memory.evaluator
    for _ in range(100):
        configuration = problem.sample(rng)
        if evaluator.known(configuration) is None and configuration not in evaluator.pending:
            return configuration
    if problem.space.cardinality <= MOST_ENUMERATED:
        for candidate in filter(problem.allows, problem.space.configurations()):
            if evaluator.known(candidate) is None and candidate not in evaluator.pending:
                return candidate
    return configuration

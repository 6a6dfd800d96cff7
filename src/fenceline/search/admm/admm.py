"""ADMM for constrained CASH: the seed paper in one file (Ram et al. 2020; Liu et al. 2020).

Choose one algorithm per module and its hyper-parameters to minimise f subject to g_m <= eps_m:
split the mixed-integer black box into a small continuous one, a rounding, and a choice, tied
together by multipliers. The symbols are the paper's:

======== ======================================================================================
z        the chosen algorithm of each module
theta    the hyper-parameters of *all* algorithms, relaxed to real numbers; active = those of z
theta_d  its integer (and categorical) part;  ``integers.of(theta)``
delta    the integer copy of theta_d, on the lattice
lam      multipliers of theta_d = delta
u        slacks: g_m - eps_m + u_m = 0
mu       multipliers of that equation
rho      weight of every squared penalty
a, b     theta_d + lam / rho,  delta - lam / rho
======== ======================================================================================

No I/O happens here, and nothing is stored but raw measurements: the merit of every old
evaluation is recomputed under today's multipliers, whenever it is asked for.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Parameter, Real
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Choices, Space, Theta
from fenceline.search.admm.hopeful import HopefulMerits
from fenceline.search.admm.settings import check_problem, check_settings
from fenceline.search.admm.shared_surrogate import SharedSurrogate
from fenceline.search.admm.solvers import Bandit, Bayesian, Solver
from fenceline.search.admm.subproblem import Archive, Block
from fenceline.search.iterate import Iterate
from fenceline.search.lagrangian import Array, Integers, Lagrangian, Scales, UnitsName, slack_bounds
from fenceline.search.precision import Adaptive, Fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class ADMM:
    """Settings of the algorithm; :meth:`iterates` is the algorithm.

    Parameters
    ----------
    theta, z : Solver, optional
        How the two black-box sub-problems are solved. Without one, a sub-problem is solved on models
        of f and of every g that learn from all pipelines, by the expected improvement of the
        augmented Lagrangian (:mod:`fenceline.search.admm.lagrangian_improvement`).
    rho : float
        Penalty; 1 is the paper's.
    precision : Adaptive or Fixed, optional
        Evaluations per sub-problem, iteration by iteration; ``Adaptive(16, 256, 8)`` is the
        paper's, ``Fixed(2)`` the default where both sub-problems are solved on the shared surrogate.
    slack : {"closed", "searched"}
        Eliminate u exactly, or search it beside theta as the seed does.
    units : {"unit", "raw"}
        Measure hyper-parameters, loss and constraints by their ranges and spreads, or as they come.
    relax : bool
        Let theta-min move integers between lattice points (f is measured at the nearest), or only on them.
    warm : bool
        Whether a theta-min starts from every evaluation that used the same algorithms.
    balance : bool
        Double or halve rho when one residual exceeds ten times the other (Boyd et al. 2011, 3.4.1).
    iterations : int or None
        At most so many; None leaves the end to the budget.
    """

    theta: Solver | None = None
    z: Solver | None = None
    rho: float = 1.0
    precision: Adaptive | Fixed | None = None
    slack: Literal["closed", "searched"] = "closed"
    units: UnitsName = "unit"
    relax: bool = False
    warm: bool = True
    balance: bool = False
    iterations: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def shared(self) -> bool:
        """Whether both sub-problems are solved on a surrogate that all pipelines share."""
        return self.theta is None and self.z is None

    @classmethod
    def paper(
        cls,
        *,
        theta: Solver | None = None,
        z: Solver | None = None,
        rho: float = 1.0,
        precision: Adaptive | Fixed | None = None,
        slack: Literal["closed", "searched"] = "searched",
        warm: bool = False,
    ) -> "ADMM":
        """Return the seed's algorithm with its own settings: AdADMM-F8(BO,Ba) unless told otherwise.

        Raw units, relaxed integers, slacks searched, rho = 1, 100 iterations, a bandit with f_hat = 0.7.

        Notes
        -----
        The paper leaves open, or its setting lacks, what is decided here:

        - **Slacks** lie in ``[0, |eps|]``, or in ``[0, 1]`` for a bound of 0. The paper takes eps > 0 and g >= 0
          for granted; ``>=`` is turned round, and an equality has no slack.
        - **relax**: a relaxed integer is measured at its nearest lattice point, as f~ in the paper; a
          category is relaxed as the index it is.
        - **mu stays as it is** in an iteration whose pipeline has no measurement of its own: when it
          failed, or when every pipeline of a sub-problem did.
        - **Failures**: the merit of a pipeline that failed is the worst one known in its sub-problem.
        - **Rules**: a pipeline that the problem's rules forbid counts as failed, and costs nothing. Where
          rules shut a sub-problem in, an allowed pipeline is drawn, measured and moved to (a detour).
        - **The first pipeline** is the safe one that the space names first.
        - **The answer** is the best feasible pipeline ever measured, not the last iterate.
        - **Solvers**: z-min returns the best pipeline it measured; the bandit's counts begin anew in
          every z-min.
        """
        return cls(
            theta=theta or Bayesian(initial=5),
            z=z or Bandit(bound=0.7),
            rho=rho,
            precision=precision or Adaptive(16, 256, 8),
            slack=slack,
            units="raw",
            relax=True,
            warm=warm,
            iterations=100,
        )

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Run the algorithm, one iterate after another, until the evaluator says that the budget is spent."""
        check_problem(self, problem)
        precision = self.precision or (Fixed(2) if self.shared else Adaptive(16, 256, 8))
        space = problem.space
        integers = Integers(space, self.units)
        archive = Archive(space, evaluator)
        surrogate = SharedSurrogate(problem, evaluator)
        upper = slack_bounds(problem, as_seed=self.slack == "searched", raw=self.units == "raw")

        # Something cheap and safe comes first, so that the smallest budget returns a model.
        start = problem.allowed_near(space.initial, rng)
        z, theta, rho = space.encode(start)[0], space.start, self.rho
        # Under rules every algorithm starts from hyper-parameters with which it was allowed.
        for example in (*(problem.examples if problem.allowed else ()), start):
            theta = _moved(space, theta, example)
        delta = integers.of(theta)
        lam = np.zeros_like(delta)
        mu = np.zeros(len(problem.constraints))
        evaluator.submit(start)
        evaluator.drain()

        t, raw = 0, self.units == "raw"
        scales = Scales.of(problem, evaluator.history, raw=raw)
        while self.iterations is None or t < self.iterations:
            before, scales = scales, Scales.of(problem, evaluator.history, raw=raw)
            mu, lam = scales.carried(mu, lam, before)
            lagrangian = Lagrangian(problem, scales, rho, mu, upper)
            evaluations, active = precision(t), space.active(z)

            # theta-min: min over active theta, u of f + rho/2 |theta_d - b|^2 + rho/2 sum (g - eps + u + mu/rho)^2.
            b = delta - lam / rho
            block = self._theta_min(lagrangian, integers, z, theta, b, archive)
            held = partial(integers.penalty, b=b, rho=rho, among=active)
            solver = self.theta or surrogate.over_theta(lagrangian, z, theta, held)
            point = block.solve(solver, evaluations, rng)
            # Inactive integers see nothing but their penalty, which projection minimises.
            theta_new = integers.put(theta, integers.clip(b))
            theta_new[active] = theta[active] if point is None else point[: len(active)]
            theta = theta_new
            u = None if point is None or self.slack == "closed" else point[len(active) :] * upper

            # delta-min: min |a - delta|^2 on the lattice.
            a = integers.of(theta) + lam / rho
            delta, delta_old = integers.round(a), delta

            # z-min: the same merit over the choices; every algorithm keeps its own hyper-parameters.
            block = self._z_min(lagrangian, z, theta, u, archive)
            point = block.solve(self.z or surrogate.over_z(lagrangian, theta), evaluations, rng)
            if point is not None:
                z, theta = space.canonical(space.z_at(point), theta)
            if block.detour is not None:
                # The rules had shut the block in: go on from what they allow.
                z, theta = space.encode(block.detour)[0], _moved(space, theta, block.detour)
                delta = integers.round(integers.of(theta))

            # Multipliers: each gathers what its equation still lacks.
            gap = integers.of(theta) - delta
            lam = lam + rho * gap
            evaluation = evaluator.known(space.decode(z, theta))
            lack = np.zeros_like(mu)
            if evaluation is not None and evaluation.ok:
                excess = lagrangian.excess(evaluation)
                u = lagrangian.slack(excess) if u is None else u
                lack = excess + u
                mu = mu + rho * lack

            primal = math.hypot(*gap, *lack)
            dual = float(rho * np.linalg.norm(delta - delta_old))
            state = (z, theta, delta, lam, np.zeros_like(mu) if u is None else u, mu, rho)
            prices = lagrangian.scales.prices(problem, mu)
            yield Iterate(t, *state, primal, dual, len(evaluator.history), prices)
            if self.balance:
                rho *= 2.0 if primal > 10.0 * dual else 0.5 if dual > 10.0 * primal else 1.0
            t += 1

    def _theta_min(
        self,
        lagrangian: Lagrangian,
        integers: Integers,
        z: Choices,
        theta: Theta,
        b: Array,
        archive: Archive,
    ) -> Block:
        """Build the sub-problem over the active hyper-parameters and, if they are searched, the slacks."""
        space = archive.space
        active = space.active(z)
        moves: list[Parameter] = [space.parameters[k] for k in active]
        if self.relax:
            moves = [Real(0.0, 1.0) for _ in moves]
        searched = self.slack == "searched"
        if searched:
            moves += [Real(0.0, 1.0) for _ in lagrangian.mu]

        def place(point: Array) -> Theta:
            moved = theta.copy()
            moved[active] = point[: len(active)]
            return moved

        def merit(point: Array, evaluation: Evaluation) -> float:
            u = point[len(active) :] * lagrangian.upper if searched else None
            penalty = integers.penalty(place(point)[None], b=b, rho=lagrangian.rho, among=active)
            return lagrangian.merit(evaluation, u) + float(penalty[0])

        def look_merit(point: Array, evaluation: Evaluation) -> float:
            penalty = integers.penalty(place(point)[None], b=b, rho=lagrangian.rho, among=active)
            return hopeful(evaluation) + float(penalty[0])

        hopeful = HopefulMerits(lagrangian, archive.evaluator)
        block = Block(
            moves,
            lambda point: space.decode(z, place(point)),
            merit,
            archive.evaluator,
            instead=lagrangian.problem.sample,
            fidelities=lagrangian.problem.fidelities,
            look_merit=look_merit,
        )
        if self.warm:
            for old_z, old_theta, evaluation in archive:
                if old_z == z and evaluation.ok:
                    # Any u makes a valid observation, for g is known; the best one says most.
                    u = lagrangian.slack(lagrangian.excess(evaluation))
                    u = u / np.maximum(lagrangian.upper, 1e-300)  # an equality has neither
                    point = np.append(old_theta[active], u if searched else [])
                    block.tell(point, evaluation)
        return block

    def _z_min(
        self, lagrangian: Lagrangian, z: Choices, theta: Theta, u: Array | None, archive: Archive
    ) -> Block:
        """Build the sub-problem over the choices: a categorical per module."""
        space = archive.space
        hopeful = HopefulMerits(lagrangian, archive.evaluator)
        block = Block(
            space.choices,
            lambda point: space.decode(space.z_at(point), theta),
            lambda _, evaluation: lagrangian.merit(evaluation, u),
            archive.evaluator,
            past=lambda: (
                (space.point_of(old_z), evaluation)
                for old_z, _, evaluation in archive
                if not evaluation.look
            ),
            instead=lagrangian.problem.sample,
            fidelities=lagrangian.problem.fidelities,
            look_merit=lambda _, evaluation: hopeful(evaluation),
        )
        known = archive.evaluator.known(space.decode(z, theta))
        if known is not None:
            block.tell(space.point_of(z), known)
        return block


def _moved(space: Space, theta: Theta, configuration: Configuration) -> Theta:
    """Return theta with the active hyper-parameters of a configuration."""
    known = space.encode(configuration)[1]
    return np.where(np.isnan(known), theta, known)

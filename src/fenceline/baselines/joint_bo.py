"""The seed's JOPT(BO): one Gaussian process over all variables jointly, active or not."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fenceline.baselines.joint_space import JointSpace
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.admm.solvers import Bayesian, Solver
from fenceline.search.admm.subproblem import Block
from fenceline.search.iterate import Iterate
from fenceline.search.lagrangian import Lagrangian, Scales, slack_bounds


@dataclass(frozen=True, slots=True)
class JointBO:
    """Bayesian optimisation of choices and hyper-parameters together.

    Constraints enter as the augmented Lagrangian's penalty with multipliers of zero.

    Parameters
    ----------
    solver : Solver
        What proposes points of the joint space.
    rho : float
        Weight of a squared, scaled violation.
    """

    solver: Solver = field(default_factory=lambda: Bayesian(initial=10))
    rho: float = 1.0

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Submit the solver's proposals until the budget is spent."""
        joint = JointSpace(problem)
        multipliers = np.zeros(len(problem.constraints))
        scales = Scales(1.0, np.array([c.scale for c in problem.constraints]))
        lagrangian = Lagrangian(problem, scales, self.rho, multipliers, slack_bounds(problem))

        block = Block(
            joint.cube.parameters,
            joint.configure,
            lambda _, evaluation: lagrangian.merit(evaluation),
            evaluator,
            instead=problem.sample,
            locate=joint.locate,
        )
        while True:
            block.solve(self.solver, 1_000_000_000, rng)
        yield  # makes this a generator, as every algorithm is

"""Constrained expected improvement on joint Gaussian processes (Gardner et al. 2014; Gelbart et al. 2014)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fenceline.baselines.joint_space import JointSpace, Record
from fenceline.errors import DefinitionError
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.iterate import Iterate
from fenceline.search.surrogates import log_expected_improvement, log_probability_below
from fenceline.search.surrogates.gaussian_process import Hyperparameters, fit


@dataclass(frozen=True, slots=True)
class ConstrainedEI:
    """EI times the probability of feasibility, over choices and hyper-parameters together.

    One Gaussian process per metric. While nothing feasible is known, the probability decides alone.

    Parameters
    ----------
    initial : int
        Configurations drawn at random before the models are asked.
    """

    initial: int = 10

    def __post_init__(self) -> None:
        if self.initial < 1:
            raise DefinitionError(
                f"ConstrainedEI: initial must be at least 1. Got {self.initial!r}."
            )

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Submit the best candidate until the budget is spent."""
        joint = JointSpace(problem)
        record = Record(joint, evaluator)
        starts: list[Hyperparameters | None] = [None] * (1 + len(problem.constraints))
        while True:
            record.refresh()
            if len(record.points) < self.initial or not record.measured or not joint.cube.dimension:
                evaluator.submit(problem.sample(rng))
                continue
            losses, excesses = record.losses, record.excesses
            feasible = np.all([x <= 0.0 for x in excesses], axis=0) if excesses else losses < np.inf
            broken = np.sum([np.maximum(x, 0.0) for x in excesses], axis=0) + 0.0 * losses
            order = np.lexsort((losses, broken))
            points = joint.candidates(rng, record.points[order[:5]])
            seen, asked = joint.cube.features(record.points), joint.cube.features(points)
            values = np.zeros(len(points))
            for m, y in enumerate([losses, *excesses]):
                if m == 0 and not feasible.any():
                    continue
                model = fit(seen, y, groups=joint.cube.groups, start=starts[m])
                starts[m] = model.hyperparameters
                mean, sd = model.predict(asked)
                values += (
                    log_expected_improvement(mean, sd, float(losses[feasible].min()))
                    if m == 0
                    else log_probability_below(mean, sd, 0.0)
                )
            joint.submit_best(evaluator, points, values, rng)
        yield  # makes this a generator, as every algorithm is

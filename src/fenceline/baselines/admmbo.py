"""ADMMBO (Ariafar et al. 2019): Bayesian optimisation with one copy of the variables per constraint."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.baselines.joint_space import JointSpace, Record
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.iterate import Iterate
from fenceline.search.surrogates import log_expected_improvement, probability_below
from fenceline.search.surrogates.gaussian_process import Hyperparameters, fit

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ADMMBO:
    """Optimality and feasibility as separate searches, tied together by multipliers.

    x-step: ``min f(x) + N rho/2 |x - zbar + ybar/rho|^2``. z_i-step:
    ``min 1[c_i(z) > 0] + rho/2M |x - z + y_i/rho|^2``. Then ``y_i += rho (x - z_i)``. As every evaluation measures all metrics, all
    of them inform all models, which the original does not assume.

    Parameters
    ----------
    rho, weight : float
        The paper's rho and M.
    initial : int
        Configurations drawn at random at first.
    first, later : tuple of int
        Evaluations of an x-step and of a z-step, in the first round and afterwards.
    """

    rho: float = 0.1
    weight: float = 50.0
    initial: int = 10
    first: tuple[int, int] = (10, 20)
    later: tuple[int, int] = (5, 5)

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Alternate until the budget is spent."""
        joint = JointSpace(problem)
        record = Record(joint, evaluator)
        while len(record.points) < self.initial or not record.measured:
            evaluator.submit(problem.sample(rng))
            record.refresh()
        count = len(problem.constraints)
        x = record.points[int(np.argmin(record.losses))]
        z, y = np.tile(x, (count, 1)), np.zeros((count, len(x)))
        starts: list[Hyperparameters | None] = [None] * (1 + count)
        t = 0
        while True:
            for_loss, for_constraint = self.later if t else self.first
            centre = (z - y / self.rho).mean(axis=0) if count else x
            pull = 0.5 * self.rho * count
            for _ in range(for_loss):
                self._step(joint, record, 0, starts, centre, pull, rng)
            x = record.points[
                int(np.argmin(record.losses + pull * _squares(record.points, centre)))
            ]
            pull = 0.5 * self.rho / self.weight
            for m in range(count):
                centre = x + y[m] / self.rho
                for _ in range(for_constraint):
                    self._step(joint, record, 1 + m, starts, centre, pull, rng)
                merit = (record.excesses[m] > 0.0) + pull * _squares(record.points, centre)
                z[m] = record.points[int(np.argmin(merit))]
            y += self.rho * (x - z)
            t += 1
        yield  # makes this a generator, as every algorithm is

    def _step(
        self,
        joint: JointSpace,
        record: Record,
        m: int,
        starts: list[Hyperparameters | None],
        centre: Array,
        pull: float,
        rng: np.random.Generator,
    ) -> None:
        """Measure where the loss (m = 0) or constraint m promises most, near enough to `centre`."""
        metric = record.losses if m == 0 else record.excesses[m - 1]
        known = metric if m == 0 else (metric > 0.0).astype(np.float64)
        merits = known + pull * _squares(record.points, centre)
        points = joint.candidates(rng, record.points[np.argsort(merits, kind="stable")[:5]])
        if joint.cube.dimension == 0:
            joint.submit_best(record.evaluator, points, np.zeros(len(points)), rng)
            return
        features = joint.cube.features
        model = fit(features(record.points), metric, groups=joint.cube.groups, start=starts[m])
        starts[m] = model.hyperparameters
        mean, sd = model.predict(features(points))
        penalty = pull * _squares(points, centre)
        if m == 0:
            values = log_expected_improvement(mean + penalty, sd, float(merits.min()))
        else:
            values = _feasibility_improvement(
                float(merits.min()) - penalty, probability_below(mean, sd, 0.0)
            )
        joint.submit_best(record.evaluator, points, values, rng)
        record.refresh()


def _feasibility_improvement(q: Array, chance: Array) -> Array:
    """Return the expected improvement of 1[c > 0] plus the penalty (Ariafar et al. 2019, eq. 15)."""
    return np.where(q < 0.0, 0.0, np.where(q < 1.0, q * chance, q - (1.0 - chance)))


def _squares(points: Array, centre: Array) -> Array:
    return np.asarray(((points - centre) ** 2).sum(axis=1))

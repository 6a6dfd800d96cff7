"""The default algorithm: Bayesian optimisation on models that follow the structure of pipelines.

1. A few pipelines are measured at random.
2. One model per metric learns from everything measured so far (:mod:`models`). All pipelines that
   use an algorithm teach the models about it.
3. The next pipeline is the one with the largest acquisition (:mod:`acquisition`): the logarithm of
   the expected improvement of the loss, plus the logarithm of the chance that each constraint
   holds, plus that of the chance that the pipeline does not fail.
4. It is found by moving one module at a time, then by gradient steps (:mod:`module_ascent`).
5. It is measured. Repeat from 2.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import MOST_ENUMERATED
from fenceline.problem.starts import space_starts
from fenceline.search.iterate import Iterate
from fenceline.search.lagrangian import Scales, slack_bounds
from fenceline.search.structured.acquisition import ConstrainedImprovement
from fenceline.search.structured.clock import Clock
from fenceline.search.structured.crowding import crowd
from fenceline.search.structured.data import Data
from fenceline.search.structured.experience import Experience
from fenceline.search.structured.fidelity import MultiFidelity, looks_pay
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.models import Models
from fenceline.search.structured.module_ascent import Search
from fenceline.search.structured.prices import multipliers
from fenceline.search.structured.shape_moves import with_other_shapes
from fenceline.threads import one_thread

Array = NDArray[np.float64]

# The shared model learns from so little that choosing with it pays from the start: with 5 random
# pipelines the regret after 50 evaluations was a quarter below that with 11, and half that with 20.
_DESIGN = 5

# Of pipelines that are known to be good so many come first, and then one to every two that the model
# proposes: later ones bring little each, and may take all of a short budget. Where pipelines can be
# looked at with fewer rows, all are.
_AT_ONCE = 8

# Between two readings of what the constraints cost; what is left of the starts is measured in turn.
_PROPOSALS = 2

# A search that goes right up to the fence finds pipelines that other rows confirm half of the time.
# Where the errors of the constraints are known, one proposal in three stays inside by so many of
# them as it takes to be certified, so that a good pipeline can be; docs/decisions/0007. Another is made
# elsewhere than where a crowd gains nothing any more; docs/decisions/0016. They are not the same one:
# what keeps farthest inside may be what the crowd uses.
_TURNS, _CAUTIOUS, _ELSEWHERE = 3, 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredBO:
    """Bayesian optimisation on a surrogate that follows the structure of pipelines: the default.

    Each proposal has the largest log expected improvement of the objective plus the log chances
    that every constraint holds.

    Parameters
    ----------
    search : Search
        How thoroughly the acquisition is maximised.
    transform : bool
        Let the evidence choose between a metric and its logarithm.
    failures : bool
        Learn where pipelines fail, and keep away.
    room : float
        Standard errors of a constrained metric that every third proposal keeps from its bound,
        where errors are known. An estimator derives it from the rows that it certifies on; 4.5 is
        right for a fifth of all rows.
    rescale : bool
        Learn on which scale each number acts: a logarithm from either end of its range, or as the
        range was given.
    """

    search: Search = Search()  # noqa: RUF009 - frozen
    transform: bool = True
    failures: bool = True
    room: float = 4.5
    rescale: bool = True

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Run until the evaluator says that the budget is spent."""
        data = Data(problem, evaluator)
        starts = deque(
            c for c in problem.starts or space_starts(problem.space) if problem.allows(c)
        )
        seconds = evaluator.seconds_left
        looks = seconds is not None and bool(problem.fidelities)
        looks = looks and self._looks_pay(problem, evaluator, starts, rng)
        models = Models(data, transform=self.transform, looks=looks, rescale=self.rescale)
        clock = None if seconds is None else Clock(models, seconds)
        rows = None
        if clock is not None and looks:
            rows = MultiFidelity(models, clock, _design(problem, starts, len(starts), rng))
        else:
            for configuration in _design(problem, starts, _AT_ONCE, rng):
                evaluator.submit(configuration)
        experience = Experience(problem) if problem.expected else None

        t = 0
        while True:
            for _ in range(_PROPOSALS):
                models.refresh()
                with one_thread():
                    configuration, fidelity = self._propose(models, clock, rows, experience, rng)
                evaluator.submit(configuration, fidelity)
            if starts:
                evaluator.submit(starts.popleft())
            models.refresh()
            if data.ok.any():
                yield _state(t, models)
            t += 1

    @staticmethod
    def _looks_pay(
        problem: Problem,
        evaluator: Evaluator,
        starts: Sequence[Configuration],
        rng: np.random.Generator,
    ) -> bool:
        """Measure something safe and the first start in full, so that there is an answer and their time is known."""
        for configuration in (problem.allowed_near(problem.space.initial, rng), *islice(starts, 1)):
            evaluator.submit(configuration)
        evaluator.drain()
        return looks_pay(evaluator, problem.fidelities)

    def _propose(
        self,
        models: Models,
        clock: Clock | None,
        rows: MultiFidelity | None,
        experience: Experience | None,
        rng: np.random.Generator,
    ) -> tuple[Configuration, float]:
        """Return the unmeasured configuration that promises most, and the share of rows for it."""
        data, problem = models.data, models.data.problem
        space, evaluator = problem.space, data.evaluator
        if rows is not None and (start := rows.next_start()) is not None:
            return start, rows.shares[0]
        if data.ok.any():
            turn = (len(evaluator.history) + len(evaluator.pending)) % _TURNS
            # Where there are looks, `rows` sees to it that others get their turn.
            alone = rows is None and (clock is None or not clock.ending)
            avoided = crowd(data) if turn == _ELSEWHERE and alone else None
            acquisition = ConstrainedImprovement.of(
                models,
                learn_failures=self.failures,
                room=self.room if turn == _CAUTIOUS else 0.0,
                without=avoided,
            )
            if experience is not None:
                count = len(evaluator.history)
                acquisition = experience.weigh(acquisition, models.structure, count)
            order = np.flatnonzero(data.ok)[data.best_first]
            z, theta = data.z[order], data.theta[order]
            if clock is not None:
                acquisition = clock.priced(acquisition)
            if rows is not None:
                z, theta = rows.best_known(acquisition, z, theta)
            searched = acquisition if rows is None else rows.for_new(acquisition)
            z, theta = with_other_shapes(problem, searched, models.structure, z, theta, rng)
            if avoided is not None:
                elsewhere = ~avoided.includes(z)
                z, theta = z[elsewhere], theta[elsewhere]
            found = self.search(
                searched,
                models.structure,
                models.lattice,
                z,
                theta,
                rng,
                models.permission,
                without=avoided,
            )
            new = [
                configuration
                for configuration in (space.decode(c.z, c.theta) for c in found)
                if evaluator.known(configuration) is None
                and configuration not in evaluator.pending
                and problem.allows(configuration)
            ]
            if rows is not None and (chosen := rows.choose(acquisition, new)) is not None:
                return chosen
            for configuration in new if clock is None else clock.in_time_first(new):
                return configuration, 1.0
        return _anything_new(problem, evaluator, rng), 1.0


def _state(t: int, models: Models) -> Iterate:
    """Return where the search stands: the best pipeline, and what the constraints press with there."""
    data, problem = models.data, models.data.problem
    scales = Scales.observed(problem, data.evaluator.history)
    best = int(data.best_first[0])
    z, theta = data.row(best)
    excess = data.excesses(scales)[best]
    slack = np.minimum(np.maximum(-excess, 0.0), slack_bounds(problem))
    pressed = multipliers(models, scales)
    mu = np.zeros(len(excess)) if pressed is None else pressed
    return Iterate(
        t,
        z,
        theta,
        delta=np.zeros(0),  # Nothing is relaxed here, and nothing penalised.
        lam=np.zeros(0),
        u=slack,
        mu=mu,
        rho=0.0,
        primal_residual=math.hypot(*(excess + slack)),
        dual_residual=0.0,
        evaluations=len(data.evaluator.history),
        prices=scales.prices(problem, mu),
    )


def _design(
    problem: Problem, starts: deque[Configuration], at_once: int, rng: np.random.Generator
) -> Iterator[Configuration]:
    """Yield the first pipelines: something safe, those known to be good, then a few at random.

    The latter differ in their algorithms, and are the fewer the more are known to be good.
    """
    space = problem.space
    yield problem.allowed_near(space.initial, rng)
    missing = _DESIGN - len(starts)
    for _ in range(min(at_once, len(starts))):
        yield starts.popleft()
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


def _anything_new(
    problem: Problem, evaluator: Evaluator, rng: np.random.Generator
) -> Configuration:
    """Return an unmeasured configuration at random; a known one only when there is no other."""
    for _ in range(100):
        configuration = problem.sample(rng)
        if evaluator.known(configuration) is None and configuration not in evaluator.pending:
            return configuration
    if problem.space.cardinality <= MOST_ENUMERATED:
        for candidate in filter(problem.allows, problem.space.configurations()):
            if evaluator.known(candidate) is None and candidate not in evaluator.pending:
                return candidate
    return configuration

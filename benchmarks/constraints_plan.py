"""Which method the constraints benchmark runs on which problems, for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from benchmarks.harness import Curve
from benchmarks.optimiser_plan import Line
from fenceline import Problem, StructuredBO
from fenceline.baselines import ADMMBO, SMAC, UCST, ConstrainedEI, OptunaTPE, RandomSearch
from fenceline.problem.problem import Evaluator
from fenceline.problems import artificial
from fenceline.search.iterate import Iterate

FIRST_SEED, SEEDS, SLOW_SEEDS, SLOWEST_SEEDS = 100, 20, 10, 5
EVALUATIONS, SLOW, LONG = 200, 100, 300
"""Of most runs, of the rivals that take longest, and of the run that helps to know the best value."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The default algorithm from another start: what it knows of a problem owes nothing to the run it judges."""

    algorithm: StructuredBO = field(default_factory=StructuredBO)

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Search with random numbers of its own."""
        return self.algorithm.iterates(problem, evaluator, rng.spawn(1)[0])


OURS = Curve("Fenceline", StructuredBO)
UNAWARE = Curve("UCST", UCST)
JOINT = Curve("constrained EI, joint GP", ConstrainedEI)
ARIAFAR = Curve("ADMMBO", ADMMBO)
TPE = Curve("constrained TPE (Optuna)", OptunaTPE, needs="optuna")
PENALTY = Curve("penalty + SMAC3", SMAC, needs="smac")
RANDOM = Curve("random search", RandomSearch)
BEST_KNOWN = Curve("Fenceline, long", Elsewhere)
RIVALS = (UNAWARE, JOINT, ARIAFAR, TPE, PENALTY, RANDOM)


@dataclass(frozen=True, slots=True)
class Cell:
    """Problems with so many constraints that leave such a share of random pipelines."""

    constraints: int
    fraction: float

    @property
    def name(self) -> str:
        """As part of a file's name."""
        return f"k{self.constraints}-p{self.fraction:g}"


CELLS = [Cell(k, p) for p in (0.1, 0.02, 0.5) for k in (2, 1, 4)]
"""The ones that decide come first."""


def plan_of(cells: list[Cell]) -> list[Line]:
    """Return everything to be run; seconds are those of the processor, measured on a few runs."""
    lines = []
    for cell in cells:
        k = cell.constraints
        problem = partial(artificial, constraints=k, feasible_fraction=cell.fraction)
        for curve, evaluations, seconds, most in (
            (OURS, EVALUATIONS, 2.0 + 1.5 * k, None),
            (TPE, EVALUATIONS, 4.0, None),
            (UNAWARE, EVALUATIONS, 2.5, None),
            (RANDOM, EVALUATIONS, 0.1, None),
            (BEST_KNOWN, LONG, 4.0 + 2.5 * k, None),
            (JOINT, SLOW, 2.0 * (1 + k), SLOW_SEEDS),
            (ARIAFAR, SLOW, 5.0, SLOW_SEEDS),
            (PENALTY, SLOW, 25.0, SLOWEST_SEEDS),
        ):
            lines.append(Line(cell.name, curve, cell.name, problem, evaluations, seconds, most))
    return lines

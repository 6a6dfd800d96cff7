"""Which method the constraints benchmark runs on which problems, for how long."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks.harness import Curve
from benchmarks.optimiser_plan import Line
from fenceline import ADMM
from fenceline.baselines import ADMMBO, SMAC, UCST, ConstrainedEI, OptunaTPE, RandomSearch
from fenceline.problems import artificial

FIRST_SEED, SEEDS = 100, 20
EVALUATIONS, LONG = 200, 500
"""Of every run, and of the one that helps to know the best value of a problem."""

OURS = Curve("Fenceline", ADMM)
UNAWARE = Curve("UCST", UCST)
JOINT = Curve("constrained EI, joint GP", ConstrainedEI)
ARIAFAR = Curve("ADMMBO", ADMMBO)
TPE = Curve("constrained TPE (Optuna)", OptunaTPE, needs="optuna")
PENALTY = Curve("penalty + SMAC3", SMAC, needs="smac")
RANDOM = Curve("random search", RandomSearch)
BEST_KNOWN = Curve("Fenceline, long", ADMM)
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
    """Return everything to be run; seconds are rough, from runs of half the length."""
    lines = []
    for cell in cells:
        k = cell.constraints
        problem = partial(artificial, constraints=k, feasible_fraction=cell.fraction)
        for curve, evaluations, seconds in (
            (OURS, EVALUATIONS, 6.0 + 4.0 * k),
            (TPE, EVALUATIONS, 4.0),
            (UNAWARE, EVALUATIONS, 6.0),
            (RANDOM, EVALUATIONS, 0.1),
            (JOINT, EVALUATIONS, 8.0 * (1 + k)),
            (ARIAFAR, EVALUATIONS, 12.0),
            (BEST_KNOWN, LONG, 4.0 * (6.0 + 4.0 * k)),
            (PENALTY, EVALUATIONS, 65.0),
        ):
            lines.append(Line(cell.name, curve, cell.name, problem, evaluations, seconds))
    return lines

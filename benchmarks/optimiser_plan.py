"""Which algorithm the optimiser benchmark runs on which problems, for how long, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks import ablation
from benchmarks.counted import Counted
from benchmarks.failing import failing
from benchmarks.harness import Curve
from fenceline import ADMM, Problem, StructuredBO
from fenceline.baselines import SMAC, JointBO, OptunaTPE, RandomSearch
from fenceline.minimize import SearchAlgorithm
from fenceline.problems import artificial, classical, decoy, ill_scaled

FIRST_SEED, SEEDS, CLASSICAL_SEEDS = 100, 20, 10
TUNING_SEEDS = range(20)
"""Problems that settings were chosen on; none of them may be reported."""
WORKERS = 8
PARTS = "ABCDEFGH"


def _hyperopt() -> SearchAlgorithm:
    from benchmarks.peer_hyperopt import HyperoptTPE

    return HyperoptTPE()


OURS = Curve("Fenceline", StructuredBO)
OPTUNA = Curve("Optuna TPE", OptunaTPE, needs="optuna")
GROUP = Curve("Optuna TPE, multivariate + group", partial(OptunaTPE, group=True), needs="optuna")
SMAC3 = Curve("SMAC3", SMAC, needs="smac")
HYPEROPT = Curve("Hyperopt TPE", _hyperopt, needs="hyperopt")
RANDOM = Curve("random search", RandomSearch)
PAPER = Curve("ADMM.paper()", ADMM.paper)
JOINT = Curve("JointBO", JointBO)
RIVALS = (OPTUNA, GROUP, SMAC3, HYPEROPT, JOINT, RANDOM, PAPER)

NO_STRUCTURE = Curve("without structure", ablation.WithoutStructure)
NO_SHARING = Curve("without sharing", ablation.without_sharing)
MEASURED = Curve("alternation measured", ablation.alternation_measured)
NO_TRANSFORMATION = Curve("without transformation", ablation.without_transformation)
NO_FAILURES = Curve("without failure model", ablation.without_failures)
ABLATED = (NO_STRUCTURE, NO_SHARING, MEASURED, NO_TRANSFORMATION)


@dataclass(frozen=True, slots=True)
class Line:
    """One curve in one setting, over all seeds.

    `seconds` is a guess at the CPU time of one run at full size, mostly from shorter runs; only the
    estimate before the start rests on it.
    """

    part: str
    curve: Curve
    setting: str
    problem: Callable[[int], Problem]
    evaluations: int
    seconds: float
    most_seeds: int | None = None
    workers: int = 1


def classical_problem(name: str, seed: int) -> Problem:
    """Return a classical problem, which is the same for every run's seed."""
    return classical()[name]


def constrained(seed: int) -> Problem:
    """Return the artificial problem with four constraints, whose best value nobody knows."""
    return replace(artificial(seed, constraints=4), optimum=0.0)


_CLASSICAL = [
    Line(
        "D",
        curve,
        f"classical-{name}",
        partial(classical_problem, name),
        100,
        seconds,
        CLASSICAL_SEEDS,
    )
    for name in classical()
    for curve, seconds in ((OURS, 2.0), (JOINT, 2.0))
]

# What is wanted first comes first; the slow rivals come last, and get as many evaluations as
# they are worth waiting for.
PLAN = [
    Line("A", OURS, "artificial", artificial, 500, 16.0),
    Line("A", OPTUNA, "artificial", artificial, 500, 15.0),
    Line("A", RANDOM, "artificial", artificial, 500, 0.1),
    Line("A", PAPER, "artificial", artificial, 500, 3.0),
    Line("A", JOINT, "artificial", artificial, 100, 2.0),
    Line("A", OURS, "long", artificial, 2000, 150.0, 1),
    Line("B", OURS, f"workers{WORKERS}", artificial, 200, 6.0, workers=WORKERS),
    Line("C", OURS, "failing", failing, 200, 8.0),
    *_CLASSICAL,
    Line("F", OURS, "decoy", decoy, 150, 1.5),
    Line("F", JOINT, "decoy", decoy, 150, 2.0),
    Line("F", OPTUNA, "decoy", decoy, 150, 2.0),
    Line("H", OURS, "ill-scaled", ill_scaled, 150, 1.5),
    Line("H", OPTUNA, "ill-scaled", ill_scaled, 150, 1.1),
    Line("G", OURS, "constrained", constrained, 220, 10.0, 5),
    Line("G", OPTUNA, "constrained", constrained, 220, 6.0, 5),
    Line("E", NO_STRUCTURE, "artificial", artificial, 200, 6.0),
    Line("E", NO_SHARING, "artificial", artificial, 200, 1.0),
    Line("E", MEASURED, "artificial", artificial, 200, 6.0),
    Line("E", NO_TRANSFORMATION, "artificial", artificial, 200, 5.0),
    Line("E", NO_FAILURES, "failing", failing, 200, 6.0),
    Line("A", GROUP, "artificial", artificial, 200, 18.0),
    Line("A", HYPEROPT, "artificial", artificial, 200, 28.0),
    Line("F", SMAC3, "decoy", decoy, 150, 40.0),
    Line("A", SMAC3, "artificial", artificial, 200, 65.0),
]


def jobs_of(
    plan: Sequence[Line], seeds: Sequence[int], scale: float, directory: Path
) -> list[Counted]:
    """Return the runs of a plan, with every number of evaluations scaled."""
    return [
        Counted(
            line.curve,
            line.setting,
            line.problem,
            seed,
            scaled(line.evaluations, scale),
            directory,
            line.workers,
        )
        for line in plan
        for seed in seeds[: line.most_seeds]
    ]


def scaled(evaluations: int, scale: float) -> int:
    """Return a number of evaluations at another size."""
    return max(1, round(evaluations * scale))


def cost(plan: Sequence[Line], seeds: int, scale: float) -> dict[str, float]:
    """Estimate the CPU seconds of each part."""
    total: dict[str, float] = {}
    for line in plan:
        runs = min(seeds, line.most_seeds or seeds)
        total[line.part] = total.get(line.part, 0.0) + runs * line.seconds * scale
    return total

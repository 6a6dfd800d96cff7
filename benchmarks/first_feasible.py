"""How soon a search is inside a tight fence, and how soon it could be.

Fenceline, Optuna's constrained TPE and an agent that knows the formula of the problems, on
``problems.artificial(seed, constraints=k, feasible_fraction=0.02)``: evaluations to the first
feasible pipeline, the median over problems and runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.constraints_plan import OURS, TPE
from benchmarks.harness import Curve, write_records
from benchmarks.knowing import Knowing
from fenceline import minimize
from fenceline.evaluation.evaluator import Progress
from fenceline.problems import artificial

OUT = Path("out/first_feasible.csv")
CURVES = (OURS, TPE, Curve("knows the formula", Knowing))
CONSTRAINTS = (1, 2, 4)
FRACTION = 0.02
MOST = 100
"""A run that has found nothing by then counts as so many and one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    method: str
    constraints: int
    problem: int
    run: int
    first: int


def first_feasible(curve: Curve, constraints: int, problem: int, run: int) -> Row:
    """Run a method until something is inside the fence."""

    def stop(progress: Progress) -> None:
        if progress.best is not None:
            raise KeyboardInterrupt

    result = minimize(
        artificial(problem, constraints=constraints, feasible_fraction=FRACTION),
        evaluations=MOST,
        algorithm=curve.build(),
        seed=1000 * run + problem,
        callbacks=[stop],
    )
    first = next((n for n, e in enumerate(result.evaluations, 1) if e.feasible), MOST + 1)
    return Row(curve.name, constraints, problem, run, first)


def table(rows: Sequence[Row]) -> str:
    """Return the medians, and what part of TPE's they are."""
    lines = ["| | " + " | ".join(f"k = {k}" for k in CONSTRAINTS) + " |", "|---" * 4 + "|"]
    medians = {
        (c.name, k): float(
            np.median([r.first for r in rows if (r.method, r.constraints) == (c.name, k)])
        )
        for c in CURVES
        for k in CONSTRAINTS
    }
    for curve in CURVES:
        cells = [
            f"{medians[curve.name, k]:g} ({medians[curve.name, k] / medians[TPE.name, k]:.2f})"
            for k in CONSTRAINTS
        ]
        lines.append(f"| {curve.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_feasible", description=__doc__
    )
    parser.add_argument("--first-problem", type=int, default=100)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3, help="with random numbers of their own")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    chosen = parser.parse_args(arguments)
    problems = range(chosen.first_problem, chosen.first_problem + chosen.problems)
    jobs = list(product(CURVES, CONSTRAINTS, problems, range(chosen.runs)))
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        rows = list(pool.map(first_feasible, *zip(*jobs, strict=True)))
    OUT.parent.mkdir(exist_ok=True)
    write_records(OUT, rows)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

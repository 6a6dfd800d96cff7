"""The default, without multipliers, and ADMM on the same surrogate, where multipliers steer the search.

Run ``python -m benchmarks.multipliers`` from the root. Runs that are there already are not
repeated, all problems of one seed come before the next, and ``--report-only`` reads them at any
time. Problems 0-19 are for choices (``--tuning``); those from 100 on are reported.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

# Before numpy is imported: the matrices are small, and threads of one job would slow the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.constraints import collect
from benchmarks.constraints_plan import CELLS, FIRST_SEED, SEEDS
from benchmarks.counted import Trace, run
from benchmarks.harness import Curve, run_all, write_csv
from benchmarks.optimiser_plan import TUNING_SEEDS, Line, jobs_of
from benchmarks.optimiser_tables import Results
from fenceline import ADMM, StructuredBO
from fenceline.problems import artificial

EVALUATIONS = 100
FREE = "free"


DEFAULT = Curve("StructuredBO()", StructuredBO)
LOOP = Curve("ADMM()", ADMM)
CURVES = (DEFAULT, LOOP)


def plan_of(curves: Sequence[Curve], cells: Sequence[str]) -> list[Line]:
    """Return everything to be run."""
    problems = {FREE: artificial} | {
        c.name: partial(artificial, constraints=c.constraints, feasible_fraction=c.fraction)
        for c in CELLS
    }
    return [
        Line(name, curve, name, problems[name], EVALUATIONS, 4.0)
        for name in cells
        for curve in curves
    ]


def table(results: Results, cells: Sequence[str]) -> str:
    """Return the median best value of each curve, and how often it ended better and worse than the first.

    Each pair is compared on the problems that both have run; medians are over all that a curve has.
    """
    heads = ["problems", *(c.name for c in CURVES), f"{LOOP.name}: better / worse"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for cell in cells:
        curves = results.get(cell, {})
        if DEFAULT.name not in curves:
            continue
        medians = [_median(curves.get(c.name, {})) for c in CURVES]
        versus = _versus(curves.get(LOOP.name, {}), curves[DEFAULT.name])
        lines.append(f"| {' | '.join([cell, *medians, versus])} |")
    return "\n".join(lines)


def _median(runs: Mapping[int, Trace]) -> str:
    if not runs:
        return "not run"
    middle = np.quantile([_end(trace) for trace in runs.values()], 0.5, method="higher")
    return f"{middle:.3g} ({len(runs)})"


def _versus(runs: Mapping[int, Trace], others: Mapping[int, Trace]) -> str:
    pairs = [(_end(runs[s]), _end(others[s])) for s in runs.keys() & others.keys()]
    better, worse = (sum(a < b for a, b in pairs), sum(a > b for a, b in pairs))
    return f"{better} / {worse}" if pairs else "not run"


def _end(trace: Trace) -> float:
    return float(trace.objectives.min())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multipliers", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int)
    parser.add_argument("--tuning", action="store_true", help="the problems 0-19")
    parser.add_argument("--cells", nargs="*", default=[FREE, *(c.name for c in CELLS)])
    parser.add_argument("--only", nargs="*", help="only these curves, by the start of their names")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    first = (
        chosen.first_seed if chosen.first_seed is not None else 0 if chosen.tuning else FIRST_SEED
    )
    if first in TUNING_SEEDS and not chosen.tuning:
        parser.error(f"problems 0-{TUNING_SEEDS[-1]} are for tuning; begin at {FIRST_SEED}")
    out = chosen.out or Path("out") / ("multipliers-tuning" if chosen.tuning else "multipliers")
    seeds = range(first, first + chosen.seeds)
    if not chosen.report_only:
        curves = [c for c in CURVES if chosen.only is None or c.name.startswith(tuple(chosen.only))]
        jobs = jobs_of(plan_of(curves, chosen.cells), seeds, 1.0, out / "runs")
        jobs.sort(key=lambda job: job.seed)
        run_all(jobs, chosen.jobs, run)
    results, outdated = collect(jobs_of(plan_of(CURVES, chosen.cells), seeds, 1.0, out / "runs"))
    out.mkdir(parents=True, exist_ok=True)
    write_csv(
        out / "runs.csv",
        ("problems", "curve", "seed", "best", "share_feasible"),
        (
            (cell, name, seed, repr(_end(t)), f"{np.isfinite(t.objectives).mean():.4f}")
            for cell, curves in results.items()
            for name, runs in curves.items()
            for seed, t in runs.items()
        ),
    )
    if outdated:
        print(f"Out of date: {outdated} runs were made with other code or settings.")
    print(table(results, chosen.cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The seed paper's appendix E: ADMM against joint optimisation on its eight sets, at a smaller budget.

Run ``python -m benchmarks.paper_tables`` from the root, in an environment with the packages of
``requirements-peers.txt``; without them scikit-optimize is left out. Runs that are there already are
not repeated, all methods share the pipelines that were measured, and ``--report-only`` reads what is
there at any time. ``--publish`` writes the tables into docs/reproduce.md.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

# Before numpy is imported: the matrices are small, and threads of one job would slow the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from benchmarks.catalogue import DATA
from benchmarks.harness import Curve, run_all
from benchmarks.pages import markdown, publish
from benchmarks.paper_artificial import _skopt
from benchmarks.real_data import Sample
from benchmarks.real_pipelines import Search, jobs_of, run
from fenceline import ADMM, StructuredBO
from fenceline.baselines import JointBO
from fenceline.search.admm.solvers import Bayesian

EVALUATIONS, ROWS, SEEDS = 60, 1000, 5
SKOPT_EVALUATIONS = 30
"""Its joint GP takes seconds for a suggestion in this space, and ever more with the evaluations."""
PAGE = Path("docs/reproduce.md")


@dataclass(frozen=True, slots=True)
class Printed:
    """What the seed prints for one set: speed-up and improvement in per cent, of (BO,Ba) and (BO,BO)."""

    speedups: tuple[int, int]
    improvements: tuple[int, int]


SETS = {
    "bank8FM": Printed((10, 2), (0, 5)),
    "cpu_small": Printed((4, 5), (0, 5)),
    "fri_c2_1000_25": Printed((153, 25), (56, 64)),
    "pc4": Printed((42, 5), (8, 13)),
    "pollen": Printed((25, 7), (4, 3)),
    "puma8NH": Printed((11, 4), (1, 1)),
    "sylvine": Printed((9, 2), (9, 26)),
    "wind": Printed((40, 5), (0, 5)),
}
BANDIT = Curve("ADMM(BO,Ba)", ADMM.paper)
BOTH = Curve("ADMM(BO,BO)", partial(ADMM.paper, z=Bayesian()))
DEFAULT = Curve("the default", StructuredBO)
JOINT = Curve("JOPT(BO), ours", JointBO)
SKOPT = Curve("JOPT(BO), scikit-optimize", _skopt, needs="scikit-optimize")
METHODS = (BANDIT, BOTH, DEFAULT, JOINT)


@dataclass(frozen=True, slots=True, eq=False)
class Incumbents:
    """One run: the best loss after each evaluation, and the seconds until then.

    Seconds are those of measuring and of the processor for suggesting. A measurement that another run
    had made before counts as what it took then.
    """

    losses: NDArray[np.float64]
    seconds: NDArray[np.float64]

    def reached(self, value: float) -> tuple[float, float]:
        """Return after how many evaluations and seconds a loss was reached; infinite if never."""
        there = np.flatnonzero(self.losses <= value)
        if not len(there):
            return math.inf, math.inf
        return float(there[0] + 1), float(self.seconds[there[0]])


@dataclass(frozen=True, slots=True)
class Pair:
    """A method against a rival on one set: medians over the seeds that both have."""

    speedup: float
    """The rival's evaluations over those until its final value was reached; 0 if it never was."""
    speedup_seconds: float
    improvement: float
    """Of the final loss at equal evaluations, in per cent."""
    seeds: int


Runs = Mapping[str, Mapping[str, Mapping[int, Incumbents]]]
"""By set, method and seed."""


def read(job: Search) -> Incumbents | None:
    """Return what a search found, if it was run."""
    if not job.part.exists():
        return None
    with job.part.open(newline="") as file:
        rows = list(csv.DictReader(file))
    losses = np.minimum.accumulate([float(row["loss"]) for row in rows])
    seconds = np.cumsum([float(row["seconds"]) + float(row["suggest_cpu_seconds"]) for row in rows])
    return Incumbents(losses, seconds)


def versus(
    ours: Mapping[int, Incumbents], theirs: Mapping[int, Incumbents], evaluations: int
) -> Pair | None:
    """Compare seed by seed, as the seed paper's appendix does."""
    pairs = [(ours[s], theirs[s]) for s in sorted(ours.keys() & theirs.keys())]
    if not pairs:
        return None
    counts, seconds, gains = [], [], []
    for a, b in pairs:
        n = min(evaluations, len(b.losses))
        goal = float(b.losses[n - 1])
        evaluated, spent = a.reached(goal)
        counts.append(n / evaluated)
        seconds.append(float(b.seconds[n - 1]) / spent)
        final = float(a.losses[min(n, len(a.losses)) - 1])
        gains.append(100.0 * (1.0 - final / goal) if goal > 0 else 0.0)
    return Pair(median(counts), median(seconds), median(gains), len(pairs))


def verdict(held: Sequence[bool]) -> str:
    """Return whether a claim holds on the sets that were run."""
    if not held:
        return "not run"
    if all(held):
        return "holds"
    return "holds in part" if 2 * sum(held) >= len(held) else "does not hold"


def table(runs: Runs, rival: Curve, evaluations: int) -> str:
    """Return speed-ups and improvements beside the printed ones."""
    rows = []
    for name, printed in SETS.items():
        found = runs.get(name, {})
        cells = [name]
        for k, method in enumerate((BANDIT, BOTH, DEFAULT)):
            pair = versus(found.get(method.name, {}), found.get(rival.name, {}), evaluations)
            theirs = f"{printed.speedups[k]} / {printed.improvements[k]}" if k < 2 else "-"
            cells += [theirs] if k < 2 else []
            cells.append(
                "not run"
                if pair is None
                else f"{pair.speedup:.3g} ({pair.speedup_seconds:.3g}) / {pair.improvement:.1f}"
            )
        rows.append(cells)
    head = ["set", "seed (BO,Ba)", "ours (BO,Ba)", "seed (BO,BO)", "ours (BO,BO)", "the default"]
    return markdown(head, rows)


def claims(runs: Runs, evaluations: int) -> str:
    """Return the claims of the appendix with their verdicts, against both joint optimisers."""
    rows = []
    for rival in (JOINT, SKOPT):
        budget = SKOPT_EVALUATIONS if rival is SKOPT else evaluations
        for method in (BANDIT, BOTH, DEFAULT):
            pairs = [
                pair
                for name in SETS
                if (found := runs.get(name))
                and (pair := versus(found.get(method.name, {}), found.get(rival.name, {}), budget))
            ]
            sooner, lower = [p.speedup > 1 for p in pairs], [p.improvement >= 0 for p in pairs]
            told = f"{sum(sooner)} and {sum(lower)} of {len(pairs)} sets" if pairs else ""
            rows += [
                [
                    f"{method.name} is sooner than {rival.name}, and ends no higher",
                    told,
                    f"{verdict(sooner)}, {verdict(lower)}",
                ]
            ]
    return markdown(["claim", "holds on", "verdict: sooner, no higher"], rows)


def collect(jobs: Sequence[Search]) -> dict[str, dict[str, dict[int, Incumbents]]]:
    """Return all runs that are there."""
    found: dict[str, dict[str, dict[int, Incumbents]]] = {}
    for job in jobs:
        result = read(job)
        if result is not None:
            found.setdefault(job.sample.name, {}).setdefault(job.curve.name, {})[job.seed] = result
    return found


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_tables", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA / "paper8")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--rows", type=int, default=ROWS, help="of each set at most")
    parser.add_argument("--space", default="paper")
    parser.add_argument("--without-skopt", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help="write the tables into the docs")
    parser.add_argument("--out", type=Path, default=Path("out/paper-tables"))
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables."""
    chosen = options(arguments)
    samples = [Sample(chosen.data / f"{name}.csv.gz", chosen.rows) for name in chosen.sets]
    for sample in samples:
        if not sample.path.exists():
            raise SystemExit(f"{sample.path} is not there; say where the eight sets are: --data")
    # All methods of a seed before the next seed: what is there when time is up can be compared.
    jobs = [
        job
        for seed in range(chosen.seeds)
        for job in jobs_of(samples, METHODS, [seed], chosen.space, chosen.evaluations, chosen.out)
    ]
    if not chosen.without_skopt:
        few = min(chosen.evaluations, SKOPT_EVALUATIONS)
        jobs += jobs_of(samples, [SKOPT], range(chosen.seeds), chosen.space, few, chosen.out)
    if not chosen.report_only:
        started = time.perf_counter()
        run_all([job for job in jobs if job.curve.installed], chosen.jobs, run)
        print(f"runs took {(time.perf_counter() - started) / 60:.1f} minutes\n")
    runs = collect(jobs)
    made = sum(len(seeds) for methods in runs.values() for seeds in methods.values())
    parts = [
        f"{made} of {len(jobs)} runs; {chosen.evaluations} evaluations, at most {chosen.rows} rows, "
        f"medians of at most {chosen.seeds} runs. S in evaluations (in seconds) / I in per cent.",
        f"Against {JOINT.name}:\n\n{table(runs, JOINT, chosen.evaluations)}",
        claims(runs, chosen.evaluations),
    ]
    if any(SKOPT.name in methods for methods in runs.values()):
        parts.insert(
            2,
            f"Against {SKOPT.name}, {SKOPT_EVALUATIONS} evaluations:\n\n"
            + table(runs, SKOPT, SKOPT_EVALUATIONS),
        )
    text = "\n\n".join(parts) + "\n"
    print(text)
    if chosen.publish:
        publish(PAGE, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fenceline's default against every rival on real pipelines: who ranks best over several tables.

The part of ``python -m benchmarks.optimiser`` that runs with ``--data``. All methods go through
:func:`fenceline.minimize` and share one file of measured pipelines per table, so that the same
pipeline has the same value for everybody; one that takes too long has failed for everybody.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fenceline as fl
from benchmarks.counted import Clocked, code_of
from benchmarks.harness import Curve, describe, is_done, keep, run_all
from benchmarks.optimiser_plan import HYPEROPT, JOINT, OURS, PARTS, RANDOM, scaled
from benchmarks.real_data import FEWEST_ROWS, LIMITS, Sample, problem_of
from benchmarks.real_tables import Outcomes, Run, write_report
from benchmarks.remembering import Memo, Remembering
from fenceline.baselines import SMAC, OptunaTPE
from fenceline.errors import DefinitionError
from fenceline.evaluation import Local
from fenceline.pipelines import named_space

AT = (50, 100)
ROWS, SMOKE_ROWS = 500, 200
OUT, SMOKE_OUT = Path("out/optimiser-real"), Path("out/optimiser-real-smoke")
DOCS = Path("docs/figures/optimiser-real")

# The adapters of the library, for here pipelines fail: they tell a rival so in its own terms.
METHODS = (
    RANDOM,
    OURS,
    Curve("Optuna TPE", OptunaTPE, needs="optuna"),
    JOINT,
    Curve("Optuna TPE, multivariate + group", partial(OptunaTPE, group=True), needs="optuna"),
    HYPEROPT,
    Curve("SMAC3", SMAC, needs="smac"),
)
"""Those whose suggestions take least time come first."""

_COLUMNS = ("evaluation", "loss", "status", "seconds", "suggest_cpu_seconds", "pipeline")


@dataclass(frozen=True, slots=True)
class Search:
    """One method on one table, for so many evaluations.

    Parameters
    ----------
    fingerprint : str
        Of the measured values, as :meth:`Sample.fingerprint` returns it.
    out : Path
        Where runs and measured pipelines are kept.
    """

    curve: Curve
    sample: Sample
    space: str
    seed: int
    evaluations: int
    fingerprint: str
    out: Path

    @property
    def part(self) -> Path:
        """The CSV of the evaluations, written last."""
        name = f"{self.sample.name}-{self.space}-{self.curve.slug}-seed{self.seed}.csv"
        return self.out / "runs" / name

    @property
    def record(self) -> Path:
        """The JSON beside it: settings and outcome."""
        return self.part.with_suffix(".json")

    @property
    def memo(self) -> Path:
        """The pipelines of this table that any method had measured."""
        return self.out / "measured" / f"{self.sample.name}-{self.fingerprint}.jsonl"

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.sample.name}: {self.curve.name}, seed {self.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on, apart from the machine."""
        names = sorted({"fenceline", "numpy", "scipy", "scikit-learn", self.curve.needs})
        return {
            "curve": self.curve.name,
            "algorithm": describe(self.curve.build()),
            "set": self.sample.name,
            "rows": self.sample.rows,
            "space": self.space,
            "seed": self.seed,
            "evaluations": self.evaluations,
            "measured": self.fingerprint,
            "versions": {name: importlib.metadata.version(name) for name in names},
            "code": code_of(self.curve.needs),
        }

    @property
    def done(self) -> bool:
        """Whether there is a result, and it was made with these settings."""
        return is_done(self)


def run(job: Search) -> None:
    """Run one search and write its evaluations, and its settings beside them."""
    problem, algorithm = problem_of(job.sample, job.space), job.curve.build()
    engine = Clocked(Remembering(Local(1, LIMITS), Memo(job.memo)))
    started = time.perf_counter()
    try:
        result = fl.minimize(
            problem,
            evaluations=job.evaluations,
            algorithm=algorithm,
            seed=job.seed,
            engine=engine,
        )
    finally:
        engine.close()
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    outcome = {"ended": result.ended, "wall_seconds": round(time.perf_counter() - started, 3)}
    rows = (
        (n, repr(e.objective), e.status, f"{e.seconds:.4f}", f"{cpu:.6f}", e.configuration)
        for n, (e, cpu) in enumerate(zip(result.evaluations, engine.cpu_seconds, strict=True), 1)
    )
    keep(job, outcome, _COLUMNS, rows)


def read(job: Search) -> Run | None:
    """Return what a search found, if it was run."""
    if not job.part.exists():
        return None
    with job.part.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return Run(
        np.array([float(row["loss"]) for row in rows]),
        sum(float(row["seconds"]) for row in rows),
        sum(float(row["suggest_cpu_seconds"]) for row in rows),
    )


def jobs_of(
    samples: Sequence[Sample],
    methods: Sequence[Curve],
    seeds: Sequence[int],
    space: str,
    evaluations: int,
    out: Path,
) -> list[Search]:
    """Return the runs, table by table, so that what is there when time is up can be ranked."""
    return [
        Search(curve, sample, space, seed, evaluations, fingerprint, out)
        for sample in samples
        for fingerprint in (sample.fingerprint(),)
        for seed in seeds
        for curve in methods
    ]


def check(samples: Sequence[Sample], space: str) -> None:
    """Refuse bad input before any time is spent on the good."""
    named_space(space)
    for sample in samples:
        sample.load()
    twice = [name for name, n in Counter(sample.name for sample in samples).items() if n > 1]
    if twice:
        raise DefinitionError(f"Two tables are called {twice[0]}; rename one of them.")


def report(jobs: Sequence[Search], at: Sequence[int], out: Path, smoke: bool) -> None:
    """Write and print what is known so far."""
    found: Outcomes = {}
    made = outdated = 0
    for job in jobs:
        result = read(job)
        if result is not None:
            made += 1
            # What is not installed here cannot be asked for its settings.
            outdated += job.curve.installed and not job.done
            runs = found.setdefault(job.sample.name, {}).setdefault(job.curve.name, {})
            runs[job.seed] = result
    remarks = []
    if made < len(jobs):
        remarks.append(f"Unfinished: {made} of {len(jobs)} runs.")
    if outdated:
        remarks.append(f"Out of date: {outdated} runs were made with other code or settings.")
    if smoke:
        remarks.append("A smoke test: the numbers mean nothing.")
    seeds = {job.seed for job in jobs}
    print("\n" + write_report(out, found, len(seeds), at, " ".join(remarks)))
    print(f"tables and runs are in {out}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command line ask for real pipelines."""
    real = parser.add_argument_group("real pipelines, instead of the five parts")
    real.add_argument("--data", type=Path, nargs="+", metavar="TABLE", help="with a column target")
    real.add_argument("--space", default="paper", help="of pipelines, by name; paper by default")
    real.add_argument("--rows", type=int, help=f"of each table at most, {ROWS} by default")
    real.add_argument("--methods", nargs="+", metavar="METHOD", help="only these; all by default")


def settle(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """Fill in what was not asked for, and refuse what makes no sense."""
    if chosen.skip or chosen.parts.upper() != PARTS:
        parser.error("--skip and --parts do not go with --data; choose by --methods")
    if unknown := set(chosen.methods or ()).difference(*({c.name, c.slug} for c in METHODS)):
        known = ", ".join(c.slug for c in METHODS)
        parser.error(f"there is no method {sorted(unknown)}; there are {known}")
    chosen.rows = (SMOKE_ROWS if chosen.smoke else ROWS) if chosen.rows is None else chosen.rows
    if chosen.rows < FEWEST_ROWS:
        parser.error(f"--rows must be at least {FEWEST_ROWS}, not {chosen.rows}")
    chosen.seeds = chosen.seeds or 1
    chosen.out = chosen.out or (SMOKE_OUT if chosen.smoke else OUT)


def main(chosen: argparse.Namespace) -> int:
    """Run, write, judge; the command line is that of the optimiser's benchmark."""
    asked = chosen.methods or [curve.name for curve in METHODS]
    methods = [curve for curve in METHODS if curve.name in asked or curve.slug in asked]
    for curve in methods:
        if not curve.installed:
            print(f"not installed here, and not run: {curve.name}")
    samples = [Sample(path, chosen.rows) for path in chosen.data]
    try:
        check(samples, chosen.space)
    except DefinitionError as mistake:
        raise SystemExit(str(mistake)) from None
    at = [scaled(n, chosen.scale) for n in AT]
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    jobs = jobs_of(samples, methods, seeds, chosen.space, max(at), chosen.out)
    if not chosen.report_only:
        if chosen.fresh:
            shutil.rmtree(chosen.out / "runs", ignore_errors=True)
        started = time.perf_counter()
        run_all([job for job in jobs if job.curve.installed], chosen.jobs, run)
        print(f"runs took {(time.perf_counter() - started) / 60:.1f} minutes")
    report(jobs, at, chosen.out, smoke=chosen.smoke)
    if chosen.publish:
        DOCS.mkdir(parents=True, exist_ok=True)
        for path in (*chosen.out.glob("*.csv"), chosen.out / "report.md"):
            shutil.copy(path, DOCS)
    return 0

"""The paper's figure 2 on credit-card clients: search inside the fence against search and filter.

Run ``python -m benchmarks.credit_fence`` from the root. CST is the default algorithm, UCST the same
without the constraints, its pipelines filtered afterwards; that run is the same for every fence, so
there is one of it for each run seed. What was measured is kept: a run cut short goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Before numpy is imported: the matrices are small, and threads of one job would slow the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import fenceline as fl
from benchmarks.counted import code_of
from benchmarks.credit_bounds import PAPER, SUITED, Bounds
from benchmarks.credit_findings import Found, Measured, fence_table, findings, found_at
from benchmarks.credit_problem import (
    CLIENTS,
    FOLDS,
    LATENCY,
    LOSS,
    ROWS,
    Fence,
    Remembered,
    gap_of,
    load,
    measure_of,
    simplest_us,
)
from benchmarks.fence_plots import plot_fences
from benchmarks.harness import is_done, keep, run_all, write_csv
from fenceline.baselines import UCST

DOCS = Path("docs/figures/constraints")
SEEDS, EVALUATIONS = 4, 40
UNAWARE = "UCST"


@dataclass(frozen=True, slots=True)
class Seed:
    """All searches of one run seed: one unaware of the fences, and one for each of them."""

    seed: int
    evaluations: int
    rows: int
    simplest_us: float
    data: Path
    directory: Path
    until: float = math.inf
    """When to stop, on the system's clock; no part of the settings."""
    bounds: Bounds = SUITED

    @property
    def part(self) -> Path:
        """The CSV of the evaluations, written last."""
        return self.directory / f"seed{self.seed}.csv"

    @property
    def record(self) -> Path:
        """The JSON beside it: settings and outcome."""
        return self.part.with_suffix(".json")

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"seed {self.seed}" + ("" if self.there else ", unfinished")

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on, apart from the machine."""
        return {
            "evaluations": self.evaluations,
            "rows": self.rows,
            "folds": FOLDS,
            "simplest_us": self.simplest_us,
            "fences": [fence.name for fence in self.bounds.fences],
            "ages": list(self.bounds.ages),
            "code": code_of("fenceline"),
        }

    @property
    def done(self) -> bool:
        """Whether there is a result, and it was made with these settings."""
        return is_done(self)

    @property
    def there(self) -> bool:
        """Whether there is a result for these fences, if of other code."""
        if not self.part.exists():
            return False
        settings = json.loads(self.record.read_text())["settings"]
        return bool(settings | {"code": ""} == self.settings | {"code": ""})


def run(job: Seed) -> None:
    """Make the searches of one seed; write them when all are there."""
    job.directory.mkdir(parents=True, exist_ok=True)
    ages = job.bounds.ages
    measure = Remembered(
        measure_of(load(job.data, job.rows, ages), ages),
        job.directory / f"measured{job.seed}.jsonl",
    )
    started = time.perf_counter()
    fences = job.bounds.fences
    searches = {UNAWARE: (fences[0], UCST())} | {f.name: (f, fl.StructuredBO()) for f in fences}
    rows: list[tuple[object, ...]] = []
    for name, (fence, algorithm) in searches.items():
        if time.time() >= job.until:
            return
        result = fl.minimize(
            fence.problem(measure, job.simplest_us, ages),
            evaluations=job.evaluations,
            algorithm=algorithm,
            seed=job.seed,
        )
        if result.ended == "interrupted":  # a search cut short is no search
            raise KeyboardInterrupt
        for n, e in enumerate(result.evaluations, 1):
            values = (repr(e.metrics.get(m.name, math.inf)) for m in (LOSS, LATENCY, gap_of(ages)))
            rows.append((name, n, *values))
    outcome = {"wall_seconds": round(time.perf_counter() - started, 1)}
    keep(job, outcome, ("search", "evaluation", "loss", "latency_us", "gap"), rows)


def read(job: Seed) -> Mapping[str, Measured]:
    """Return the searches of one seed, by name."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    with job.part.open(newline="") as file:
        for row in csv.DictReader(file):
            values = float(row["loss"]), float(row["latency_us"]), float(row["gap"])
            found.setdefault(row["search"], []).append(values)
    return found


def report(out: Path, jobs: Sequence[Seed], bounds: Bounds, publish: bool) -> None:
    """Write, draw and print what is known so far."""
    there = [job for job in jobs if job.there]
    if not there:
        print("No seed is finished yet; give more minutes, and what is measured will be used.")
        return
    yardstick = there[0].simplest_us
    found: dict[str, list[tuple[Fence, Found, Found]]] = {
        name: [
            (
                fence,
                found_at(fence, [read(job)[fence.name] for job in there], yardstick),
                found_at(fence, [read(job)[UNAWARE] for job in there], yardstick),
            )
            for fence in series
        ]
        for name, series in bounds.series.items()
    }
    remarks = []
    if outdated := sum(not job.done for job in there):
        remarks.append(f"Out of date: {outdated} seeds were run with other code.")
    if len(there) < len(jobs):
        remarks.append(f"Unfinished: {len(there)} of {len(jobs)} seeds.")
    size = f"{there[0].evaluations} evaluations, {len(there)} run seeds, {there[0].rows} clients"
    told = "" if bounds.microseconds else f", {yardstick:.2f} us"
    remarks.append(f"{size}; t_p in {bounds.unit}{told}.")
    tables = [fence_table(name, rows) for name, rows in found.items()]
    text = "\n\n".join([*remarks, *findings(found), *(t.markdown() for t in tables)]) + "\n"
    (out / f"{bounds.stem}.md").write_text(text)
    write_csv(
        out / f"{bounds.stem}.csv",
        ("series", "latency", "gap", "search", "seed", "best", "share_feasible"),
        (
            (name, fence.latency, fence.gap, search, job.seed, repr(best), f"{share:.4f}")
            for name, rows in found.items()
            for fence, cst, ucst in rows
            for search, one in (("CST", cst), (UNAWARE, ucst))
            for job, best, share in zip(there, one.best, one.share, strict=True)
        ),
    )
    print("\n" + text)
    figures = plot_fences(out / bounds.stem, found, size, bounds.unit)
    print(f"figures and tables are in {out}")
    if publish:
        DOCS.mkdir(parents=True, exist_ok=True)
        pictures = (path for path in figures if path.suffix == ".png")
        for path in (*pictures, out / f"{bounds.stem}.csv"):
            shutil.copy(path, DOCS)


def yardstick_of(out: Path, data: Path, rows: int) -> float:
    """Return the simplest pipeline's latency, measured once: all seeds share their fences."""
    path = out / "yardstick.json"
    if not path.exists():
        path.write_text(json.dumps({"simplest_us": simplest_us(load(data, rows))}))
    return float(json.loads(path.read_text())["simplest_us"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, draw, judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.credit_fence", description=__doc__)
    parser.add_argument("--data", type=Path, default=CLIENTS, help="where the clients are")
    parser.add_argument("--minutes", type=float, default=math.inf, help="when to stop, about")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many run seeds")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of each search")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many clients")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument(
        "--paper-bounds", action="store_true", help="1 to 20 us, five age groups; another --out"
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help=f"copy the results to {DOCS}")
    parser.add_argument("--out", type=Path, default=Path("out/credit-fence"))
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    bounds = PAPER if chosen.paper_bounds else SUITED
    yardstick = 1.0 if bounds.microseconds else yardstick_of(chosen.out, chosen.data, chosen.rows)
    until = time.time() + 60.0 * chosen.minutes
    jobs = [
        Seed(
            seed,
            chosen.evaluations,
            chosen.rows,
            yardstick,
            chosen.data,
            chosen.out / "runs",
            until,
            bounds,
        )
        for seed in range(chosen.seeds)
    ]
    if not chosen.report_only:
        started = time.perf_counter()
        run_all(jobs, chosen.jobs, run)
        print(f"runs took {(time.perf_counter() - started) / 60:.1f} minutes")
    report(chosen.out, jobs, bounds, chosen.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())

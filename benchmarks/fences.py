"""FencelineClassifier against FLAML at equal wall time, with and without constraints.

Both get the raw training rows of six tables and two cores for as long as `--seconds` says; a quarter
of the rows, stratified, is seen by neither until it measures their picks, with the same code. Where
Fenceline is fenced in, the bounds cut off what FLAML picked on the same split: half its latency, and
nine tenths of its gap between two groups, or one and a half times as much. Every fit has a process of
its own, with a hard limit, and leaves a file, so that a run that was cut short goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.catalogue import DATA
from benchmarks.fences_plan import (
    EXTRA,
    GAP_SHARES,
    METHODS,
    SECONDS,
    SETS,
    TUNING_SEEDS,
    Job,
    bounds_from,
)
from benchmarks.fences_tables import Outcomes, write_report
from benchmarks.pages import publish

OUT = Path("out/fences")
PAGE, FIGURES = Path("docs/benchmarks/fences.md"), Path("docs/figures/fences")
_LATE = 2.0
"""A fit that takes so many times its budget, and a minute more, is ended ..."""
_MINUTE = 60.0


def jobs_of(chosen: argparse.Namespace) -> Iterator[Job]:
    """Yield all jobs, one after the other; fenced ones when their bounds are known."""
    directory = chosen.out / "runs"
    methods = [method for method in (*METHODS, EXTRA) if method in chosen.methods]
    for dataset in SETS:
        if chosen.sets and dataset.name not in chosen.sets:
            continue
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            free = Job(dataset, "flaml", seed, chosen.seconds, chosen.data, directory, {})
            for method in methods:
                bounds = {}
                if method in GAP_SHARES:
                    pick = free.outcome
                    if pick is None or "error" in pick:
                        continue  # there is nothing to cut off
                    bounds = bounds_from(pick, GAP_SHARES[method])
                yield Job(dataset, method, seed, chosen.seconds, chosen.data, directory, bounds)


def run_apart(job: Job) -> None:
    """Run a job in a process of its own, which is ended with all its children if it does not end."""
    started = time.monotonic()
    environment = dict(os.environ)
    if job.method.startswith("flaml"):
        # FLAML's two workers are threads; ours are processes with one thread each.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment.pop(name, None)
    job.directory.mkdir(parents=True, exist_ok=True)
    with job.record.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fences_fit"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        try:
            process.communicate(pickle.dumps(job), timeout=_LATE * job.seconds + _MINUTE)
        except subprocess.TimeoutExpired:
            job.keep({"error": f"still running after {time.monotonic() - started:.0f} s"})
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if job.outcome is None:
        job.keep({"error": f"the process ended with status {process.returncode}"})


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fences", description=__doc__)
    names = [dataset.name for dataset in SETS]
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument("--sets", nargs="+", choices=names, help="some of the tables")
    parser.add_argument("--seeds", type=int, default=1, help="splits of each table")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each fit")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=(*METHODS, EXTRA),
        default=METHODS,
        help=f"some of them; {EXTRA}, a committee of pipelines, only if it is asked for",
    )
    parser.add_argument("--fresh", action="store_true", help="repeat the runs that are there")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help=f"write the tables to {PAGE}")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    chosen.smoke = chosen.seconds != SECONDS or chosen.first_seed >= TUNING_SEEDS
    if chosen.out is None:
        chosen.out = OUT.with_name("fences-smoke") if chosen.smoke else OUT
    if not chosen.seconds > 0 or chosen.seeds < 1:
        parser.error("--seconds and --seeds must be positive")
    if chosen.publish and (chosen.smoke or chosen.sets):
        parser.error(f"publish all six tables at {SECONDS:g} s, on splits below {TUNING_SEEDS}")
    if not chosen.report_only and not chosen.data.is_dir():
        parser.error(f"there is no directory {chosen.data}; say where the tables are with --data")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, judge; the exit status is 1 when a target is missed."""
    chosen = options(arguments)
    if chosen.fresh and not chosen.report_only:
        shutil.rmtree(chosen.out / "runs", ignore_errors=True)
    outcomes: Outcomes = {}
    missing = 0
    for job in jobs_of(chosen):
        if job.outcome is None and not chosen.report_only:
            print(job.label, flush=True)
            run_apart(job)
        outcome = job.outcome
        if outcome is None:
            missing += 1
            continue
        if "error" in outcome:
            print(f"{job.label}: {outcome['error']}", flush=True)
        found = outcome | {"bounds": dict(job.bounds)}
        outcomes.setdefault(job.dataset.name, {}).setdefault(job.method, {})[job.seed] = found
    remarks = [f"Unfinished: {missing} runs are missing."] if missing else []
    if chosen.smoke:
        remarks.append("A trial: the numbers mean nothing.")
    text, met = write_report(chosen.out, outcomes, chosen.seconds, " ".join(remarks))
    print(f"\n{text}\ntables and runs are in {chosen.out}")
    if chosen.publish:
        publish(PAGE, text)
        FIGURES.mkdir(parents=True, exist_ok=True)
        shutil.copy(chosen.out / "runs.csv", FIGURES)
    return int(not met or missing > 0)


if __name__ == "__main__":
    sys.exit(main())

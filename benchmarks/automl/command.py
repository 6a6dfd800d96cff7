"""The command of the comparison at equal wall time: run what is missing, then write the tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.automl.plan import BUDGETS, METHODS, candidates, draw, interpreter, jobs_of
from benchmarks.automl.report import Run, write_report
from benchmarks.catalogue import DATA, Entry
from benchmarks.jobs import run_all
from benchmarks.pages import publish

OUT = Path("out/automl")
PAGE = Path("docs/benchmarks/automl.md")
SEED = 0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.automl", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument("--tables", nargs="+", help="some of the tables by name, or: all")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--budgets", nargs="+", type=int, choices=BUDGETS, default=BUDGETS)
    parser.add_argument(
        "--seed", type=int, default=SEED, help="of the draw, the splits and the fits"
    )
    parser.add_argument("--jobs", type=int, default=2, help="fits at a time, one worker each")
    parser.add_argument(
        "--python", nargs="+", default=[], metavar="tpot=PATH", help="interpreters of rivals"
    )
    parser.add_argument("--prefix", default="", help="a command before every fit, such as nice")
    parser.add_argument("--fresh", action="store_true", help="repeat what these options name")
    parser.add_argument(
        "--allow-crowded", action="store_true", help="count timed fits that had busy neighbours"
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help=f"write the tables to {PAGE}")
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args(arguments)
    if not (chosen.data / "README.md").exists():
        parser.error(f"there is no list of tables in {chosen.data}; name it with --data")
    if chosen.jobs < 1:
        parser.error(f"--jobs must be at least 1. Got {chosen.jobs}.")
    chosen.entries = drawn(chosen, parser)
    chosen.python = dict(pair.split("=", 1) for pair in chosen.python)
    return chosen


def drawn(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Entry]:
    """Return the tables that are asked for."""
    entries = candidates(chosen.data)
    if not chosen.tables:
        return draw(entries, chosen.seed)
    if chosen.tables == ["all"]:
        return entries
    named = {entry.name: entry for entry in entries}
    unknown = [name for name in chosen.tables if name not in named]
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(sorted(named))}")
    return [named[name] for name in chosen.tables]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, judge; the exit status is 1 when a target is missed or a run is missing."""
    chosen = options(arguments)
    methods = [METHODS[name] for name in METHODS if name in chosen.methods]
    absent = [m.title for m in methods if interpreter(m, chosen.python) is None]
    shown = ", ".join(f"{entry.name} ({entry.rows})" for entry in chosen.entries)
    print(f"Seed {chosen.seed}: {len(chosen.entries)} tables (rows): {shown}.", flush=True)
    jobs = jobs_of(
        chosen.entries,
        methods,
        chosen.budgets,
        seed=chosen.seed,
        data=chosen.data,
        out=chosen.out / "runs",
        pythons=chosen.python,
        prefix=chosen.prefix,
    )
    if not chosen.report_only:
        if chosen.fresh:
            for job in jobs:
                job.record.unlink(missing_ok=True)
        run_all(jobs, chosen.jobs, chosen.allow_crowded)
    found = [(job, job.outcome(any_source=chosen.report_only)) for job in jobs]
    runs = [Run.of(job, outcome) for job, outcome in found if outcome is not None]
    remarks = [f"Seed {chosen.seed}."]
    if absent:
        remarks.append(f"Not installed here: {', '.join(absent)}.")
    if missing := len(jobs) - len(runs):
        remarks.append(f"Unfinished: {missing} runs are missing.")
    if crowded := sum(job.crowded for job in jobs):
        remarks.append(f"{crowded} timed runs shared their processor with others.")
    text, met = write_report(chosen.out, chosen.entries, runs, " ".join(remarks))
    print(f"\n{text}\ntables and runs are in {chosen.out}")
    if chosen.publish:
        publish(PAGE, text)
    return int(not met or missing > 0)

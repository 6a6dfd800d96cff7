"""The command of the comparison of decisions: bounds first, then every rival, then the verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalogue import DATA, Entry
from benchmarks.decisions.plan import (
    FENCES,
    METHODS,
    SECONDS,
    candidates,
    draw,
    jobs_of,
    plain_job,
)
from benchmarks.decisions.report import Case, write_report
from benchmarks.jobs import Job, run_all
from benchmarks.pages import publish

OUT = Path("out/decisions")
PAGE = Path("docs/benchmarks/decisions.md")
SEED = 0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument("--tables", nargs="+", help="some of the tables by name, or: all")
    parser.add_argument("--fences", nargs="+", choices=FENCES, default=FENCES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for methods that search")
    parser.add_argument("--seed", type=int, default=SEED, help="of the draw, the splits, the fits")
    parser.add_argument("--jobs", type=int, default=2, help="fits at a time, one worker each")
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
    if chosen.jobs < 1 or chosen.seconds < 1:
        parser.error("--jobs and --seconds must be at least 1")
    entries = candidates(chosen.data)
    named = {entry.name: entry for entry in entries}
    unknown = [name for name in chosen.tables or () if name not in named and name != "all"]
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(sorted(named))}")
    if not chosen.tables:
        chosen.entries = draw(entries, chosen.seed)
    else:
        chosen.entries = (
            entries if chosen.tables == ["all"] else [named[name] for name in chosen.tables]
        )
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, judge; the exit status is 1 when a target is missed or a run is missing."""
    chosen = options(arguments)
    shown = ", ".join(f"{entry.name} ({entry.rows})" for entry in chosen.entries)
    print(f"Seed {chosen.seed}: {len(chosen.entries)} tables (rows): {shown}.", flush=True)
    where = {"data": chosen.data, "out": chosen.out / "runs", "prefix": chosen.prefix}
    plain = {e: plain_job(e, chosen.seed, **where) for e in chosen.entries}
    if not chosen.report_only:
        run_all(list(plain.values()), chosen.jobs)
    jobs: list[tuple[Entry, Job]] = []
    unknown = []
    for entry, job in plain.items():
        found = job.outcome()
        if found is None or "error" in found:
            unknown.append(entry.name)
            continue
        methods = [METHODS[name] for name in METHODS if name in chosen.methods]
        jobs += [
            (entry, one)
            for one in jobs_of(
                entry,
                found,
                methods,
                chosen.fences,
                seconds=chosen.seconds,
                seed=chosen.seed,
                **where,
            )
        ]
    if not chosen.report_only:
        if chosen.fresh:
            for _, job in jobs:
                job.record.unlink(missing_ok=True)
        run_all([job for _, job in jobs], chosen.jobs, chosen.allow_crowded)
    outcomes = [(job, job.outcome(any_source=chosen.report_only)) for _, job in jobs]
    cases = [Case.of(job, outcome) for job, outcome in outcomes if outcome is not None]
    remarks = [f"Seed {chosen.seed}."]
    missing = len(jobs) - len(cases)
    if missing or unknown:
        remarks.append(f"Unfinished: {missing} runs are missing; no bounds: {unknown or 'none'}.")
    if crowded := sum(job.crowded for _, job in jobs):
        remarks.append(f"{crowded} timed runs shared their processor with others.")
    text, met = write_report(chosen.out, cases, " ".join(remarks))
    print(f"\n{text}\ntables and runs are in {chosen.out}")
    if chosen.publish:
        publish(PAGE, text)
    return int(not met or bool(missing) or bool(unknown))

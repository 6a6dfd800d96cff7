"""Constrained search side by side: how good, how soon inside, and how often inside.

Run ``python -m benchmarks.constraints`` from the root, in an environment with the packages of
``requirements-peers.txt``; rivals that are not installed are left out. A cell is a number of
constraints and the share of random pipelines they leave. All cells of one problem seed come before
the next, so that a run that was stopped has the same seeds everywhere. Runs that are there already
are not repeated, and ``--report-only`` reads them at any time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Before numpy is imported: the matrices are small, and threads of one job would slow the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.constraints_plan import (
    CELLS,
    EVALUATIONS,
    FIRST_SEED,
    OURS,
    RIVALS,
    SEEDS,
    Cell,
    plan_of,
)
from benchmarks.constraints_tables import (
    best_known,
    cell_table,
    first_feasible,
    share_feasible,
    target_table,
    targets,
)
from benchmarks.counted import Array, Counted, Trace, read, run
from benchmarks.harness import run_all, write_csv
from benchmarks.optimiser_plan import TUNING_SEEDS, Line, cost, jobs_of, scaled
from benchmarks.optimiser_tables import Results
from benchmarks.plots import Band, Panel, plot_regrets
from benchmarks.verdicts import Runs

DOCS = Path("docs/figures/constraints")
SMOKE_SEEDS, SMOKE_SCALE = 2, 0.1


def collect(jobs: Sequence[Counted]) -> tuple[Results, int]:
    """Read what there is, and count the runs that were made with other code or settings."""
    results: dict[str, dict[str, dict[int, Trace]]] = {}
    outdated = 0
    for job in jobs:
        trace = read(job)
        if trace is not None:
            outdated += job.curve.installed and not job.done
            results.setdefault(job.setting, {}).setdefault(job.curve.name, {})[job.seed] = trace
    return results, outdated


def gap_band(runs: Runs, known: Mapping[int, float], dashed: bool) -> tuple[Array, Band]:
    """Return the quartiles of the gap to the best known value after each evaluation."""
    least = min(len(trace.objectives) for trace in runs.values())
    table = np.array(
        [np.minimum.accumulate(t.objectives[:least]) - known[s] for s, t in runs.items()]
    )
    # Infinite where nothing feasible is known: by order, for means of infinities are none.
    quartiles = np.quantile(table, [0.25, 0.5, 0.75], axis=0, method="higher")
    low, median, high = np.where(np.isfinite(quartiles), np.maximum(quartiles, 1e-4), np.nan)
    return np.arange(1.0, least + 1.0), Band(median, low, high, dashed)


def draw(directory: Path, results: Results, cells: Sequence[Cell]) -> list[Path]:
    """Draw the gaps: one figure per number of constraints, one panel per share."""
    drawn: list[Path] = []
    for k in sorted({cell.constraints for cell in cells}):
        panels = []
        for cell in sorted(cells, key=lambda c: -c.fraction):
            curves = results.get(cell.name, {})
            known = best_known(curves)
            there = [c for c in (OURS, *RIVALS) if c.name in curves]
            if cell.constraints == k and there:
                bands = {c.name: gap_band(curves[c.name], known, c is not OURS) for c in there}
                panels.append(Panel(f"evaluations, {cell.fraction:g} feasible", bands))
        if panels:
            title = f"{k} constraint(s): gap to the best feasible value known, median and quartiles"
            drawn += plot_regrets(directory / f"gap-k{k}", panels, title=title)
    return drawn


def write(directory: Path, results: Results, cells: Sequence[Cell], scale: float) -> str:
    """Write the CSVs; return the tables as text."""
    numbers = [scaled(EVALUATIONS // 2, scale), scaled(EVALUATIONS, scale)]
    found = targets(results, cells, numbers)
    write_csv(
        directory / "runs.csv",
        ("cell", "curve", "seed", "evaluations", "best", "best_known", "first", "share_feasible"),
        (
            (
                cell.name, name, seed, n, repr(float(trace.objectives[:n].min())), repr(known[seed]),
                first_feasible(trace), f"{share_feasible(trace, n):.4f}",
            )
            for cell in cells
            for curves in (results.get(cell.name, {}),)
            for known in (best_known(curves),)
            for name, runs in curves.items()
            for seed, trace in runs.items()
            for n in numbers
        ),
    )  # fmt: skip
    write_csv(
        directory / "targets.csv",
        ("cell", "asked", "measured", "limit", "against", "seeds", "verdict"),
        (
            (t.part, t.asked, f"{t.measured:.6g}", t.limit, t.against, t.problems, t.verdict)
            for t in found
        ),
    )
    tables = [cell_table(c, results[c.name], numbers) for c in cells if c.name in results]
    return "\n\n".join(t.markdown() for t in (target_table(found), *tables))


def report(
    out: Path, jobs: Sequence[Counted], cells: Sequence[Cell], scale: float, publish: bool
) -> None:
    """Write, draw and print what is known so far."""
    results, outdated = collect(jobs)
    made = sum(len(runs) for curves in results.values() for runs in curves.values())
    remarks = []
    if made < len(jobs):
        remarks.append(f"Unfinished: {made} of {len(jobs)} runs.")
    if outdated:
        remarks.append(f"Out of date: {outdated} runs were made with other code or settings.")
    if scale != 1.0:
        remarks.append("A smoke test: the numbers mean nothing.")
    out.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join([*remarks, write(out, results, cells, scale)]) + "\n"
    (out / "report.md").write_text(text)
    print("\n" + text)
    figures = draw(out, results, cells)
    print(f"figures and tables are in {out}")
    if publish:
        DOCS.mkdir(parents=True, exist_ok=True)
        pictures = (path for path in figures if path.suffix == ".png")
        for path in (*pictures, out / "runs.csv", out / "targets.csv"):
            shutil.copy(path, DOCS)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constraints", description=__doc__)
    parser.add_argument("--seeds", type=int, help=f"number of problems, {SEEDS} by default")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--tuning", action="store_true", help="allow the problems 0-19")
    parser.add_argument("--cells", nargs="*", default=[c.name for c in CELLS])
    parser.add_argument("--skip", action="append", default=[], help="leave out a curve, by name")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--smoke", action="store_true", help="a tenth of the size, two problems")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help=f"copy the results to {DOCS}")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    chosen.scale = SMOKE_SCALE if chosen.smoke else 1.0
    chosen.seeds = chosen.seeds or (SMOKE_SEEDS if chosen.smoke else SEEDS)
    name = "constraints" + ("-tuning" if chosen.tuning else "") + ("-smoke" if chosen.smoke else "")
    chosen.out = chosen.out or Path("out") / name
    if chosen.first_seed in TUNING_SEEDS and not chosen.tuning:
        parser.error(f"problems 0-{TUNING_SEEDS[-1]} are for tuning; begin at {FIRST_SEED}")
    if chosen.publish and (chosen.smoke or chosen.tuning):
        parser.error("only the reported problems at full size are worth publishing")
    if unknown := set(chosen.cells) - {c.name for c in CELLS}:
        parser.error(f"there is no cell {sorted(unknown)}; there are {[c.name for c in CELLS]}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, draw, judge."""
    chosen = options(arguments)
    cells = [c for c in CELLS if c.name in chosen.cells]
    whole = [line for line in plan_of(cells) if line.curve.name not in chosen.skip]
    for name in sorted({line.curve.name for line in whole if not line.curve.installed}):
        print(f"not installed here, and not run: {name}")
    plan: list[Line] = [line for line in whole if line.curve.installed]
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    directory = chosen.out / "runs"
    if not chosen.report_only:
        jobs = jobs_of(plan, seeds, chosen.scale, directory)
        jobs.sort(key=lambda job: job.seed)
        total = sum(cost(plan, chosen.seeds, chosen.scale).values()) / chosen.jobs / 60
        print(f"{len(jobs)} runs, about {total:.1f} minutes on idle cores")
        started = time.perf_counter()
        run_all(jobs, chosen.jobs, run)
        print(f"runs took {(time.perf_counter() - started) / 60:.1f} minutes")
    made = jobs_of(whole, seeds, chosen.scale, directory)
    report(chosen.out, made, cells, chosen.scale, chosen.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())

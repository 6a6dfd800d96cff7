"""Fenceline's default against every rival, per evaluation and per second; what its parts bring.

Run ``python -m benchmarks.optimiser`` from the root, in an environment with the packages of
``requirements-peers.txt``; rivals that are not installed are left out. Eight parts: A the
artificial problem, B asynchronous workers, C failing pipelines, D classical functions, E the
ablation, F decoys, G the time of a suggestion under constraints, H ranges on the wrong scale.
With ``--data`` real pipelines are searched instead, and the methods ranked over the tables given.
Runs that are there already are not repeated, and ``--report-only`` reads them at any time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

# Before numpy is imported: the matrices are small, and threads of one job would slow the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks import real_pipelines
from benchmarks.counted import Array, Counted, Trace, read, run
from benchmarks.harness import run_all, write_csv
from benchmarks.optimiser_plan import (
    ABLATED,
    FIRST_SEED,
    OURS,
    PARTS,
    PLAN,
    RIVALS,
    SEEDS,
    TUNING_SEEDS,
    cost,
    jobs_of,
    scaled,
)
from benchmarks.optimiser_tables import (
    AGAINST_PEERS,
    Results,
    Table,
    ablation_table,
    ratio_table,
    regret_table,
    target_table,
    targets,
)
from benchmarks.plots import Band, Panel, plot_regrets
from benchmarks.verdicts import Runs, Target, milliseconds, regret

SMOKE_SEEDS, SMOKE_SCALE = 2, 0.1
DOCS = Path("docs/figures/optimiser")


def collect(jobs: Sequence[Counted]) -> tuple[Results, int]:
    """Read what there is, and count the runs that were made with other code or settings."""
    results: dict[str, dict[str, dict[int, Trace]]] = {}
    outdated = 0
    for job in jobs:
        trace = read(job)
        if trace is not None:
            # What is not installed here cannot be asked for its settings.
            outdated += job.curve.installed and not job.done
            results.setdefault(job.setting, {}).setdefault(job.curve.name, {})[job.seed] = trace
    return results, outdated


def by_evaluation(runs: Runs, dashed: bool = False) -> tuple[Array, Band]:
    """Return the quartiles of the regret after each evaluation that all the runs have made."""
    least = min(len(trace.objectives) for trace in runs.values())
    table = np.array([trace.regrets[:least] for trace in runs.values()])
    return np.arange(1.0, least + 1.0), _band(table, dashed)


def by_time(runs: Runs, dashed: bool = False) -> tuple[Array, Band]:
    """Return the quartiles of the regret over the CPU seconds that the optimiser has taken."""
    spent = [np.cumsum(trace.cpu_seconds) for trace in runs.values()]
    first = max(1e-5, max(float(s[0]) for s in spent))
    last = max(first * 1.001, float(np.median([s[-1] for s in spent])))
    times = np.geomspace(first, last, 200)
    table = np.array(
        [
            trace.regrets[np.maximum(np.searchsorted(s, times, side="right") - 1, 0)]
            for trace, s in zip(runs.values(), spent, strict=True)
        ]
    )
    return times, _band(table, dashed)


def _band(table: Array, dashed: bool) -> Band:
    table = np.where(np.isfinite(table), table, np.nan)
    low, median, high = np.quantile(table, [0.25, 0.5, 0.75], axis=0)
    return Band(median, low, high, dashed)


def draw(directory: Path, results: Results) -> list[Path]:
    """Draw regret against evaluations and optimiser time, and the ablation."""
    plain = results.get("artificial", {})
    there = [c for c in (OURS, *RIVALS) if c.name in plain]
    paths: list[Path] = []
    if there:
        panels = [
            Panel(label, {c.name: over(plain[c.name], dashed=c is not OURS) for c in there})
            for label, over in (
                ("evaluations", by_evaluation),
                ("CPU seconds of the optimiser", by_time),
            )
        ]
        most = max(len(plain[c.name]) for c in there)
        title = f"Artificial problem: median and quartiles over {most} seeds"
        paths += plot_regrets(directory / "regret", panels, title=title)
    parts = [c for c in (OURS, *ABLATED) if c.name in plain]
    if len(parts) > 1:
        curves = {}
        shortest = min(len(t.objectives) for c in parts for t in plain[c.name].values())
        for c in parts:
            x, band = by_evaluation(plain[c.name], dashed=c is not OURS)
            cut = slice(0, shortest)
            curves["full default" if c is OURS else c.name] = (
                x[cut],
                Band(band.median[cut], band.low[cut], band.high[cut], band.dashed),
            )
        title = "What each part of the default brings"
        paths += plot_regrets(directory / "ablation", [Panel("evaluations", curves)], title=title)
    return paths


def write_tables(
    directory: Path,
    results: Results,
    found: Sequence[Target],
    tables: Sequence[Table],
    remark: str,
    scale: float,
) -> str:
    """Write the CSVs and the Markdown; return the latter."""
    numbers = [scaled(n, scale) for n in AGAINST_PEERS]
    write_csv(
        directory / "regret.csv",
        ("setting", "curve", "evaluations", "seeds", "median", "low_quartile", "high_quartile"),
        (
            (setting, name, n, s.problems, f"{s.median:.6g}", f"{s.low:.6g}", f"{s.high:.6g}")
            for setting, curves in results.items()
            for name, runs in curves.items()
            for n in numbers
            for s in (regret(runs, n),)
            if s.problems
        ),
    )
    write_csv(
        directory / "time.csv",
        ("setting", "curve", "n", "seeds", "mean_ms", "median_ms"),
        (
            (setting, name, n, mean.problems, f"{mean.median:.4g}", f"{median.median:.4g}")
            for setting, curves in results.items()
            for name, runs in curves.items()
            for n in (*numbers, scaled(1000, scale), scaled(2000, scale))
            for mean, median in (milliseconds(runs, n),)
            if mean.problems
        ),
    )
    write_csv(
        directory / "runs.csv",
        ("setting", "curve", "seed", "evaluations", "regret"),
        (
            (setting, name, seed, n, f"{trace.regret(n):.8g}")
            for setting, curves in results.items()
            for name, runs in curves.items()
            for seed, trace in runs.items()
            for n in numbers
            if n <= len(trace.objectives)
        ),
    )
    write_csv(
        directory / "targets.csv",
        ("part", "asked", "measured", "limit", "against", "seeds", "verdict"),
        (
            (t.part, t.asked, f"{t.measured:.6g}", t.limit, t.against, t.problems, t.verdict)
            for t in found
        ),
    )
    text = "\n\n".join([*([remark] if remark else []), *(t.markdown() for t in tables)]) + "\n"
    (directory / "report.md").write_text(text)
    return text


def report(out: Path, jobs: Sequence[Counted], scale: float, publish: bool) -> None:
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
    found = targets(results, scale)
    tables = [
        target_table(found),
        regret_table(results, scale),
        ratio_table(results, scale),
        ablation_table(results, scale),
    ]
    out.mkdir(parents=True, exist_ok=True)
    print("\n" + write_tables(out, results, found, tables, " ".join(remarks), scale))
    figures = draw(out, results)
    print(f"figures and tables are in {out}")
    if publish:
        DOCS.mkdir(parents=True, exist_ok=True)
        pictures = (path for path in figures if path.suffix == ".png")
        for path in (*pictures, out / "runs.csv", out / "targets.csv"):
            shutil.copy(path, DOCS)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimiser", description=__doc__)
    parser.add_argument("--seeds", type=int, help=f"number of problems, {SEEDS} by default")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--parts", default=PARTS, help="some of A to H; all by default")
    parser.add_argument("--skip", action="append", default=[], help="leave out a curve, by name")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--smoke", action="store_true", help="a tenth of the size, two problems")
    parser.add_argument("--fresh", action="store_true", help="repeat the runs that are there")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help="copy the results to docs/figures")
    parser.add_argument("--out", type=Path)
    real_pipelines.add_options(parser)
    chosen = parser.parse_args(arguments)
    chosen.scale = SMOKE_SCALE if chosen.smoke else 1.0
    if chosen.data:
        real_pipelines.settle(parser, chosen)
    elif chosen.rows or chosen.methods:
        parser.error("--rows and --methods go with --data only")
    chosen.seeds = chosen.seeds or (SMOKE_SEEDS if chosen.smoke else SEEDS)
    chosen.out = chosen.out or Path("out/optimiser-smoke" if chosen.smoke else "out/optimiser")
    if chosen.first_seed in TUNING_SEEDS:
        parser.error(f"problems 0-{TUNING_SEEDS[-1]} are for tuning; begin at {FIRST_SEED}")
    if chosen.publish and chosen.smoke:
        parser.error("a smoke test is not worth publishing")
    known = {line.curve.name for line in PLAN}
    if unknown := set(chosen.skip) - known:
        parser.error(f"there is no curve {sorted(unknown)}; there are {sorted(known)}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, draw, judge."""
    chosen = options(arguments)
    if chosen.data:
        return real_pipelines.main(chosen)
    for name in sorted({line.curve.name for line in PLAN if not line.curve.installed}):
        print(f"not installed here, and not run: {name}")
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    directory = chosen.out / "runs"
    if not chosen.report_only:
        plan = [
            line
            for line in PLAN
            if line.part in chosen.parts.upper()
            and line.curve.name not in chosen.skip
            and line.curve.installed
        ]
        if chosen.fresh:
            shutil.rmtree(directory, ignore_errors=True)
        jobs = jobs_of(plan, seeds, chosen.scale, directory)
        seconds = cost(plan, chosen.seeds, chosen.scale)
        shares = ", ".join(f"{part} {s / chosen.jobs / 60:.1f}" for part, s in seconds.items())
        total = sum(seconds.values()) / chosen.jobs / 60
        print(f"{len(jobs)} runs, about {total:.1f} minutes on idle cores ({shares})")
        started = time.perf_counter()
        run_all(jobs, chosen.jobs, run)
        print(f"runs took {(time.perf_counter() - started) / 60:.1f} minutes")
    # Whatever was run now, the report shows all there is: parts are compared with one another.
    report(chosen.out, jobs_of(PLAN, seeds, chosen.scale, directory), chosen.scale, chosen.publish)
    return 0


if __name__ == "__main__":
    sys.exit(main())

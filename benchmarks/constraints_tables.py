"""What the constraints benchmark measures, and whether it is what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.constraints_plan import OURS, RIVALS, TPE, UNAWARE, Cell
from benchmarks.counted import Trace
from benchmarks.optimiser_tables import Results, Table
from benchmarks.verdicts import CLOSE, Runs, Summary, Target, quotient, summary

HALF_OF_RIVALS, TIMES_UNAWARE = 0.5, 5.0
BELOW = np.nextafter(1.0, 0.0)
"""As a limit: smaller, and not just as large."""
TIGHT = (0.1, 0.02)


def best(trace: Trace, n: int) -> float:
    """Return the best feasible value after n evaluations; NaN if there were fewer."""
    return float(trace.objectives[:n].min()) if n <= len(trace.objectives) else np.nan


def first_feasible(trace: Trace) -> float:
    """Return the number of the first feasible evaluation; infinite if there is none."""
    inside = np.flatnonzero(np.isfinite(trace.objectives))
    return float(inside[0]) + 1.0 if len(inside) else np.inf


def share_feasible(trace: Trace, n: int) -> float:
    """Return the share of feasible ones among the evaluations after the first; 0 if there is none."""
    after = trace.objectives[:n][int(min(first_feasible(trace), n)) :]
    return float(np.isfinite(after).mean()) if len(after) else 0.0


def best_known(curves: Mapping[str, Runs]) -> dict[int, float]:
    """Return, for each seed, the best feasible value that any run of any method has found."""
    known: dict[int, float] = {}
    for runs in curves.values():
        for seed, trace in runs.items():
            known[seed] = min(known.get(seed, np.inf), float(trace.objectives.min()))
    return known


def gaps(runs: Runs, known: Mapping[int, float], n: int) -> dict[int, float]:
    """Return, for each seed, how far a run is above the best known value after n evaluations."""
    found = {seed: best(trace, n) - known[seed] for seed, trace in runs.items()}
    # Nothing feasible by anybody: nobody is ahead.
    return {s: np.inf if np.isnan(g) and np.isinf(known[s]) else g for s, g in found.items()}


def gap_ratio(ours: Runs, theirs: Runs, known: Mapping[int, float], n: int) -> Summary:
    """Return our median gap over theirs on the seeds that both have; `low` is ours, `high` theirs."""
    a, b = gaps(ours, known, n), gaps(theirs, known, n)
    seeds = [s for s in a if s in b and not np.isnan(a[s]) and not np.isnan(b[s])]
    if not seeds:
        return Summary(np.nan, np.nan, np.nan, 0)
    mine = summary([a[s] for s in seeds]).median
    other = summary([b[s] for s in seeds]).median
    floor = CLOSE * (1.0 + float(np.median([abs(known[s]) for s in seeds])))
    return Summary(quotient(mine, other, floor), mine, other, len(seeds))


def targets(results: Results, cells: Sequence[Cell], numbers: Sequence[int]) -> list[Target]:
    """Set everything that is asked against what was measured."""
    return [t for cell in cells for t in _of_cell(cell, results.get(cell.name, {}), numbers)]


def _of_cell(cell: Cell, curves: Mapping[str, Runs], numbers: Sequence[int]) -> Iterator[Target]:
    ours = curves.get(OURS.name, {})
    known = best_known(curves)
    rivals = {c.name: curves[c.name] for c in RIVALS if c.name in curves}
    limits = (1.0, HALF_OF_RIVALS) if cell.fraction in TIGHT else (1.0,)
    for n in numbers:
        ratios = {name: gap_ratio(ours, runs, known, n) for name, runs in rivals.items()}
        ratios = {name: r for name, r in ratios.items() if r.problems}
        hardest = max(ratios, key=lambda name: ratios[name].median, default="nobody")
        worst = ratios.get(hardest, Summary(np.nan, np.nan, np.nan, 0))
        asked = f"gap at {n} over the best rival's"
        for limit in limits:
            yield Target(cell.name, asked, limit, worst.median, hardest, worst.problems)
    tpe, unaware = curves.get(TPE.name, {}), curves.get(UNAWARE.name, {})
    if cell.fraction == min(TIGHT):
        asked = "evaluations to the first feasible over theirs"
        yield _ratio(cell, asked, HALF_OF_RIVALS, ours, tpe, TPE.name, None)
    # The other way round, so that small is good here too.
    asked = "their share of feasible evaluations over ours"
    yield _ratio(cell, asked, BELOW, ours, tpe, TPE.name, numbers[-1])
    if cell.fraction == max(TIGHT):
        limit = 1.0 / TIMES_UNAWARE
        yield _ratio(cell, asked, limit, ours, unaware, UNAWARE.name, numbers[-1])


def _ratio(
    cell: Cell, asked: str, limit: float, ours: Runs, theirs: Runs, name: str, n: int | None
) -> Target:
    """Compare evaluations to the first feasible (no n), or shares of feasible ones."""
    seeds = [s for s in ours if s in theirs]
    if not seeds:
        return Target(cell.name, asked, limit, np.nan, name, 0)
    if n is None:
        mine = summary([first_feasible(ours[s]) for s in seeds]).median
        other = summary([first_feasible(theirs[s]) for s in seeds]).median
        return Target(cell.name, asked, limit, quotient(mine, other), name, len(seeds))
    mine = summary([share_feasible(ours[s], n) for s in seeds]).median
    other = summary([share_feasible(theirs[s], n) for s in seeds]).median
    return Target(cell.name, asked, limit, quotient(other, mine), name, len(seeds))


def cell_table(cell: Cell, curves: Mapping[str, Runs], numbers: Sequence[int]) -> Table:
    """Show the medians of all methods in one cell."""
    known = best_known(curves)
    rows = []
    for curve in (OURS, *RIVALS):
        runs = curves.get(curve.name, {})
        if not runs:
            continue
        values = [summary([best(t, n) for t in runs.values()]) for n in numbers]
        distances = [summary(list(gaps(runs, known, n).values())) for n in numbers]
        first = summary([first_feasible(t) for t in runs.values()])
        share = summary([share_feasible(t, numbers[-1]) for t in runs.values()])
        rows.append(
            [
                curve.name,
                *(_shown(v) for v in values),
                *(_shown(d) for d in distances),
                f"{first.median:g}",
                f"{share.median:.2f}",
                str(len(runs)),
            ]
        )
    header = [
        "method",
        *(f"best at {n}" for n in numbers),
        *(f"gap at {n}" for n in numbers),
        "first feasible",
        "share feasible",
        "seeds",
    ]
    caption = (
        f"{cell.constraints} constraint(s), {cell.fraction:g} of random pipelines feasible, medians"
    )
    return Table(cell.name, caption, header, rows)


def _shown(found: Summary) -> str:
    return f"{found.median:.3g}" if found.problems else "-"


def target_table(found: Sequence[Target]) -> Table:
    """Show what was asked and what was measured."""
    rows = [
        [
            t.part,
            t.asked,
            f"{t.limit:g}",
            f"{t.measured:.3g}",
            t.against,
            str(t.problems),
            t.verdict,
        ]
        for t in found
    ]
    header = ["cell", "asked", "at most", "measured", "against", "seeds", "verdict"]
    caption = "Targets, computed from the runs; at each number against the rivals that got so far"
    return Table("targets", caption, header, rows)

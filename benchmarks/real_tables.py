"""The tables of the comparison on real pipelines: losses, ranks, and who has the best mean rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from benchmarks.harness import write_csv
from benchmarks.optimiser_plan import OURS
from benchmarks.optimiser_tables import NOT_RUN, Table
from benchmarks.verdicts import Target


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One search, evaluation by evaluation."""

    losses: NDArray[np.float64]
    """Infinite where a pipeline failed."""
    measure_seconds: float
    suggest_seconds: float
    """The optimiser's own, of the processor."""

    def best(self, n: int) -> float:
        """Return the smallest loss of the first n evaluations; a search that ended early keeps its own."""
        return float(self.losses[:n].min(initial=math.inf))


Outcomes: TypeAlias = dict[str, dict[str, dict[int, Run]]]
"""By table, method and seed."""
Ranks: TypeAlias = Mapping[str, Mapping[str, float]]
"""By table and method, each a mean over the seeds."""


def complete(outcomes: Outcomes, seeds: int) -> Outcomes:
    """Return the tables on which every method has all its runs: ranks among fewer are others."""
    methods = {name for found in outcomes.values() for name in found}
    return {
        name: found
        for name, found in outcomes.items()
        if set(found) == methods and all(len(runs) == seeds for runs in found.values())
    }


def ranks(outcomes: Outcomes, n: int) -> Ranks:
    """Rank the methods on each table by their best loss after n evaluations; ties share the mean."""
    ranked = {}
    for name, found in outcomes.items():
        seeds = sorted(next(iter(found.values())))
        losses = np.array([[runs[seed].best(n) for seed in seeds] for runs in found.values()])
        means = rankdata(losses, method="average", axis=0).mean(axis=1)
        ranked[name] = dict(zip(found, means.tolist(), strict=True))
    return ranked


def mean_ranks(ranked: Ranks) -> dict[str, float]:
    """Return the mean rank of each method over the tables, best first."""
    methods = next(iter(ranked.values()), {})
    means = {m: fmean(of_table[m] for of_table in ranked.values()) for m in methods}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def verdict(means: Mapping[str, float], n: int, tables: int) -> Target:
    """Judge whether no rival has a better mean rank than Fenceline."""
    rivals = {name: rank for name, rank in means.items() if name != OURS.name}
    if OURS.name not in means or not rivals:
        return Target("real", f"best mean rank at {n}", math.nan, math.nan, "nobody", tables)
    best = min(rivals, key=rivals.__getitem__)
    return Target("real", f"best mean rank at {n}", rivals[best], means[OURS.name], best, tables)


def critical_difference(methods: int, tables: int) -> float:
    """Return Nemenyi's: mean ranks that are closer show no difference at the 5 % level."""
    quantile = studentized_range.ppf(0.95, methods, np.inf) / math.sqrt(2)
    return float(quantile * math.sqrt(methods * (methods + 1) / (6 * tables)))


def write_report(
    directory: Path, outcomes: Outcomes, seeds: int, at: Sequence[int], remark: str
) -> str:
    """Write the CSVs and the Markdown; return the latter."""
    directory.mkdir(parents=True, exist_ok=True)
    whole = complete(outcomes, seeds)
    ranked = {n: ranks(whole, n) for n in at}
    means = {n: mean_ranks(ranked[n]) for n in at}
    verdicts = [verdict(means[n], n, len(whole)) for n in at]
    _write_csvs(directory, outcomes, ranked, verdicts)
    tables = [_verdict_table(verdicts), _rank_table(whole, means)]
    tables += [_loss_table(outcomes, ranked[n], n) for n in at]
    notes = [remark] if remark else []
    methods = len(means[at[0]])
    if methods > 1:
        notes.append(
            f"Mean ranks of {methods} methods on {len(whole)} tables that differ by less than "
            f"{critical_difference(methods, len(whole)):.2f} (Nemenyi, 5 %) show no difference."
        )
    text = "\n\n".join([*notes, *(table.markdown() for table in tables)]) + "\n"
    (directory / "report.md").write_text(text)
    return text


def _write_csvs(
    directory: Path,
    outcomes: Outcomes,
    ranked: Mapping[int, Ranks],
    verdicts: Sequence[Target],
) -> None:
    write_csv(
        directory / "runs.csv",
        ("set", "method", "seed", "evaluations", "loss", "failed", "ended_at"),
        (
            (
                name,
                method,
                seed,
                n,
                f"{run.best(n):.8g}",
                int(np.isinf(run.losses[:n]).sum()),
                len(run.losses),
            )
            for name, found in outcomes.items()
            for method, runs in found.items()
            for seed, run in runs.items()
            for n in ranked
        ),
    )
    write_csv(
        directory / "ranks.csv",
        ("set", "method", "evaluations", "rank"),
        (
            (name, method, n, f"{rank:.6g}")
            for n, tables in ranked.items()
            for name, found in tables.items()
            for method, rank in found.items()
        ),
    )
    write_csv(
        directory / "targets.csv",
        ("asked", "mean_rank", "best_rival_mean_rank", "best_rival", "sets", "verdict"),
        (
            (t.asked, f"{t.measured:.6g}", f"{t.limit:.6g}", t.against, t.problems, t.verdict)
            for t in verdicts
        ),
    )


def _verdict_table(verdicts: Sequence[Target]) -> Table:
    rows = [
        [
            f"Fenceline has the {t.asked} evaluations",
            f"{t.measured:.2f}",
            f"{t.against}: {t.limit:.2f}",
            str(t.problems),
            t.verdict,
        ]
        for t in verdicts
    ]
    header = ["target", "mean rank", "best rival", "sets", "verdict"]
    return Table("targets", "Ranks are taken on each table, 1 is best, ties share.", header, rows)


def _rank_table(whole: Outcomes, means: Mapping[int, Mapping[str, float]]) -> Table:
    rows = []
    # In the order of the last: what counts is where a search ends.
    for method in list(means.values())[-1]:
        runs = [run for found in whole.values() for run in found[method].values()]
        failed = fmean(float(np.isinf(run.losses).mean()) for run in runs)
        seconds = [fmean(r.suggest_seconds for r in runs), fmean(r.measure_seconds for r in runs)]
        cells = [f"{of_method[method]:.2f}" for of_method in means.values()]
        rows.append([method, *cells, f"{failed:.0%}", *(f"{s:.1f}" for s in seconds)])
    header = ["method", *(f"mean rank at {n}" for n in means)]
    header += ["failed", "CPU s of the optimiser", "s of its pipelines"]
    caption = "Means over the tables that every method has finished; seconds are those of one run."
    return Table("ranks", caption, header, rows)


def _loss_table(outcomes: Outcomes, ranked: Ranks, n: int) -> Table:
    methods = list(dict.fromkeys(m for found in outcomes.values() for m in found))
    rows = []
    for name, found in outcomes.items():
        cells = []
        for method in methods:
            runs = found.get(method, {}).values()
            cell = f"{median(r.best(n) for r in runs):.4f}" if runs else NOT_RUN
            if name in ranked:
                cell += f" ({ranked[name][method]:g})"
            cells.append(cell)
        rows.append([name, *cells])
    caption = f"The best 1 - AUROC after {n} evaluations, and its rank; medians over seeds."
    return Table(f"losses at {n}", caption, ["set", *methods], rows)

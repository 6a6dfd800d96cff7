"""The tables of the comparison at equal wall time, and whether its targets are met."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.automl.plan import BUDGETS, METHODS
from benchmarks.automl.scores import NAMES, of_dummy, paired
from benchmarks.automl.verdicts import floor_verdicts, rival_verdicts
from benchmarks.catalogue import Entry
from benchmarks.jobs import Job
from benchmarks.pages import markdown, verdict_table
from benchmarks.tables import write_csv


@dataclass(frozen=True, eq=False)
class Run:
    """One fit and what it predicted.

    Parameters
    ----------
    score : float
        Of the rows kept; more is better. A fit that failed has the score of a constant.
    """

    table: str
    method: str
    budget: int
    score: float
    outcome: Mapping[str, Any]
    truth: NDArray[Any] | None
    predicted: NDArray[Any] | None

    @classmethod
    def of(cls, job: Job, outcome: Mapping[str, Any]) -> Run:
        """Read what a job left."""
        settings = job.settings
        failed = "error" in outcome
        arrays = {} if failed else job.arrays()
        return cls(
            settings["table"].rpartition("/")[2],
            settings["method"],
            settings["seconds"],
            math.nan if failed else outcome["score"],
            outcome,
            arrays.get("truth"),
            arrays.get("predicted"),
        )

    @property
    def seconds(self) -> float:
        """Of the clock on the wall."""
        return float(self.outcome.get("wall_seconds", math.nan))


@dataclass(frozen=True, eq=False)
class Results:
    """All runs by table, method and budget; failures count as a constant."""

    entries: Sequence[Entry]
    runs: Mapping[tuple[str, str, int], Run]

    @classmethod
    def of(cls, entries: Sequence[Entry], runs: Sequence[Run]) -> Results:
        """Arrange runs."""
        return cls(entries, {(run.table, run.method, run.budget): run for run in runs})

    def get(self, entry: Entry, method: str, budget: int) -> Run | None:
        """Return a run; methods without a budget have the same for all."""
        return self.runs.get((entry.name, method, budget)) or self.runs.get((entry.name, method, 0))

    def dummy(self, entry: Entry) -> float:
        """Return the score of a constant on the rows kept."""
        for (table, _, _), run in self.runs.items():
            if table == entry.name and run.truth is not None:
                return of_dummy(entry.task, run.truth)
        return math.nan

    def score(self, entry: Entry, method: str, budget: int) -> float | None:
        """Return a score, a constant's for a failure, None for what has not been run."""
        run = self.get(entry, method, budget)
        if run is None:
            return None
        return self.dummy(entry) if math.isnan(run.score) else run.score

    def normalised(self, method: str, budget: int) -> float:
        """Return the mean over tables, 0 a constant and 1 the best of the whole run; NaN if one is missing."""
        found = []
        for entry in self.entries:
            value, low = self.score(entry, method, budget), self.dummy(entry)
            if value is None:
                return math.nan
            # What did worse than a constant counts as one: a single log loss must not decide.
            found.append(max(value - low, 0.0) / max(self.best(entry) - low, 1e-12))
        return fmean(found) if found else math.nan

    def best(self, entry: Entry) -> float:
        """Return the best score on a table, of anybody with any budget."""
        scores = [r.score for (t, _, _), r in self.runs.items() if t == entry.name]
        return max((s for s in scores if not math.isnan(s)), default=math.nan)

    def ranks(self, budget: int) -> dict[str, float]:
        """Return mean ranks among the searches for a single model, on tables that all have finished."""
        names = [
            m.name
            for m in METHODS.values()
            if m.search and any(self.score(e, m.name, budget) is not None for e in self.entries)
        ]
        rows = [[self.score(e, name, budget) for name in names] for e in self.entries]
        whole = [row for row in rows if None not in row]
        if not whole or not names:
            return {}
        ranked = rankdata(-np.array(whole, dtype=float), axis=1)
        return dict(zip(names, ranked.mean(axis=0).tolist(), strict=True))

    def difference(
        self, entry: Entry, budget: int, one: str, other: str
    ) -> tuple[float, float] | None:
        """Return the paired difference of two methods and its standard error; None if one has not run."""
        first, second = self.get(entry, one, budget), self.get(entry, other, budget)
        if first is None or second is None:
            return None
        if first.predicted is None or second.predicted is None or first.truth is None:
            scores = self.score(entry, one, budget), self.score(entry, other, budget)
            return float(scores[0]) - float(scores[1]), 0.0  # type: ignore[arg-type]
        if second.truth is None or not np.array_equal(first.truth, second.truth):
            raise ValueError(
                f"{one} and {other} kept other rows of {entry.name}; run both again with --fresh."
            )
        return paired(entry.task, first.truth, first.predicted, second.predicted)

    def reached(self, entry: Entry, method: str, target: float) -> float:
        """Return the seconds of the smallest budget whose answer is as good as a target; infinite if none is."""
        for budget in BUDGETS:
            value, run = self.score(entry, method, budget), self.get(entry, method, budget)
            if value is not None and run is not None and value >= target:
                return run.seconds
        return math.inf


def write_report(
    directory: Path, entries: Sequence[Entry], runs: Sequence[Run], remark: str
) -> tuple[str, bool]:
    """Write the CSV and the Markdown; return the latter, and whether all targets are met."""
    directory.mkdir(parents=True, exist_ok=True)
    columns = ("score", "wall_seconds", "cpu_seconds", "models", "pressure", "version", "pick")
    write_csv(
        directory / "runs.csv",
        ("table", "method", "budget", *columns, "error"),
        [
            (r.table, r.method, r.budget, *(r.outcome.get(c, "") for c in (*columns, "error")))
            for r in runs
        ],
    )
    results = Results.of(entries, runs)
    verdicts = [*floor_verdicts(results), *rival_verdicts(results)]
    parts = [remark, _not_run(results), verdict_table(verdicts), _method_table(results)]
    parts += [
        _floor_table(results),
        *(_score_table(results, b) for b in BUDGETS if _ran(results, b)),
    ]
    failures = [f"{r.table}, {r.method}, {r.budget} s: {r.outcome['error']}" for r in runs if math.isnan(r.score)]  # fmt: skip
    if failures:
        parts.append("Failures, which count as a constant:\n\n- " + "\n- ".join(failures))
    text = "\n\n".join(part for part in parts if part) + "\n"
    (directory / "report.md").write_text(text)
    return text, all(verdict.met for verdict in verdicts)


def _present(results: Results) -> list[str]:
    return [name for name in METHODS if any(method == name for _, method, _ in results.runs)]


def _ran(results: Results, budget: int) -> list[str]:
    """Return the methods with a budget that ran with this one on some table."""
    run = {method for _, method, seconds in results.runs if seconds == budget}
    return [name for name in METHODS if METHODS[name].budgets and name in run]


def _not_run(results: Results) -> str:
    """Say what is missing in the tables, or nothing."""
    missing = []
    for budget in BUDGETS:
        due = [name for name in METHODS if budget in METHODS[name].budgets]
        absent = [METHODS[name].title for name in due if name not in _ran(results, budget)]
        if absent:
            missing.append(f"{', '.join(absent)} at {budget} s")
    return f"Not run: {'; '.join(missing)}." if missing else ""


def _method_table(results: Results) -> str:
    header = ["method", *(f"normalised, {b} s" for b in BUDGETS)]
    header += [*(f"mean rank, {b} s" for b in BUDGETS), "median seconds at 60"]
    ranks = {budget: results.ranks(budget) for budget in BUDGETS}
    rows = []
    for name in _present(results):
        values = [results.normalised(name, budget) for budget in BUDGETS]
        found = [r.seconds for e in results.entries if (r := results.get(e, name, BUDGETS[-1]))]
        rows.append(
            [
                METHODS[name].title,
                *("" if math.isnan(value) else f"{value:.4f}" for value in values),
                *(f"{ranks[b][name]:.2f}" if name in ranks[b] else "" for b in BUDGETS),
                f"{median(found):.1f}" if found else "",
            ]
        )
    note = (
        "Mean score over all tables, 0 a constant's and 1 the best of anybody's; mean rank among the "
        "searches for a single model."
    )
    return f"{note}\n\n{markdown(header, rows)}"


def _floor_table(results: Results) -> str:
    header = ["table", "rows", "score", *(f"difference, {b} s" for b in BUDGETS)]
    rows = []
    for entry in results.entries:
        cells = []
        for budget in BUDGETS:
            found = results.difference(entry, budget, "fenceline", "hgb")
            cells.append("" if found is None else f"{found[0]:+.4f} ± {2 * found[1]:.4f}")
        rows.append([entry.name, str(entry.rows), NAMES[entry.task], *cells])
    note = "The floor: Fenceline minus HistGradientBoosting, with two standard errors of the paired difference."
    return f"{note}\n\n{markdown(header, rows)}"


def _score_table(results: Results, budget: int) -> str:
    names = [n for n in _present(results) if budget in (METHODS[n].budgets or (budget,))]
    rows = []
    for entry in results.entries:
        scores = [results.score(entry, name, budget) for name in names]
        cells = ["" if value is None else f"{value:.4f}" for value in scores]
        rows.append([entry.name, NAMES[entry.task], *cells])
    header = ["table", "score", *(METHODS[name].title for name in names)]
    return f"Scores at {budget} s:\n\n{markdown(header, rows)}"

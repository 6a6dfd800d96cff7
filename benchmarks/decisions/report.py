"""The tables of the comparison of decisions, and whether its targets are met."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.decisions.fence import CONFIDENT, Bound, Flags, Reading, keeps
from benchmarks.decisions.plan import METHODS
from benchmarks.decisions.verdicts import behind_of, compared, verdicts_of
from benchmarks.jobs import Job
from benchmarks.pages import markdown, verdict_table
from benchmarks.tables import write_csv


@dataclass(frozen=True, eq=False)
class Case:
    """One method inside one fence on one table.

    Parameters
    ----------
    chosen : array of bool or None
        Its decisions on the rows that judge; None without an answer.
    readings : mapping of str to Reading
        What those rows say about the bounds.
    """

    table: str
    fence: str
    method: str
    objective: str
    bounds: tuple[Bound, ...]
    outcome: Mapping[str, Any]
    readings: Mapping[str, Reading]
    truth: Flags | None
    chosen: Flags | None

    @classmethod
    def of(cls, job: Job, outcome: Mapping[str, Any]) -> Case:
        """Read what a job left."""
        settings = job.settings
        arrays = job.arrays() if "readings" in outcome else {}
        return cls(
            settings["table"].rpartition("/")[2],
            settings["fence"],
            settings["method"],
            settings["objective"],
            tuple(Bound(kind, limit) for kind, limit in settings["bounds"].items()),
            outcome,
            {kind: Reading(*found) for kind, found in outcome.get("readings", {}).items()},
            arrays.get("truth"),
            arrays.get("chosen"),
        )

    @property
    def answered(self) -> bool:
        """Whether there is something to judge."""
        return self.chosen is not None

    @property
    def certified(self) -> bool:
        """Whether it says that the fence is kept; who certifies by hand reads the clock, too."""
        slow = any(
            bound.kind == "latency" and bound.excess(self.readings["latency"]) > 0
            for bound in self.bounds
            if not METHODS[self.method].ours and self.answered
        )
        return self.outcome.get("certificate") == "certified" and not slow

    @property
    def inside(self) -> bool:
        """Whether the rows that judge find every bound kept."""
        return self.answered and keeps(self.bounds, self.readings)

    @property
    def broken(self) -> bool:
        """Whether they find a bound broken by more than their own error at 95 %."""
        return self.answered and not keeps(self.bounds, self.readings, -CONFIDENT)

    @property
    def score(self) -> float:
        """The objective on the rows that judge."""
        return float(self.outcome.get("score", math.nan))


def write_report(directory: Path, cases: Sequence[Case], remark: str) -> tuple[str, bool]:
    """Write the CSV and the Markdown; return the latter, and whether all targets are met."""
    directory.mkdir(parents=True, exist_ok=True)
    _write_runs(directory / "runs.csv", cases)
    verdicts = verdicts_of(cases)
    behind = behind_of(cases, certified=True)
    named = f" ({', '.join('/'.join(place) for place in behind)})" if behind else ""
    told = f"Cases behind an answer that is inside the fence *and* certified: {len(behind)}{named}."
    parts = [remark, verdict_table(verdicts), told, _method_table(cases)]
    fences = dict.fromkeys(case.fence for case in cases)
    parts += [_fence_table(f, [case for case in cases if case.fence == f]) for f in fences]
    failed = [c for c in cases if "error" in c.outcome]
    if failed:
        lines = (f"- {c.table}, {c.fence}, {c.method}: {c.outcome['error']}" for c in failed)
        parts.append("Failures:\n\n" + "\n".join(lines))
    text = "\n\n".join(part for part in parts if part) + "\n"
    (directory / "report.md").write_text(text)
    return text, all(verdict.met for verdict in verdicts)


def _write_runs(path: Path, cases: Sequence[Case]) -> None:
    columns = ("score", "certificate", "wall_seconds", "models", "pressure", "pick", "error")
    header = ("table", "fence", "method", "bounds", "readings", "inside", *columns)
    rows = []
    for case in cases:
        bounds = "; ".join(map(str, case.bounds))
        read = "; ".join(f"{k} {r.value:.4f} ({r.error:.4f})" for k, r in case.readings.items())
        known = [case.outcome.get(column, "") for column in columns]
        rows.append((case.table, case.fence, case.method, bounds, read, case.inside, *known))
    write_csv(path, header, rows)


def _method_table(cases: Sequence[Case]) -> str:
    header = ["method", "cases", "answered", "inside", "certified", "contradicted"]
    header += ["Fenceline's objective minus its, where it is inside"]
    rows = []
    for method in METHODS.values():
        own = [case for case in cases if case.method == method.name]
        if not own:
            continue
        differences = compared(cases, method.name)
        mean = (
            f"{sum(differences) / len(differences):+.4f} ({len(differences)})"
            if differences
            else ""
        )
        certified = [case for case in own if case.certified]
        counts = [len(own), sum(c.answered for c in own), sum(c.inside for c in own)]
        counts += [len(certified), sum(case.broken for case in certified)]
        rows.append([method.title, *map(str, counts), "" if method.ours else mean])
    return markdown(header, rows)


def _fence_table(fence: str, cases: Sequence[Case]) -> str:
    names = [m.name for m in METHODS.values() if any(c.method == m.name for c in cases)]
    by_place = {(case.table, case.method): case for case in cases}
    rows = []
    for table in dict.fromkeys(case.table for case in cases):
        bounds = next(case.bounds for case in cases if case.table == table)
        cells = [_cell(by_place.get((table, name))) for name in names]
        rows.append([table, ", ".join(map(str, bounds)), *cells])
    header = ["table", "fence", *(METHODS[name].title for name in names)]
    note = f"{fence}: {cases[0].objective} on the third that judges; c certified, o outside the fence there."
    return f"{note}\n\n{markdown(header, rows)}"


def _cell(case: Case | None) -> str:
    if case is None:
        return "not run"
    if not case.answered:
        return "failed" if "error" in case.outcome else "none"
    marks = ("c" if case.certified else "") + ("" if case.inside else "o")
    return f"{case.score:.4f} {marks}".strip()

"""What the comparison of decisions runs: tables, fences, methods."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.catalogue import REPORTED, Entry, catalogue, spread
from benchmarks.decisions.fence import COMPARING, Bound
from benchmarks.jobs import SOURCE, Job, source

SECONDS = 60
FEWEST_ROWS = 1000
WITH_GROUPS, WITHOUT = 8, 4
"""Tables with protected columns and others, of twelve."""
PLAIN = "plain"
"""The booster whose decisions set the bounds; it runs before everybody."""
FENCES = ("recall", "fpr", "dpd", "eod", "three")
LATENCY_SHARE = 1.5
"""Of a plain booster's latency: forests and neighbours are outside, boosters of its size inside."""
_LATE, _GRACE = 3.0, 180.0
_MODULE = "benchmarks.decisions.fit"


@dataclass(frozen=True, slots=True)
class Method:
    """A rival, or ourselves.

    Parameters
    ----------
    name, title : str
        In files and for readers.
    timed : bool
        Whether it uses the time it is given.
    comparing : bool
        Whether it only knows fences that compare groups.
    """

    name: str
    title: str
    timed: bool = False
    comparing: bool = False

    @property
    def ours(self) -> bool:
        """Whether it changes with our source."""
        return self.name == "fenceline"


METHODS = {
    method.name: method
    for method in (
        Method("newcomer", "by hand"),
        Method("reweighed", "by hand, reweighed", comparing=True),
        Method("fenceline", "Fenceline", timed=True),
        Method("flaml", "FLAML, told", timed=True),
        Method("exponentiated", "fairlearn: ExponentiatedGradient", comparing=True),
        Method("postprocessed", "fairlearn: ThresholdOptimizer", comparing=True),
    )
}
"""In the order in which they take turns."""


def candidates(data: Path) -> list[Entry]:
    """Return every table that can be drawn."""
    found = (e for e in catalogue(data) if e.path.split("/")[0] in REPORTED)
    return [e for e in found if e.task == "binary" and e.rows >= FEWEST_ROWS]


def draw(entries: Sequence[Entry], seed: int) -> list[Entry]:
    """Draw twelve tables of all sizes, eight of them with protected columns."""
    rng = np.random.default_rng(seed)
    with_groups = spread([entry for entry in entries if entry.protected], WITH_GROUPS, rng)
    return with_groups + spread([entry for entry in entries if not entry.protected], WITHOUT, rng)


def fences_of(entry: Entry, plain: Mapping[str, float]) -> dict[str, tuple[str, list[Bound]]]:
    """Return objective and bounds of every fence, from what a plain booster does on the same rows.

    It decides where its balanced accuracy is best: at even odds the rarer class is hardly ever
    chosen, and half of no false positives is no fence.
    """
    halves = {
        kind: Bound(kind, float(f"{plain[kind] / 2:.3g}"))
        for kind in ("fpr", "dpd", "eod")
        if kind in plain
    }
    fences = {
        "recall": ("precision", [Bound("recall", 0.8)]),
        "fpr": ("balanced_accuracy", [halves["fpr"]]),
    }
    if entry.protected:
        latency = Bound("latency", float(f"{LATENCY_SHARE * plain['latency']:.3g}"))
        three = [halves["fpr"], halves["dpd"], latency]
        fences |= {kind: ("balanced_accuracy", [halves[kind]]) for kind in COMPARING}
        fences["three"] = ("balanced_accuracy", three)
    return fences


def plain_job(entry: Entry, seed: int, data: Path, out: Path, prefix: str = "") -> Job:
    """Return the job that sets the bounds of a table."""
    settings = _settings(entry, PLAIN, seed)
    name = f"{entry.name}-{PLAIN}-seed{seed}"
    return Job(_MODULE, out, name, settings, data, _GRACE, False, sys.executable, prefix)


def jobs_of(
    entry: Entry,
    plain: Mapping[str, float],
    methods: Sequence[Method],
    fences: Sequence[str],
    *,
    seconds: int,
    seed: int,
    data: Path,
    out: Path,
    prefix: str = "",
) -> list[Job]:
    """Return the jobs of a table whose bounds are known: fence by fence, methods taking turns."""
    state = source() if any(method.ours for method in methods) else ""
    jobs = []
    for fence, (objective, bounds) in fences_of(entry, plain).items():
        comparing = any(bound.kind in COMPARING for bound in bounds)
        for method in methods:
            if fence not in fences or (method.comparing and not comparing):
                continue
            settings = _settings(entry, method.name, seed) | {
                "fence": fence,
                "objective": objective,
                "bounds": {bound.kind: bound.limit for bound in bounds},
                "seconds": seconds if method.timed else 0,
            }
            settings |= {SOURCE: state} if method.ours else {}
            name = f"{entry.name}-{fence}-{method.name}-seed{seed}"
            limit = _LATE * seconds + _GRACE
            jobs.append(
                Job(_MODULE, out, name, settings, data, limit, method.timed, sys.executable, prefix)
            )
    return jobs


def _settings(entry: Entry, method: str, seed: int) -> dict[str, Any]:
    group = entry.protected[0] if entry.protected else None
    return {"table": entry.path, "group": group, "method": method, "seed": seed}

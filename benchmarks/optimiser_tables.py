"""The tables of the optimiser benchmark: regrets, times, targets, classical functions, ablation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.optimiser_plan import (
    ABLATED,
    JOINT,
    NO_FAILURES,
    OPTUNA,
    OURS,
    RIVALS,
    SMAC3,
    WORKERS,
    scaled,
)
from benchmarks.verdicts import (
    Runs,
    Target,
    hardest_rival,
    milliseconds,
    quotient,
    regret,
    regret_ratio,
)

Results: TypeAlias = Mapping[str, Mapping[str, Runs]]
"""The runs by setting and curve."""

AGAINST_PEERS = {50: 0.6, 100: 0.2, 200: 0.2, 500: 0.2}
TIMED = (100, 500)
LONG, LONG_MILLISECONDS = 2000, 150.0
ASYNCHRONOUS, ASYNCHRONOUS_AT = 1.5, (50, 100, 200)
FAILING, FAILING_AT = 1.3, 200
CLASSICAL_AT = 100
DECOY_AT = 150
ILL_SCALED_AT = (50, 100, 150)
CONSTRAINED_AT, CONSTRAINED_TIME = 200, 2.0
ABLATED_AT = (50, 100, 200)
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name and a line that says what it shows."""

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as text for documents and terminals."""
        cells = [list(self.header), *(list(row) for row in self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.header))]
        lines = [
            "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |"
            for r in cells
        ]
        lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
        return f"{self.caption}\n\n" + "\n".join(lines)


def targets(results: Results, scale: float) -> list[Target]:
    """Set everything that is asked against what was measured."""
    plain = results.get("artificial", {})
    ours = plain.get(OURS.name, {})
    return [
        *_against_peers(ours, plain, scale),
        *_times(ours, plain.get(OPTUNA.name, {}), results, scale),
        *_asynchronous(ours, results, scale),
        _failing(ours, results, scale),
        *_classical(results, scale),
        *_decoy(results.get("decoy", {}), scale),
        *_ill_scaled(results.get("ill-scaled", {}), scale),
        _constrained(results.get("constrained", {}), scale),
    ]


def _against_peers(ours: Runs, plain: Mapping[str, Runs], scale: float) -> Iterator[Target]:
    rivals = {c.name: plain[c.name] for c in RIVALS if c.name in plain}
    for n, limit in AGAINST_PEERS.items():
        at = scaled(n, scale)
        name, ratio = hardest_rival(ours, rivals, at)
        asked = f"regret at {at} over the best rival's"
        yield Target("A", asked, limit, ratio.median, name, ratio.problems)


def _times(ours: Runs, optuna: Runs, results: Results, scale: float) -> Iterator[Target]:
    for n in (scaled(n, scale) for n in TIMED):
        mine, theirs = milliseconds(ours, n)[0], milliseconds(optuna, n)[0]
        measured = quotient(mine.median, theirs.median)
        problems = min(mine.problems, theirs.problems)
        asked = f"mean time per suggestion at n = {n} over Optuna TPE's"
        against = f"{mine.median:.1f} against {theirs.median:.1f} ms"
        yield Target("A", asked, 1.0, measured, against, problems)
    n = scaled(LONG, scale)
    mean = milliseconds(results.get("long", {}).get(OURS.name, {}), n)[0]
    asked = f"mean ms per suggestion at n = {n}"
    yield Target("A", asked, LONG_MILLISECONDS, mean.median, "itself", mean.problems)


def _asynchronous(ours: Runs, results: Results, scale: float) -> Iterator[Target]:
    apart = results.get(f"workers{WORKERS}", {}).get(OURS.name, {})
    for n in (scaled(n, scale) for n in ASYNCHRONOUS_AT):
        ratio = regret_ratio(apart, ours, n)
        asked = f"{WORKERS} workers: regret at {n} over the sequential"
        yield Target("B", asked, ASYNCHRONOUS, ratio.median, "one worker", ratio.problems)


def _failing(ours: Runs, results: Results, scale: float) -> Target:
    n = scaled(FAILING_AT, scale)
    ratio = regret_ratio(results.get("failing", {}).get(OURS.name, {}), ours, n)
    asked = f"20 % failing: regret at {n} over that without failures"
    return Target("C", asked, FAILING, ratio.median, "no failures", ratio.problems)


def _classical(results: Results, scale: float) -> Iterator[Target]:
    n = scaled(CLASSICAL_AT, scale)
    for setting, curves in results.items():
        if setting.startswith("classical-"):
            ratio = regret_ratio(curves.get(OURS.name, {}), curves.get(JOINT.name, {}), n)
            against = f"JointBO: {ratio.low:.3g} against {ratio.high:.3g}"
            asked = f"{setting.removeprefix('classical-')}: regret at {n} over JointBO's"
            yield Target("D", asked, 1.0, ratio.median, against, ratio.problems)


def _decoy(curves: Mapping[str, Runs], scale: float) -> Iterator[Target]:
    n = scaled(DECOY_AT, scale)
    for rival in (JOINT, SMAC3):
        ratio = regret_ratio(curves.get(OURS.name, {}), curves.get(rival.name, {}), n)
        against = f"{rival.name}: {ratio.low:.3g} against {ratio.high:.3g}"
        asked = f"decoys: regret at {n} over {rival.name}'s"
        yield Target("F", asked, 1.0, ratio.median, against, ratio.problems)


def _ill_scaled(curves: Mapping[str, Runs], scale: float) -> Iterator[Target]:
    for n in (scaled(n, scale) for n in ILL_SCALED_AT):
        ratio = regret_ratio(curves.get(OURS.name, {}), curves.get(OPTUNA.name, {}), n)
        against = f"{OPTUNA.name}: {ratio.low:.3g} against {ratio.high:.3g}"
        asked = f"ranges on the wrong scale: regret at {n} over {OPTUNA.name}'s"
        yield Target("H", asked, 1.0, ratio.median, against, ratio.problems)


def _constrained(curves: Mapping[str, Runs], scale: float) -> Target:
    n = scaled(CONSTRAINED_AT, scale)
    mine = milliseconds(curves.get(OURS.name, {}), n)[0]
    theirs = milliseconds(curves.get(OPTUNA.name, {}), n)[0]
    asked = f"4 constraints: mean time per suggestion at n = {n} over Optuna TPE's"
    against = f"{mine.median:.1f} against {theirs.median:.1f} ms"
    measured = quotient(mine.median, theirs.median)
    problems = min(mine.problems, theirs.problems)
    return Target("G", asked, CONSTRAINED_TIME, measured, against, problems)


def target_table(found: Sequence[Target]) -> Table:
    """Return the verdicts."""
    met = sum(t.verdict == "met" for t in found)
    caption = f"Targets: {met} of {len(found)} met (medians; ratios on the same seeds)."
    rows = []
    for t in found:
        short = "" if t.problems else NOT_RUN
        measured = short or f"{t.measured:.3g}"
        limit = f"at most {t.limit:g}"
        rows.append((t.part, t.asked, measured, limit, t.against, str(t.problems), t.verdict))
    header = ("part", "what", "measured", "target", "against", "seeds", "verdict")
    return Table("targets", caption, header, rows)


def regret_table(results: Results, scale: float) -> Table:
    """Return everybody's regrets and times on the artificial problem."""
    plain = results.get("artificial", {})
    numbers = [scaled(n, scale) for n in AGAINST_PEERS]
    times = [scaled(n, scale) for n in TIMED]
    rows = []
    for curve in (OURS, *RIVALS):
        runs = plain.get(curve.name, {})
        cells = [curve.name, *(_cell(regret(runs, n).median) for n in numbers)]
        for n in times:
            mean, median = milliseconds(runs, n)
            both = f"{mean.median:.1f} ({median.median:.1f})"
            cells.append(both if mean.problems else NOT_RUN)
        rows.append([*cells, str(len(runs))])
    header = (
        "artificial",
        *(f"regret at {n}" for n in numbers),
        *(f"ms at {n}" for n in times),
        "seeds",
    )
    caption = (
        "Median regret (best value less the optimum), and CPU milliseconds of the optimiser per "
        "suggestion: mean (median) of the suggestions within a tenth of n, median over seeds."
    )
    return Table("regret", caption, header, rows)


def ratio_table(results: Results, scale: float) -> Table:
    """Return Fenceline's regret over each rival's."""
    plain = results.get("artificial", {})
    ours = plain.get(OURS.name, {})
    numbers = [scaled(n, scale) for n in AGAINST_PEERS]
    rows = [
        (
            c.name,
            *(_cell(regret_ratio(ours, plain.get(c.name, {}), n).median) for n in numbers),
        )
        for c in RIVALS
    ]
    header = ("Fenceline's regret over that of", *(f"at {n}" for n in numbers))
    return Table("ratios", "Ratios of the medians, on the seeds both have run.", header, rows)


def ablation_table(results: Results, scale: float) -> Table:
    """Return what each part of the default brings."""
    numbers = [scaled(n, scale) for n in ABLATED_AT]
    rows = []
    for setting, curves in (("artificial", (OURS, *ABLATED)), ("failing", (OURS, NO_FAILURES))):
        there = results.get(setting, {})
        full = there.get(OURS.name, {})
        for curve in curves:
            runs = there.get(curve.name, {})
            name = "full default" if curve is OURS else curve.name
            cells = [name if setting == "artificial" else f"{name}, 20 % failing"]
            for n in numbers:
                ratio = regret_ratio(runs, full, n)
                both = f"{_cell(regret(runs, n).median)} ({ratio.median:.2f})"
                cells.append(both if ratio.problems else NOT_RUN)
            failed = [float(np.mean(~trace.ok[: numbers[-1]])) for trace in runs.values()]
            rows.append([*cells, f"{np.mean(failed):.0%}" if failed else NOT_RUN, str(len(runs))])
    header = ("ablation", *(f"regret at {n}" for n in numbers), "failed", "seeds")
    caption = "Median regret, and in brackets its ratio to the full default's on the same seeds."
    return Table("ablation", caption, header, rows)


def _cell(value: float) -> str:
    return NOT_RUN if np.isnan(value) else f"{value:.3g}"

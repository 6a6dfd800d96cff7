"""The tables of the comparison with FLAML, and whether its targets are met."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from benchmarks.fences_plan import EXTRA, Method
from benchmarks.harness import write_csv

Outcome: TypeAlias = Mapping[str, Any]
Outcomes: TypeAlias = dict[str, dict[Method, dict[int, Outcome]]]
"""By table, method and seed."""
WITHIN = 0.002
"""So far below FLAML's the mean AUROC may lie."""
_COLUMNS = (
    "auroc",
    "latency_us",
    "gap",
    "wall_seconds",
    "evaluations",
    "believed",
    "certificate",
    "pick",
)


def feasible(outcome: Outcome, bounds: Mapping[str, float]) -> bool:
    """Tell whether unseen rows find a pick inside the fence; one that failed is not."""
    return "error" not in outcome and all(outcome[name] <= bounds[name] for name in bounds)


def mean_auroc(runs: Mapping[int, Outcome]) -> float:
    """Return the mean over the seeds; NaN as soon as one failed."""
    return fmean(run.get("auroc", math.nan) for run in runs.values()) if runs else math.nan


def write_report(
    directory: Path, outcomes: Outcomes, seconds: float, remark: str
) -> tuple[str, bool]:
    """Write the CSV and the Markdown; return the latter, and whether all targets are met."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = [
        (name, method, seed, *(run.get(c, "") for c in _COLUMNS), run.get("error", ""))
        for name, methods in outcomes.items()
        for method, runs in methods.items()
        for seed, run in runs.items()
    ]
    write_csv(directory / "runs.csv", ("set", "method", "seed", *_COLUMNS, "error"), rows)
    free, free_met = _free(outcomes)
    closer, closer_met = _fenced(outcomes, "flaml-fenced", "fenceline-fenced")
    wider, wider_met = _fenced(outcomes, "flaml-wider", "fenceline-wider")
    parts = [*([remark] if remark else []), f"Each fit had {seconds:g} s.", free]
    parts += ["The closer fence, nine tenths of the gap:", closer]
    parts += ["The wider fence, one and a half times the gap:", wider]
    text = "\n\n".join(parts) + "\n"
    (directory / "report.md").write_text(text)
    return text, free_met and closer_met and wider_met


def _free(outcomes: Outcomes) -> tuple[str, bool]:
    """Return the table without constraints."""
    names = [name for name, m in outcomes.items() if "flaml" in m and "fenceline" in m]
    voting = any(EXTRA in outcomes[name] for name in names)
    shown: list[Method] = ["flaml", "fenceline", *([EXTRA] if voting else [])]
    header = ["hold-out AUROC", "FLAML", "Fenceline", "difference", "seconds (FLAML, Fenceline)"]
    header += ["pipelines (FLAML, Fenceline)"] + (["Fenceline, voting"] if voting else [])
    table, means = [], []
    for name in names:
        scores = [mean_auroc(outcomes[name].get(method, {})) for method in shown]
        means.append(scores)
        walls, counts = (
            ", ".join(_mean(outcomes[name][method], column, digits) for method in shown[:2])
            for column, digits in (("wall_seconds", 1), ("evaluations", 0))
        )
        table.append(_scores(name, scores, walls, counts))
    overall = [fmean(column) for column in zip(*means, strict=True)]
    difference = overall[1] - overall[0] if overall else math.nan
    if overall:
        table.append(_scores("mean", overall, "", ""))
    met = difference >= -WITHIN
    verdict = (
        f"Fenceline's mean is {difference:+.4f} from FLAML's; at least {-WITHIN:+.3f} is the target: "
        f"{_word(met)}."
    )
    return f"{_markdown(header, table)}\n\n{verdict}", met


def _scores(name: str, scores: Sequence[float], walls: str, counts: str) -> list[str]:
    first, second, *voting = scores
    cells = [name, f"{first:.4f}", f"{second:.4f}", f"{second - first:+.4f}", walls, counts]
    return cells + [f"{score:.4f}" for score in voting]


def _fenced(outcomes: Outcomes, told: Method, ours: Method) -> tuple[str, bool]:
    """Return the table of one fence, a row for every split."""
    lines: dict[str, Method] = {
        "FLAML, free": "flaml",
        "FLAML, told": told,
        "Fenceline": ours,
    }
    header = ["set", "bounds (us, gap)"]
    for line in lines:
        header += [f"{line}: AUROC", "us, gap", "inside"]
    header.append("certificate")
    table = []
    inside = dict.fromkeys(lines, 0)
    splits = certified = 0
    for name, methods in outcomes.items():
        for seed, fenced in methods.get(ours, {}).items():
            bounds = fenced["bounds"]
            splits += 1
            certified += fenced.get("certificate") == "certified"
            row = [name, ", ".join(f"{bound:.3g}" for bound in bounds.values())]
            for line, method in lines.items():
                run = methods.get(method, {}).get(seed)
                holds = run is not None and feasible(run, bounds)
                inside[line] += holds
                row += _picked(run, holds)
            table.append([*row, fenced.get("certificate", "")])
    counted = ", ".join(f"{line} {count}" for line, count in inside.items())
    met = splits > 0 and inside["Fenceline"] == splits
    verdict = (
        f"Inside the fence on unseen rows, of {splits}: {counted} ({certified} certified). "
        f"Fenceline on all: {_word(met)}."
    )
    return f"{_markdown(header, table)}\n\n{verdict}", met


def _picked(run: Outcome | None, holds: bool) -> list[str]:
    if run is None:
        return ["not run", "", ""]
    if "error" in run:
        return ["failed", "", "no"]
    figures = f"{run['latency_us']:.3g}, {run['gap']:.3g}"
    return [f"{run['auroc']:.4f}", figures, "yes" if holds else "no"]


def _mean(runs: Mapping[int, Outcome], column: str, digits: int) -> str:
    return f"{fmean(run.get(column, math.nan) for run in runs.values()):.{digits}f}"


def _word(met: bool) -> str:
    return "met" if met else "missed"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

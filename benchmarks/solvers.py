"""Every solver of ADMM's sub-problems on problems of every kind, and the targets of each.

Run ``python -m benchmarks.solvers`` from the root. Runs that are there already are not repeated, and
``--report-only`` reads them at any time; ``--publish`` writes the tables into the documentation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

# Before numpy is imported: the matrices are small, and threads would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import fenceline as fl
from benchmarks.catalogue import DATA
from benchmarks.pages import Verdict, markdown, publish, verdict_table
from benchmarks.solvers_learners import TABLE, Learners, race
from benchmarks.solvers_problems import KINDS, Kind, truth
from fenceline import solvers
from fenceline.problems import classical

EVALUATIONS = 100
PAGE = Path("docs/benchmarks/solvers.md")
CHOICE_PAGE = Path("docs/solvers.md")
SMOOTH = ("branin", "mixed_rosenbrock", "two_wells", "gramacy", "pressure_vessel")
"""Of the seven classical functions, those without ripples."""
ONE_BLOCK = ("branin", "mixed_rosenbrock", "ackley_mixed", "rastrigin_mixed")
"""Those without constraints and without a choice: one sub-problem has all the evaluations."""
THETA = ("Random", "Bayesian", "TrustRegion", "DirectSearch", "Hyperband", "BOHB")
CHOICES = (
    "Random", "Bayesian", "Bandit", "TreeSearch", "Planning", "Derivations",
    "Hyperband", "BOHB", "SuccessiveHalving", "IncrementalAllocation",
)  # fmt: skip
SLOW = {"Bayesian": 0.6}
"""The share of the seeds that a slow solver runs."""


@dataclass(frozen=True)
class Cell:
    """One solver on one problem, one seed."""

    part: str
    problem: str
    solver: str
    seed: int

    @property
    def key(self) -> str:
        """Under which it is kept."""
        return json.dumps(asdict(self))


class Kept:
    """Outcomes in a file of JSON lines, so that a run that is stopped goes on where it was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                record = json.loads(line)
                self.outcomes[record["key"]] = record["outcome"]

    def get(self, cell: Cell) -> Any:
        """Return an outcome; None if it is not there."""
        return self.outcomes.get(cell.key)

    def put(self, cell: Cell, outcome: Any) -> None:
        """Keep an outcome."""
        self.outcomes[cell.key] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": cell.key, "outcome": outcome}) + "\n")


def search(
    problem: fl.Problem, block: str, solver: str, precision: int, seed: int, stream: int = 0
) -> Any:
    """Run ADMM with a solver in one block and random search in the other.

    `stream` keeps the random numbers of solvers apart where they would draw the same points: a
    bracket of Hyperband must not begin with the very points that random search had.
    """
    made: dict[str, Any] = {"theta": solvers.Random(), "z": solvers.Random()}
    made[block] = getattr(solvers, solver)()
    algorithm = fl.ADMM(**made, precision=fl.Fixed(precision))
    started = time.process_time()
    result = fl.minimize(
        problem, evaluations=EVALUATIONS, algorithm=algorithm, seed=seed + 1000 * stream
    )
    seconds = time.process_time() - started
    curve = truth(problem, result)
    assert problem.optimum is not None
    regret = curve[:, 1] - problem.optimum
    # Improvements alone: the file stays small.
    falls = np.flatnonzero(regret < np.append(np.inf, regret[:-1]))
    return {
        "regret": float(regret[-1]),
        "cost": curve[falls, 0].tolist(),
        "regrets": regret[falls].tolist(),
        "ms": 1000.0 * seconds / len(result.evaluations),
    }


def plan(seeds: int) -> list[tuple[Cell, Callable[[], Any]]]:
    """Return everything to be run, seed by seed."""
    found: list[tuple[Cell, Callable[[], Any]]] = []
    functions = classical()
    for seed in range(seeds):
        for name, problem in functions.items():
            precision = EVALUATIONS if name in ONE_BLOCK else 25
            found += [
                (
                    Cell("classical", name, solver, seed),
                    partial(search, problem, "theta", solver, precision, seed),
                )
                for solver in ("Random", "TrustRegion", "DirectSearch")
            ]
        for kind in KINDS:
            found += [
                (
                    Cell("kinds", f"{kind.block}: {kind.name}", solver, seed),
                    partial(_on_kind, kind, solver, seed),
                )
                for solver in _fitting(kind)
                if seed < math.ceil(seeds * SLOW.get(solver, 1.0))
            ]
    return found


def _on_kind(kind: Kind, solver: str, seed: int) -> Any:
    stream = _fitting(kind).index(solver) if kind.fidelity else 0
    return search(kind.make(seed), kind.block, solver, kind.precision, seed, stream)


def _fitting(kind: Kind) -> Sequence[str]:
    offered = THETA if kind.block == "theta" else CHOICES
    if kind.fidelity:
        return offered
    return [s for s in offered if not getattr(getattr(solvers, s), "needs_fidelity", False)]


Regrets = Mapping[str, Mapping[str, Mapping[int, Any]]]
"""By problem, solver and seed."""


def collect(kept: Kept, part: str) -> dict[str, dict[str, dict[int, Any]]]:
    """Return the outcomes of one part."""
    found: dict[str, dict[str, dict[int, Any]]] = {}
    for key, outcome in kept.outcomes.items():
        cell = Cell(**json.loads(key))
        if cell.part == part:
            found.setdefault(cell.problem, {}).setdefault(cell.solver, {})[cell.seed] = outcome
    return found


def ratio(runs: Mapping[str, Mapping[int, Any]], solver: str) -> float:
    """Return a solver's median regret over random search's, on the seeds that both have."""
    both = sorted(runs.get(solver, {}).keys() & runs.get("Random", {}).keys())
    if not both:
        return math.nan
    ours, theirs = (median(runs[s][i]["regret"] for i in both) for s in (solver, "Random"))
    return ours / theirs if theirs > 0 else math.nan


def kinds_table(runs: Regrets, block: str) -> str:
    """Return solver by kind: median regret over that of random search."""
    kinds = [k for k in KINDS if k.block == block]
    offered = THETA if block == "theta" else CHOICES
    rows = []
    for solver in offered:
        cells, times = [], []
        for kind in kinds:
            found = runs.get(f"{block}: {kind.name}", {})
            value = 1.0 if solver == "Random" else ratio(found, solver)
            fits = solver in _fitting(kind)
            cells.append(f"{value:.2g}" if math.isfinite(value) else "not run" if fits else "-")
            times += [outcome["ms"] for outcome in found.get(solver, {}).values()]
        rows.append([f"`{solver}`", *cells, f"{median(times):.2g}" if times else "-"])
    return markdown([f"as `{block}`", *(k.name for k in kinds), "ms per evaluation"], rows)


def classical_table(runs: Regrets) -> str:
    """Return median regrets on the classical functions."""
    rows = []
    for name, found in runs.items():
        cells = []
        for solver in ("Random", "TrustRegion", "DirectSearch"):
            ends = [outcome["regret"] for outcome in found.get(solver, {}).values()]
            cells.append(f"{median(ends):.3g}" if ends else "not run")
        times = f"{1 / ratio(found, 'TrustRegion'):.3g}" if "TrustRegion" in found else "-"
        rows.append([name, "smooth" if name in SMOOTH else "rippled", *cells, times])
    return markdown(
        ["function", "kind", "Random", "TrustRegion", "DirectSearch", "Random / TrustRegion"], rows
    )


def verdicts(kept: Kept, learners: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Judge every target."""
    functions, kinds = collect(kept, "classical"), collect(kept, "kinds")
    found = []
    for name in SMOOTH:
        times = 1.0 / ratio(functions.get(name, {}), "TrustRegion")
        known = not math.isnan(times)
        found.append(
            Verdict(
                f"TrustRegion at {EVALUATIONS}: a tenth of Random's median regret on {name}",
                f"{times:.3g} times lower" if known else "",
                times >= 10.0 if known else None,
            )
        )
    for solver in ("TreeSearch", "Planning"):
        value = ratio(kinds.get("z: many choices (artificial)", {}), solver)
        known = not math.isnan(value)
        found.append(
            Verdict(
                f"{solver} over z at {EVALUATIONS}: at least a quarter below Random's median regret",
                f"{100 * (1 - value):.0f} % below" if known else "",
                value <= 0.75 if known else None,
            )
        )
    for problem in ("theta: fidelity (ripples, 6)", "z: fidelity (artificial)"):
        shares = _sooner(kinds.get(problem, {}), "Hyperband")
        value = median(shares) if shares else math.nan
        found.append(
            Verdict(
                f"Hyperband reaches Random's final value in a third of the cost ({problem})",
                f"{value:.2g} of the cost, median of {len(shares)}" if shares else "",
                value <= 1 / 3 if shares else None,
            )
        )
    for solver in ("SuccessiveHalving", "IncrementalAllocation"):
        runs = [r for r in learners if r["solver"] == solver]
        share = median(r["best_seconds"] / r["full_seconds"] for r in runs) if runs else math.nan
        right = sum(r["answer"] == r["best"] for r in runs)
        found.append(
            Verdict(
                f"{solver} finds the best of 30 learners in a third of the time of measuring all",
                f"{share:.2g} of the time, median of {len(runs)} orders; its first full "
                f"measurement is the best in {right}"
                if runs
                else "",
                share <= 1 / 3 if runs else None,
            )
        )
    return found


def _sooner(runs: Mapping[str, Mapping[int, Any]], solver: str) -> list[float]:
    """Return at which share of the budget a solver reaches random search's final regret, seed by seed."""
    shares = []
    for seed, theirs in runs.get("Random", {}).items():
        ours = runs.get(solver, {}).get(seed)
        if ours is not None:
            there = [
                c
                for c, r in zip(ours["cost"], ours["regrets"], strict=True)
                if r <= theirs["regret"]
            ]
            shares.append(min(there, default=math.inf) / EVALUATIONS)
    return shares


def learners_table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return how the searches among learners went."""
    rows = []
    for solver in sorted({r["solver"] for r in runs}):
        own = [r for r in runs if r["solver"] == solver]
        rows.append(
            [
                f"`{solver}`",
                f"{median(r['best_seconds'] / r['full_seconds'] for r in own):.2g}",
                f"{median(r['answer_seconds'] / r['full_seconds'] for r in own):.2g}",
                f"{median(r['loss'] - r['best_loss'] for r in own):.4f}",
                f"{sum(r['answer'] == r['best'] for r in own)} of {len(own)}",
            ]
        )
    return markdown(
        [
            "solver",
            "time to the best",
            "time to its answer",
            "answer worse by",
            "answer is the best",
        ],
        rows,
    )


def report(kept: Kept, learners: Sequence[Mapping[str, Any]]) -> str:
    """Return all tables."""
    functions, kinds = collect(kept, "classical"), collect(kept, "kinds")
    parts = ["## Targets", verdict_table(verdicts(kept, learners))]
    parts += ["## Classical functions", classical_table(functions)]
    parts += ["## Kinds of problems, theta", kinds_table(kinds, "theta")]
    parts += ["## Kinds of problems, z", kinds_table(kinds, "z")]
    if learners:
        parts += ["## Thirty learners", learners_table(learners)]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solvers", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="only these solvers")
    parser.add_argument("--parts", nargs="*", default=["classical", "kinds", "learners"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help="write the tables into the docs")
    parser.add_argument("--out", type=Path, default=Path("out/solvers"))
    chosen = parser.parse_args(arguments)
    kept = Kept(chosen.out / "runs.jsonl")
    if not chosen.report_only:
        for cell, work in plan(chosen.seeds):
            wanted = chosen.only is None or cell.solver in chosen.only
            if cell.part in chosen.parts and wanted and kept.get(cell) is None:
                outcome = work()
                kept.put(cell, outcome)
                print(f"{cell.problem:40} {cell.solver:22} {cell.seed} {outcome['regret']:.4g}")
    learners = _learners(chosen) if "learners" in chosen.parts else []
    text = report(kept, learners)
    print(text)
    if chosen.publish:
        publish(PAGE, text)
        kinds = collect(kept, "kinds")
        publish(CHOICE_PAGE, f"{kinds_table(kinds, 'theta')}\n\n{kinds_table(kinds, 'z')}\n")
    return 0


def _learners(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Race the solvers among learners; nothing is left out silently where the table is missing."""
    path = chosen.out / "learners.json"
    if chosen.report_only:
        return json.loads(path.read_text()) if path.exists() else []
    if not (chosen.data / TABLE).exists():
        print(f"{chosen.data / TABLE} is not there: no race of learners; see --data")
        return []
    measure = Learners(chosen.data, chosen.out / "learners-cells.json")
    made = (solvers.SuccessiveHalving(), solvers.IncrementalAllocation())
    found = [asdict(race(measure, s, seed)) for seed in range(chosen.seeds) for s in made]
    path.write_text(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    sys.exit(main())

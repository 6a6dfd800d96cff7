"""Run (algorithm, problem seed) jobs for a number of evaluations, and keep every one of them."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fenceline as fl
from benchmarks.harness import Curve, describe, is_done, keep
from benchmarks.virtual_workers import VirtualWorkers
from fenceline.evaluation.engines.engine import Engine, Outcome
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.evaluator import RunEvaluator
from fenceline.problem.problem import BudgetSpent

Array = NDArray[np.float64]

# No part of a search on a test problem: whatever changes here, old results stand.
_BYSTANDERS = (
    "__init__.py",
    "certificate",
    "cli",
    "data",
    "demo",
    "errors.py",
    "estimator",
    "metrics",
    "minimize.py",
    "pipelines",
    "plots.py",
    "report",
    "result",
    "store",
    "testing",
)
_COLUMNS = ("evaluation", "objective", "feasible", "ok", "cpu_seconds", "wall_seconds")


@dataclass(frozen=True, slots=True)
class Counted:
    """One curve on one problem for so many evaluations.

    Parameters
    ----------
    setting : str
        What kind of problem it is; part of the file's name.
    problem : callable
        Makes the problem from the seed; a module-level callable.
    workers : int
        With more than one, evaluations finish in random order, in virtual time.
    """

    curve: Curve
    setting: str
    problem: Callable[[int], fl.Problem]
    seed: int
    evaluations: int
    directory: Path
    workers: int = 1

    @property
    def part(self) -> Path:
        """The CSV of the evaluations, written last."""
        return self.directory / f"{self.setting}-{self.curve.slug}-seed{self.seed}.csv"

    @property
    def record(self) -> Path:
        """The JSON beside it: settings and outcome."""
        return self.part.with_suffix(".json")

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.setting}: {self.curve.name}, seed {self.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on, apart from the machine."""
        names = sorted({"fenceline", "numpy", "scipy", self.curve.needs})
        return {
            "curve": self.curve.name,
            "algorithm": describe(self.curve.build()),
            "setting": self.setting,
            "seed": self.seed,
            "evaluations": self.evaluations,
            "workers": self.workers,
            "versions": {name: importlib.metadata.version(name) for name in names},
            "code": code_of(self.curve.needs),
        }

    @property
    def done(self) -> bool:
        """Whether there is a result, and it was made with these settings."""
        return is_done(self)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One run, evaluation by evaluation."""

    optimum: float
    objectives: Array
    """Infinite where the evaluation failed or broke a constraint."""
    ok: NDArray[np.bool_]
    cpu_seconds: Array
    """The optimiser's own CPU time before each submission."""
    wall_seconds: Array

    @property
    def regrets(self) -> Array:
        """Best feasible value so far less the optimum, after each evaluation."""
        return np.minimum.accumulate(self.objectives) - self.optimum

    def regret(self, n: int) -> float:
        """Return the regret after n evaluations; NaN if there were fewer."""
        return float(self.regrets[n - 1]) if n <= len(self.objectives) else np.nan

    def around(self, n: int) -> Array:
        """Return the CPU seconds of the suggestions within a tenth of the n-th.

        The models are fitted anew when there is a tenth more to learn from, so that a narrower
        window could miss every fit.
        """
        if len(self.cpu_seconds) < n:
            return np.empty(0)
        return self.cpu_seconds[n - max(1, n // 10) : n + n // 10]


def run(job: Counted) -> None:
    """Run one job and write its evaluations, and its settings beside them."""
    problem, algorithm = job.problem(job.seed), job.curve.build()
    engine = Clocked(Serial() if job.workers == 1 else VirtualWorkers(job.workers, job.seed))
    started, cpu_started = time.perf_counter(), time.process_time()
    evaluator = RunEvaluator(problem, engine, evaluations=job.evaluations)
    ended = "finished"
    try:
        for _ in algorithm.iterates(problem, evaluator, np.random.default_rng(job.seed)):
            pass
    except BudgetSpent:
        ended = evaluator.ending
    outcome = {
        "ended": ended,
        "wall_seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(time.process_time() - cpu_started, 3),
        "optimum": problem.optimum,
    }
    rows = (
        (n, repr(e.objective), int(e.feasible), int(e.ok), f"{cpu:.6f}", f"{wall:.6f}")
        for n, (e, cpu, wall) in enumerate(
            zip(evaluator.history, engine.cpu_seconds, evaluator.suggest_seconds, strict=True), 1
        )
    )
    keep(job, outcome, _COLUMNS, rows)


def read(job: Counted) -> Trace | None:
    """Return what a job found, if it was run; whether with today's settings is for others to ask."""
    if not job.part.exists():
        return None
    with job.part.open(newline="") as file:
        rows = [tuple(float(row[name]) for name in _COLUMNS) for row in csv.DictReader(file)]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(_COLUMNS))
    objectives = np.where(table[:, 2] == 1, table[:, 1], np.inf)
    optimum = json.loads(job.record.read_text())["outcome"]["optimum"]
    return Trace(optimum, objectives, table[:, 3] == 1, table[:, 4], table[:, 5])


class Clocked:
    """An engine that takes the CPU time its caller spends between calls: that of the optimiser.

    CPU and not wall time, so that other programs on the machine are not charged to it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.cpu_seconds: list[float] = []
        self._since = time.process_time()

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return self.engine.workers

    def put(self, function: Callable[[Any], Any]) -> None:
        """Pass on."""
        self.engine.put(function)

    def submit(self, ticket: int, argument: Any) -> None:
        """Stop the clock, start the task, start the clock."""
        self.cpu_seconds.append(time.process_time() - self._since)
        self.engine.submit(ticket, argument)
        self._since = time.process_time()

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Pass on; the clock starts when the result is there."""
        finished = self.engine.next(timeout)
        self._since = time.process_time()
        return finished

    def cancel(self, ticket: int) -> None:
        """Pass on."""
        self.engine.cancel(ticket)

    def close(self) -> None:
        """Pass on."""
        self.engine.close()


@cache
def code_of(distribution: str) -> str:
    """Return a digest of the sources that a result rests on.

    The whole search for our own algorithms, only the test problems for others: theirs is known by
    its version.
    """
    root = Path(fl.__file__).parent
    folder = root if distribution == "fenceline" else root / "problems"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _BYSTANDERS:
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]

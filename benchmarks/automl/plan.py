"""What the comparison runs: which tables, which methods with which budgets, in which order."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.catalogue import REPORTED, Entry, Task, catalogue, spread
from benchmarks.jobs import SOURCE, Job, source

BUDGETS = (10, 30, 60)
QUOTA: Mapping[Task, int] = {"binary": 8, "multiclass": 4, "regression": 4}
"""About as the folders have them."""
FEWEST_ROWS = 500
_LATE = 2.0
"""A fit that takes so many times its budget, and two minutes more, is ended."""
_GRACE = 120.0


@dataclass(frozen=True, slots=True)
class Method:
    """A rival, or ourselves.

    Parameters
    ----------
    name : str
        In files, tables and `--methods`.
    title : str
        For readers.
    budgets : tuple of int
        Of the run's budgets those it has; none means that it needs none.
    package : str
        What decides on its results: a record of another version does not count.
    environment : str
        The virtual environment it lives in, where it cannot live with the others.
    search : bool
        Whether it looks for a single model in a given time, and is ranked among such.
    """

    name: str
    title: str
    budgets: tuple[int, ...]
    package: str
    environment: str = ""
    search: bool = False

    @property
    def ours(self) -> bool:
        """Whether it changes with our source."""
        return self.package == "fenceline"


METHODS = {
    method.name: method
    for method in (
        Method("hgb", "HistGradientBoosting, default", (), "scikit-learn"),
        Method("lightgbm", "LightGBM, default", (), "lightgbm"),
        Method("fenceline", "Fenceline", BUDGETS, "fenceline", search=True),
        Method("flaml", "FLAML", BUDGETS, "flaml", search=True),
        Method("optuna", "Optuna's TPE with LightGBM", BUDGETS, "optuna", search=True),
        Method("tpot", "TPOT", BUDGETS, "tpot", "tpot", search=True),
        Method("fenceline-votes", "Fenceline, ensemble=10", BUDGETS[-1:], "fenceline"),
        Method(
            "autogluon", "AutoGluon, medium quality", BUDGETS[-1:], "autogluon.tabular", "autogluon"
        ),
        Method("mljar", "mljar", BUDGETS[-1:], "mljar-supervised", "mljar"),
    )
}
"""In the order in which they take turns on each table."""


def candidates(data: Path) -> list[Entry]:
    """Return every table that can be drawn."""
    found = (e for e in catalogue(data) if e.path.split("/")[0] in REPORTED)
    return [entry for entry in found if entry.rows >= FEWEST_ROWS]


def draw(entries: Sequence[Entry], seed: int) -> list[Entry]:
    """Draw sixteen tables, mixed in task and, within each task, in size."""
    rng = np.random.default_rng(seed)
    drawn = []
    for task, count in QUOTA.items():
        drawn += spread([entry for entry in entries if entry.task == task], count, rng)
    return drawn


def interpreter(method: Method, given: Mapping[str, str]) -> str | None:
    """Return the Python of a method; None where its environment is not there."""
    if not method.environment:
        return sys.executable
    python = Path(given.get(method.name, f".venv-{method.environment}/bin/python"))
    return str(python.absolute()) if python.exists() else None


def jobs_of(
    entries: Sequence[Entry],
    methods: Sequence[Method],
    budgets: Sequence[int],
    *,
    seed: int,
    data: Path,
    out: Path,
    pythons: Mapping[str, str] | None = None,
    prefix: str = "",
) -> list[Job]:
    """Return all jobs: table by table and budget by budget, methods taking turns."""
    state = source() if any(method.ours for method in methods) else ""
    jobs = []
    for entry in entries:
        for budget in (0, *budgets):
            for method in methods:
                python = interpreter(method, pythons or {})
                if python is None or budget not in (method.budgets or (0,)):
                    continue
                settings = {
                    "table": entry.path,
                    "task": entry.task,
                    "method": method.name,
                    "seconds": budget,
                    "seed": seed,
                } | ({SOURCE: state} if method.ours else {})
                limit = _LATE * budget + _GRACE
                name = f"{entry.name}-{method.name}-{budget}s-seed{seed}"
                jobs.append(
                    Job(
                        "benchmarks.automl.fit",
                        out,
                        name,
                        settings,
                        data,
                        limit,
                        budget > 0,
                        python,
                        prefix,
                    )
                )
    return jobs

"""Run (algorithm, problem seed) jobs for equal seconds of the processor; keep incumbents and settings."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

import fenceline as fl
from benchmarks.incumbents import Trajectory
from benchmarks.tables import write_csv
from fenceline.evaluation.evaluator import Progress
from fenceline.minimize import SearchAlgorithm
from fenceline.problem.problem import BudgetSpent

_ENDLESS = 10**9
"""Evaluations of a search that the clock ends."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One algorithm of a benchmark.

    Parameters
    ----------
    name : str
        As it stands in legends and tables.
    build : callable
        Makes the algorithm; a module-level callable, for it travels to other processes. It may
        import what it needs: the clock is not running yet.
    needs : str
        Distribution that `build` imports, if it is not one of ours.
    restart_after : int, optional
        Evaluations after which the algorithm starts afresh. For algorithms without memory only:
        a long random search would otherwise fill the machine with its history.
    """

    name: str
    build: Callable[[], SearchAlgorithm]
    needs: str = "fenceline"
    restart_after: int | None = None

    @property
    def slug(self) -> str:
        """The name as part of a file's name; a star, for a warm start, is spelt out."""
        spelt = self.name.lower().replace("*", "-warm")
        return re.sub(r"[^a-z0-9.]+", "-", spelt).strip("-")

    @property
    def installed(self) -> bool:
        """Whether the algorithm can run here."""
        try:
            importlib.metadata.version(self.needs)
        except importlib.metadata.PackageNotFoundError:
            return False
        return True


class Task(Protocol):
    """A piece of work that leaves a CSV, written last, and a JSON of its settings beside it."""

    @property
    def part(self) -> Path: ...
    @property
    def record(self) -> Path: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def done(self) -> bool: ...
    @property
    def label(self) -> str: ...


AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True, slots=True)
class Job:
    """One curve on one problem, and the directory its result goes to."""

    curve: Curve
    problem: Callable[[int], fl.Problem]
    seed: int
    seconds: float
    directory: Path

    @property
    def part(self) -> Path:
        """The CSV of the trajectory, written last."""
        return self.directory / f"{self.curve.slug}-seed{self.seed}.csv"

    @property
    def record(self) -> Path:
        """The JSON beside it: settings and outcome."""
        return self.part.with_suffix(".json")

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on, apart from the machine."""
        names = sorted({"fenceline", "numpy", "scipy", self.curve.needs})
        return {
            "curve": self.curve.name,
            "algorithm": describe(self.curve.build()),
            "problem_seed": self.seed,
            "seconds": self.seconds,
            "restart_after": self.curve.restart_after,
            "versions": {name: importlib.metadata.version(name) for name in names},
        }

    @property
    def done(self) -> bool:
        """Whether there is a result, and it was made with these settings."""
        return is_done(self)

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.curve.name}, seed {self.seed}"


def is_done(task: Task) -> bool:
    """Tell whether there is a result, and it was made with these settings."""
    if not task.part.exists():
        return False
    settings: object = json.loads(task.record.read_text())["settings"]
    # Through JSON, which makes lists of tuples.
    return bool(settings == json.loads(json.dumps(task.settings)))


def run_all(
    jobs: Sequence[AnyTask], processes: int, work: Callable[[AnyTask], None] | None = None
) -> None:
    """Run what has not been run yet, with progress on standard output.

    `work` is a module-level function that does one task; :func:`run` if not given.
    """
    # Two jobs with one file would overwrite each other, and two curves would look the same.
    shared = [path for path, n in Counter(job.part for job in jobs).items() if n > 1]
    if shared:
        raise ValueError(
            f"Several jobs would write {shared[0].name}; give their curves other names."
        )
    waiting = [job for job in jobs if not job.done]
    print(f"{len(jobs) - len(waiting)} of {len(jobs)} runs are there already", flush=True)
    work = run if work is None else work  # type: ignore[assignment]
    assert work is not None
    for count, job in enumerate(_finished(waiting, processes, work), 1):
        print(f"[{count}/{len(waiting)}] {job.label}", flush=True)


def _finished(
    jobs: Sequence[AnyTask], processes: int, work: Callable[[AnyTask], None]
) -> Iterable[AnyTask]:
    if processes == 1:
        for job in jobs:
            work(job)
            yield job
        return
    # Fresh interpreters: forked ones would share the parent's BLAS state.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(work, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                future.result()
                yield futures[future]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class ProcessorClock:
    """Ends a search after so many seconds of the processor, and says when each evaluation was there.

    A search that thinks in one thread needs as long by this clock as by that on the wall of an idle
    machine, and as long beside other work: curves can then be compared that did not run at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.process_time()
        self.times: list[float] = []

    @property
    def elapsed(self) -> float:
        """Seconds of the processor since the clock was made."""
        return time.process_time() - self._started

    def __call__(self, progress: Progress) -> None:
        """Note the time of an evaluation; the one that comes too late is the last."""
        self.times.append(self.elapsed)
        if self.times[-1] >= self._seconds:
            raise BudgetSpent


def run(job: Job) -> None:
    """Run one job and write its trajectory, and its settings beside it."""
    problem, algorithm = job.problem(job.seed), job.curve.build()
    _warm_up(job.problem, algorithm)
    rows: list[tuple[float, int, float]] = []
    count = iterations = restarts = 0
    best = math.inf
    started, clock = time.perf_counter(), ProcessorClock(job.seconds)
    while clock.elapsed < job.seconds:
        result = fl.minimize(
            problem,
            evaluations=job.curve.restart_after or _ENDLESS,
            algorithm=algorithm,
            # Streams of one seed must not repeat themselves after a restart.
            seed=job.seed + 1_000_003 * restarts,
            callbacks=[clock],
        )
        if result.ended == "interrupted":  # a search cut short is no search
            raise KeyboardInterrupt
        for n, evaluation in enumerate(result.evaluations, count + 1):
            in_time = clock.times[n - 1] < job.seconds
            if in_time and evaluation.feasible and evaluation.objective < best:
                best = evaluation.objective
                rows.append((clock.times[n - 1], n, best))
        count += len(result.evaluations)
        iterations += len(result.iterations)
        restarts += 1
        if result.ended == "finished":
            break
    outcome = {
        "ended": "seconds" if clock.elapsed >= job.seconds else result.ended,
        "evaluations": sum(t < job.seconds for t in clock.times),
        "iterations": iterations,
        "wall_seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(clock.elapsed, 3),
        "optimum": problem.optimum,
    }
    keep(job, outcome, ("seconds", "evaluation", "objective"), rows)


def keep(
    task: Task,
    outcome: dict[str, Any],
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
) -> None:
    """Write what a task found, so that a run cut short leaves no half of it."""
    task.part.parent.mkdir(parents=True, exist_ok=True)
    task.part.unlink(missing_ok=True)
    record = {"settings": task.settings, "outcome": outcome}
    task.record.write_text(json.dumps(record, indent=1) + "\n")
    unfinished = task.part.with_suffix(f".{os.getpid()}")
    write_csv(unfinished, header, rows)
    unfinished.replace(task.part)


@cache
def _warm_up(problem: Callable[[int], fl.Problem], algorithm: SearchAlgorithm) -> None:
    """Let lazy imports and caches happen once per process before the clock runs."""
    fl.minimize(problem(0), evaluations=40, seconds=0.3, algorithm=algorithm, seed=12345)


def describe(settings: object) -> Any:
    """Return a record of settings, with the records inside it, in JSON's types."""
    if is_dataclass(settings) and not isinstance(settings, type):
        values = {f.name: describe(getattr(settings, f.name)) for f in fields(settings)}
        return {"type": type(settings).__name__} | values
    return settings


def read(job: Job) -> Trajectory:
    """Return the trajectory of a job that was run."""
    if not job.done:
        raise ValueError(
            f"{job.part.name} is missing or was made with other settings; run it again."
        )
    with job.part.open(newline="") as file:
        rows = [
            (float(r["seconds"]), int(r["evaluation"]), float(r["objective"]))
            for r in csv.DictReader(file)
        ]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
    outcome = json.loads(job.record.read_text())["outcome"]
    share = outcome["cpu_seconds"] / outcome["wall_seconds"]
    return Trajectory(table[:, 0], table[:, 1], table[:, 2], outcome["evaluations"], share)


def write_records(path: Path, records: Sequence[Any]) -> None:
    """Write dataclasses of one kind, one a row."""
    write_csv(
        path, [f.name for f in fields(records[0])], [tuple(asdict(r).values()) for r in records]
    )

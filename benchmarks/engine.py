"""What the engines and the journal cost: tasks per second, idle workers, writes, opening.

Run ``python -m benchmarks.engine`` from the root. The table has one row for each target of the
evaluation layer; the exit status is 1 when one is missed. Dask is included when it is installed.
"""

import contextlib
import csv
import importlib.util
import logging
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fenceline import (
    Algorithm,
    Configuration,
    Evaluation,
    Module,
    Problem,
    Real,
    Space,
    StructuredBO,
    minimize,
)
from fenceline.evaluation import Engine, Local
from fenceline.problems import artificial
from fenceline.store import RunDirectory

OUTPUT = Path("out/engine.csv")
WORKERS = 32
ROUNDS = 6
EVALUATIONS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement and its target."""

    name: str
    value: float
    unit: str
    target: float
    more_is_better: bool = True

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.value >= self.target if self.more_is_better else self.value <= self.target


def nothing(_: object) -> None:
    """The cheapest task."""


def warm_up(engine: Engine) -> None:
    """Have every worker started before the clock is."""
    for _ in range(2):
        for ticket in range(engine.workers):
            engine.submit(ticket, 0.5)
        for _ in range(engine.workers):
            engine.next()


def rate(engine: Engine, tasks: int) -> float:
    """Return no-op tasks per second."""
    engine.put(nothing)
    for ticket in range(engine.workers):
        engine.submit(ticket, None)
    while engine.next() is not None:
        pass
    start = time.perf_counter()
    for ticket in range(tasks):
        engine.submit(ticket, None)
    while engine.next() is not None:
        pass
    return tasks / (time.perf_counter() - start)


def efficiency(engine: Engine, ahead: int) -> float:
    """Return the share of time workers spent in tasks that sleep for one second.

    `ahead` is how many tasks are handed in before they are needed; with none, a worker waits
    until the caller has seen its result, as it does for an optimiser. The first round and what
    still runs at the end do not count: a run has them once.
    """
    engine.put(time.sleep)
    warm_up(engine)
    workers = engine.workers
    for ticket in range(workers + ahead):
        engine.submit(ticket, 1.0)
    start = 0.0
    for finished in range(1, (ROUNDS + 1) * workers + 1):
        engine.next()
        engine.submit(workers + ahead + finished, 1.0)
        if finished == workers:
            start = time.perf_counter()
    return ROUNDS / (time.perf_counter() - start)


class Slow:
    """Takes a second to measure an artificial problem, and to begin with until all workers run."""

    def __init__(self, problem: Problem, folder: str, workers: int) -> None:
        self.problem, self.folder, self.workers = problem, folder, workers

    def __call__(self, configuration: Configuration) -> Mapping[str, float]:
        present = Path(self.folder, str(os.getpid()))
        if not present.exists():
            present.touch()
            while len(os.listdir(self.folder)) < self.workers:
                time.sleep(0.1)
        time.sleep(1.0)
        return self.problem.measure(configuration)


def efficiency_of_search(engine: Engine) -> float:
    """Return the share of time workers spent in one-second measurements while the default proposed.

    A worker is given its next task only when the optimiser, in this process, has proposed one, so
    32 proposals a second are needed. What a run has once does not count: processes that start, the proposals that all of them then
    want at the same moment, and the end, when they run out of work.
    """
    problem, workers = artificial(3), engine.workers
    with tempfile.TemporaryDirectory() as folder:
        found = minimize(
            Problem(problem.space, Slow(problem, folder, workers)),
            evaluations=(ROUNDS + 2) * workers,
            algorithm=StructuredBO(),
            engine=engine,
        )
    start, end = found.finished_at[2 * workers - 1], found.finished_at[-workers]
    busy = sum(
        max(0.0, min(end, at) - max(start, at - evaluation.seconds))
        for at, evaluation in zip(found.finished_at, found.evaluations, strict=True)
    )
    return busy / (workers * (end - start))


def engine_rows(label: str, open_engine: Callable[[], Engine]) -> Iterator[Row]:
    """Measure how busy an engine keeps its workers."""
    for name, ahead, target in [("queued", WORKERS, 0.95), ("on demand", 0, 0.90)]:
        with contextlib.closing(open_engine()) as engine:
            busy = efficiency(engine, ahead)
        yield Row(f"{label}: efficiency of {WORKERS} workers, 1 s tasks, {name}", busy, "", target)
    with contextlib.closing(open_engine()) as engine:
        busy = efficiency_of_search(engine)
    yield Row(
        f"{label}: efficiency of {WORKERS} workers, 1 s tasks, the default proposing",
        busy,
        "",
        0.90,
    )


def dask_rows() -> Iterator[Row]:
    """Measure the same on a cluster of two Dask workers with half of the threads each."""
    from distributed.deploy.subprocess import SubprocessCluster

    from fenceline.evaluation import Dask

    # A scheduler in this process, as LocalCluster has it, would compete with the optimiser.
    with SubprocessCluster(
        n_workers=2,
        threads_per_worker=WORKERS // 2,
        dashboard_address=None,
        host="127.0.0.1",
        silence_logs=logging.ERROR,
    ) as cluster:
        cluster.wait_for_workers(2)
        yield from engine_rows("Dask", lambda: Dask(cluster.scheduler_address))


def journal_rows() -> Iterator[Row]:
    """Measure writing and opening, and the memory of the process that writes."""
    space = Space([Module("model", [Algorithm("logit", {"C": Real(1e-3, 1e3, log=True)})])])
    proposed = space.configuration({"model": ("logit", {"C": 0.5})})
    with tempfile.TemporaryDirectory(dir=".") as directory:
        path = Path(directory) / "run"
        write(path, proposed, 200)  # imports, caches, the first blocks of the file
        before, start = memory(), time.perf_counter()
        write(path, proposed, EVALUATIONS)
        seconds, grown = time.perf_counter() - start, memory() - before
        yield Row("journal: durable records per second", 2 * EVALUATIONS / seconds, "/s", 200)
        yield Row("journal: memory gained in 20,000 evaluations", grown, "MB", 10, False)
        opening = min(seconds_to_open(path) for _ in range(3))  # the machine may be shared
        yield Row("journal: opening 20,000 evaluations", opening, "s", 2.0, False)


def seconds_to_open(path: Path) -> float:
    """Return how long it takes to open a run that is there."""
    start = time.perf_counter()
    RunDirectory.open(path, {"seed": 0}).close()
    return time.perf_counter() - start


def write(path: Path, proposed: Configuration, count: int) -> None:
    """Write evaluations until there are so many."""
    measured = Evaluation(proposed, {"loss": 0.25, "latency_us": 8.5}, 0.25, 0.0, "ok", 0.125)
    with RunDirectory.open(path, {"seed": 0}) as run:
        first = len(run.events) // 2
        run.events.clear()
        for ticket in range(first, count):
            run.propose(ticket, proposed)
            run.finish(ticket, measured)


def memory() -> float:
    """Return the resident memory of this process in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure() -> Iterator[Row]:
    """Measure everything that is installed."""
    with contextlib.closing(Local(os.cpu_count() or 1)) as engine:
        yield Row("Local: no-op tasks per second", rate(engine, 10_000), "/s", 2000)
    yield from engine_rows("Local", lambda: Local(WORKERS))
    if importlib.util.find_spec("distributed") is not None:
        yield from dask_rows()
    else:
        print("Dask is not installed and left out; pip install fenceline[dask]")
    yield from journal_rows()


def main() -> int:
    rows = []
    for row in measure():
        rows.append(row)
        sign = "at least" if row.more_is_better else "at most"
        print(
            f"{row.name:58} {row.value:10.3f} {row.unit:3} {sign} {row.target:g}"
            f"{'' if row.met else '   MISSED'}",
            flush=True,
        )
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main())

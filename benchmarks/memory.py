"""How much memory a search on a large table takes, in all its processes together.

Run ``python -m benchmarks.memory`` from the root (Linux). `FencelineClassifier` searches a table of
500,000 x 30 floats with two workers, under constraints so that all its parts take part, while a
thread adds up the proportional set sizes (PSS) of this process and its children: pages that
several processes share count once. The exit status is 1 when the target is missed.
"""

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fenceline import Algorithm, FencelineClassifier, Module, Real, Space, metrics
from fenceline.problem.parameter import Integer

MEGA = 1e6
TABLES, EXTRA_MB = 2.5, 1000.0
"""The target: so many times the table, and so much more for libraries."""
TICK_SECONDS = 0.05


def family(root: int) -> list[int]:
    """Return a process and all its descendants."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            # The command's name stands in parentheses and may hold anything.
            status = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            parents[int(name)] = int(status[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def megabytes(process: int) -> float:
    """Return the proportional set size of a process; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / MEGA
    return 0.0


class Gauge:
    """Watches the memory of this process and its children, and remembers the largest sum."""

    def __init__(self) -> None:
        self.peak: dict[int, float] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Watch while the context is open."""
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    @property
    def megabytes(self) -> float:
        """All processes together, when they held most."""
        return sum(self.peak.values())

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(TICK_SECONDS):
            now = {process: megabytes(process) for process in family(os.getpid())}
            if sum(now.values()) > self.megabytes:
                self.peak = now


def space() -> Space:
    """Return a space of scalers and cheap models."""
    return Space(
        [
            Module(
                "scaler",
                [Algorithm("none"), Algorithm("StandardScaler"), Algorithm("MinMaxScaler")],
            ),
            Module(
                "estimator",
                [
                    Algorithm("GaussianNB"),
                    Algorithm("HistGradientBoosting", {"max_iter": Integer(5, 20)}),
                    Algorithm("LogisticRegression", {"C": Real(0.01, 10.0, log=True)}),
                ],
            ),
        ]
    )


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--evaluations", type=int, default=12)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.columns))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=options.rows) > 0).astype(int)
    table = X.nbytes / MEGA
    before, gauge, start = megabytes(os.getpid()), Gauge(), time.perf_counter()
    model = FencelineClassifier(
        constraints=[metrics.size_mb() <= 50, metrics.false_positive_rate() <= 0.5],
        space=space(),
        evaluations=options.evaluations,
        workers=options.workers,
        engine="local",
    )
    with gauge.running():
        model.fit(X, y)
    target = TABLES * table + EXTRA_MB
    met = gauge.megabytes <= target
    print(f"table {table:.0f} MB; this process before the search {before:.0f} MB")
    print(f"{len(model.result_.evaluations)} pipelines in {time.perf_counter() - start:.0f} s")
    for process, held in sorted(gauge.peak.items()):
        print(f"  process {process}{' (parent)' if process == os.getpid() else ''}: {held:.0f} MB")
    print(
        f"all together {gauge.megabytes:.0f} MB{'' if met else '   MISSED'} "
        f"(at most {TABLES:g} tables and {EXTRA_MB:g} MB: {target:.0f} MB)"
    )
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())

"""Many short tasks for a long time: throughput, the parent's memory, and whether anything is lost.

``python -m benchmarks.load --engine local --workers 32 --minutes 10`` prints a line a minute. With
``--engine dask`` it starts a scheduler and one worker process of as many threads.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fenceline.evaluation import Engine, Limits, open_engine

LINE_SECONDS = 60.0


def resident_megabytes() -> float:
    """Return the memory that this process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def pausing() -> Callable[[int], int]:
    def pause(number: int) -> int:
        time.sleep(0.05)
        return number

    return pause  # sent as a whole: workers need not import this file


@contextlib.contextmanager
def dask_cluster(threads: int) -> Iterator[str]:
    """Start a scheduler and a worker on the loopback interface."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        file = Path(folder, "scheduler.json")

        def start(*words: object) -> None:
            command = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
            stack.callback(process.terminate)

        start("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
        while not file.exists():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        start("worker", address, "--nthreads", threads, "--local-directory", folder)
        yield address.replace("tcp", "dask")


def load(engine: Engine, workers: int, minutes: float) -> None:
    """Keep an engine busy, a line a minute; stop if an answer is false, missing or there twice."""
    engine.put(pausing())
    pending: set[int] = set()
    submitted = answered = shown = 0
    started = minute = time.monotonic()
    end = started + 60 * minutes
    print("seconds   tasks/s  parent MB  pending", flush=True)
    while pending or time.monotonic() < end:
        while len(pending) < workers + workers // 8 and time.monotonic() < end:
            engine.submit(submitted, submitted)
            pending.add(submitted)
            submitted += 1
        finished = engine.next(60.0)
        assert finished is not None, f"nothing came for a minute; {len(pending)} are pending"
        ticket, outcome = finished
        pending.remove(ticket)
        assert (outcome.status, outcome.value) == ("ok", ticket), outcome
        answered += 1
        now = time.monotonic()
        if now - minute >= LINE_SECONDS or not pending:
            rate = (answered - shown) / (now - minute)
            print(
                f"{now - started:7.0f} {rate:9.1f} {resident_megabytes():10.1f} {len(pending):8}",
                flush=True,
            )
            minute, shown = now, answered
    rate = answered / (time.monotonic() - started)
    print(f"{submitted} tasks, {answered} answers, {rate:.1f} a second; nothing was lost.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["local", "dask"], default="local")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=10.0)
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        address = "local"
        if given.engine == "dask":
            address = stack.enter_context(dask_cluster(given.workers))
        engine = open_engine(address, given.workers, Limits(seconds=60))
        stack.enter_context(contextlib.closing(engine))
        load(engine, given.workers, given.minutes)


if __name__ == "__main__":
    main()

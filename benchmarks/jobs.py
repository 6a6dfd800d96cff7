"""Fits in processes of their own, some at a time, each leaving a record, so that a run can go on where it stopped.

The child reads its settings as JSON, so that it may be another interpreter with other packages: some
rivals cannot live together in one environment.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
SOURCE = "source"
"""The setting that says which state of Fenceline was measured."""
CROWDED = 0.3
"""A timed fit does not count when programs waited for a processor for more than this share of it.

Two fits with one worker each on two idle cores come to a few per cent; with neighbours on the machine
FLAML had 3.4 seconds of the processor in a budget of 10.
"""
_POLL_SECONDS = 0.1
_PRESSURE = Path("/proc/pressure/cpu")


@dataclass(frozen=True)
class Job:
    """One fit.

    Parameters
    ----------
    module : str
        What the child runs, as ``python -m``; it ends in :func:`serve`.
    directory : Path
        Where the record goes.
    name : str
        Of the record.
    settings : mapping
        All that the outcome depends on, apart from the machine; in JSON's types.
    data : Path
        Where the tables are on this machine.
    limit : float
        Seconds after which the child is ended, from the moment it runs.
    timed : bool
        Whether the outcome depends on how fast the machine is.
    python : str
        The interpreter.
    prefix : str
        A command that is put before it, such as ``nice -n 10``.
    """

    module: str
    directory: Path
    name: str
    settings: Mapping[str, Any]
    data: Path
    limit: float
    timed: bool = True
    python: str = sys.executable
    prefix: str = ""

    @property
    def record(self) -> Path:
        """The JSON of settings and outcome."""
        return self.directory / f"{self.name}.json"

    def outcome(self, any_source: bool = False) -> dict[str, Any] | None:
        """Return what was found with these settings, or with another state of our source; None if not run."""
        if not self.record.exists():
            return None
        kept = json.loads(self.record.read_text())
        before, now = dict(kept["settings"]), dict(self.settings)
        if any_source:
            before.pop(SOURCE, None)
            now.pop(SOURCE, None)
        found: dict[str, Any] = kept["outcome"]
        return found if before == json.loads(json.dumps(now)) else None

    @property
    def crowded(self) -> bool:
        """Whether a timed fit had to share its processor: a slow machine is no slow rival."""
        found = self.outcome(any_source=True)
        return bool(self.timed and found and (found.get("pressure") or 0.0) > CROWDED)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the child predicted."""
        with np.load(self.record.with_suffix(".npz")) as kept:
            return {name: kept[name] for name in kept.files}


def keep(
    record: Path, settings: Mapping[str, Any], outcome: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write the record last, at once or not at all."""
    record.parent.mkdir(parents=True, exist_ok=True)
    if arrays:
        part = record.with_suffix(".part.npz")
        np.savez_compressed(part, **arrays)  # type: ignore[arg-type]
        part.replace(record.with_suffix(".npz"))
    unfinished = record.with_suffix(".part")
    unfinished.write_text(json.dumps({"settings": settings, "outcome": outcome}, indent=1) + "\n")
    unfinished.replace(record)


def serve(run: Callable[[dict[str, Any], Path], tuple[dict[str, Any], Arrays]]) -> int:
    """Be the child: read the settings from standard input, run, write the record."""
    record, data = Path(sys.argv[1]), Path(sys.argv[2])
    settings = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    record.with_suffix(".started").touch()
    arrays: Arrays = {}
    start, waited = time.monotonic(), _waited()
    try:
        outcome, arrays = run(settings, data)
    except Exception as problem:
        outcome = {"error": traceback.format_exception_only(problem)[-1].strip()[:500]}
        traceback.print_exc()
    share = (_waited() - waited) / (time.monotonic() - start)
    outcome["pressure"] = None if math.isnan(share) else round(share, 3)
    keep(record, settings, outcome, arrays)
    sys.stdout.flush()
    # Threads that a library left behind must not hold up the next fit.
    os._exit(0)


def _waited() -> float:
    """Return the seconds in which some program waited for a processor; NaN where nobody counts them."""
    try:
        some = _PRESSURE.read_text().splitlines()[0]
    except OSError:
        return math.nan
    return float(some.rpartition("=")[2]) / 1e6


def run_apart(job: Job, stop: Event | None = None) -> None:
    """Run a job in a process of its own, which is ended with all its children if it does not end.

    When `stop` is set it is ended, too, and leaves no record.
    """
    job.directory.mkdir(parents=True, exist_ok=True)
    started = job.record.with_suffix(".started")
    started.unlink(missing_ok=True)
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [*shlex.split(job.prefix), job.python, "-m", job.module]
    command += [str(job.record), str(job.data)]
    with job.record.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        assert process.stdin is not None
        since: float | None = None
        error = ""
        try:
            process.stdin.write(json.dumps(job.settings).encode())
            process.stdin.close()
            while process.poll() is None:
                time.sleep(_POLL_SECONDS)
                if stop is not None and stop.is_set():
                    return
                # A prefix may wait for its turn: the clock runs when the child does.
                if since is None and started.exists():
                    since = time.monotonic()
                if since is not None and time.monotonic() - since > job.limit:
                    error = f"still running after {job.limit:.0f} s"
                    break
        except BrokenPipeError:
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            started.unlink(missing_ok=True)
    if error or job.outcome() is None:
        error = error or f"the process ended with status {process.returncode}"
        keep(job.record, job.settings, {"error": error}, {})


def run_all(jobs: Sequence[Job], at_once: int, allow_crowded: bool = False) -> None:
    """Run what has not been run yet, or on a crowded machine, with a progress bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    waiting = [job for job in jobs if job.outcome() is None or (job.crowded and not allow_crowded)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn()) as progress:
        bar = progress.add_task("runs", total=len(jobs), completed=len(jobs) - len(waiting))
        pool = ThreadPoolExecutor(at_once)
        stop = Event()
        futures = {pool.submit(run_apart, job, stop): job for job in waiting}
        try:
            for future in as_completed(futures):
                future.result()
                job = futures[future]
                outcome = job.outcome() or {}
                note = f": {outcome['error']}" if "error" in outcome else ""
                progress.console.print(f"{job.name}{note}", highlight=False)
                progress.advance(bar)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def source() -> str:
    """Return a digest of Fenceline's modules: another state of them is another contender."""
    spec = importlib.util.find_spec("fenceline")
    if spec is None or spec.origin is None:
        return "not installed"
    root = Path(spec.origin).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".json", ".gz"} and path.is_file():
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]

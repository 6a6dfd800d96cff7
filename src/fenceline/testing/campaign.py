"""A fault campaign that anybody can run: random schedules from a seed, one invariant.

``python -m fenceline.testing.campaign --engine local --minutes 5 --seed 7`` draws rounds (workers,
faults, moments to kill the run, damage to its journal) until the time is over, prints each, and
stops at the first that breaks the invariant of :func:`check`. ``--round 12`` repeats one.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fenceline.evaluation.limits import Limits
from fenceline.problem.configuration import Configuration
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.parameter import Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space
from fenceline.store import Finish, Proposal, RunDirectory, read_run
from fenceline.testing.faults import FAULTS, assert_no_survivors
from fenceline.testing.misdeeds import Errand, leave_name, perform

SETTLED_SECONDS = 0.25
"""A measurement that ended so long before the run was killed has finished: its outcome is on the disk."""
_ROUND_SECONDS = 300.0
_LIMITS = Limits(seconds=4.0, megabytes=400)
_CONTRACT = {"return a function", "return what cannot be pickled", "exit in its result"}
_IN_PROCESS = ("raise", "raise what cannot be pickled")
"""What a run without worker processes can survive."""
SPACE = Space(
    [Module("model", [Algorithm("a", {"x": Real(0, 1)}), Algorithm("b", {"x": Real(0, 1)})])]
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One round: what is run, and what is done to it."""

    engine: str
    workers: int
    evaluations: int
    seed: int
    rate: float
    """Which share of the pipelines misbehaves."""
    faults: tuple[str, ...]
    kills: tuple[tuple[float, int], ...]
    """After how many seconds the run gets which signal, each time it is started."""
    damage: tuple[str, ...]
    """What is done to the journal after each kill."""

    @classmethod
    def draw(cls, drawn: random.Random, engine: str) -> "Schedule":
        """Draw one."""
        serial = engine == "serial"
        known = _IN_PROCESS if serial else tuple(f for f in FAULTS if f not in _CONTRACT)
        kills = drawn.randint(0, 3)
        signals = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
        return cls(
            engine,
            1 if serial else drawn.randint(1, 4),
            drawn.randint(5, 25),
            drawn.randrange(2**31),
            drawn.choice([0.0, 0.1, 0.3]),
            tuple(drawn.sample(known, min(4, len(known)))),
            tuple((drawn.uniform(1.0, 6.0), int(drawn.choice(signals))) for _ in range(kills)),
            tuple(drawn.choice(["none", "none", "torn", "zeros"]) for _ in range(kills)),
        )


@dataclass(frozen=True, slots=True)
class Hostile:
    """A measure some of whose pipelines misbehave, always the same ones."""

    folder: str
    schedule: Schedule

    def deed(self, configuration: Configuration) -> str:
        """Return what this pipeline does."""
        drawn = random.Random(f"{self.schedule.seed} {configuration.key}")
        return drawn.choice(self.schedule.faults) if drawn.random() < self.schedule.rate else ""

    def __call__(self, configuration: Configuration) -> dict[str, float]:
        """Misbehave, or measure and note when it was done."""
        names, process = os.path.join(self.folder, "names"), os.getpid()
        deed = self.deed(configuration)
        if deed:
            perform(Errand(deed, 1, names))
        elif self.schedule.engine != "serial":
            leave_name(Errand("", 0, names))
        time.sleep(0.02)
        if os.getpid() != process:
            return {}  # a copy that the deed has left behind: it is not what was asked
        with open(os.path.join(self.folder, "notes"), "a") as notes:
            notes.write(f"{time.time()} {configuration.key}\n")
        return {"loss": loss(configuration)}


def loss(configuration: Configuration) -> float:
    """Return the truth."""
    choice = configuration["model"]
    place = choice.params["x"]
    assert isinstance(place, float)
    return place + (choice.algorithm == "b")


def search(folder: Path, schedule: Schedule, address: str) -> float | None:
    """Run the search of a round, or continue it; return the best loss."""
    from fenceline.baselines import RandomSearch
    from fenceline.minimize import minimize

    serial = schedule.engine == "serial"
    result = minimize(
        Problem(SPACE, Hostile(str(folder), schedule)),
        evaluations=schedule.evaluations,
        workers=schedule.workers,
        engine=None if serial else address or schedule.engine,
        limits=None if serial else _LIMITS,
        run_dir=folder / "run",
        seed=schedule.seed,
        algorithm=RandomSearch(),
    )
    return None if result.best is None else result.best.objective


def play(folder: Path, schedule: Schedule, address: str = "") -> None:
    """Play a round and check it."""
    for name in ("names", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "notes").touch()
    kills, torn = [], set()
    for (seconds, number), damage in zip(schedule.kills, schedule.damage, strict=True):
        with _started(folder, schedule, address) as run:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(seconds)
            kills.append(time.time())
            run.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(30)
        if schedule.engine in ("serial", "local"):
            assert_no_survivors(folder / "names")
        torn |= _damage(folder / "run" / "journal.jsonl", damage)
    with _started(folder, schedule, address) as run:
        printed, _ = run.communicate(timeout=_ROUND_SECONDS)
    assert run.returncode == 0, f"the run ended with {run.returncode}"
    check(folder, schedule, json.loads(printed.splitlines()[-1]), kills, torn)


def check(
    folder: Path, schedule: Schedule, best: float | None, kills: Sequence[float], torn: set[str]
) -> None:
    """Check the invariant.

    Every evaluation in the journal is true, none that finished is measured again, the answer is
    one of them, and no process, lock or temporary file is left.
    """
    meta, events = read_run(folder / "run")
    proposed = {
        e.ticket: SPACE.configuration(e.configuration) for e in events if isinstance(e, Proposal)
    }
    outcomes = [e for e in events if isinstance(e, Finish)]
    hostile = Hostile(str(folder), schedule)
    good = []
    for outcome in outcomes:
        configuration = proposed[outcome.ticket]
        deed = hostile.deed(configuration)
        wanted = FAULTS[deed] if deed else "ok"
        assert outcome.status == wanted, f"{deed or 'a good one'} became {outcome}"
        if wanted == "ok":
            assert outcome.metrics == {"loss": loss(configuration)}
            good.append(loss(configuration))
    assert len(outcomes) == schedule.evaluations, f"{len(outcomes)} outcomes"
    assert best == (min(good) if good else None), f"the answer is {best}"
    first: dict[str, float] = {}
    for line in (folder / "notes").read_text().splitlines():
        at, _, key = line.partition(" ")
        if key in first and key not in torn:
            excused = any(first[key] > kill - SETTLED_SECONDS for kill in kills if kill < float(at))
            assert excused, f"measured again, {float(at) - first[key]:.3f} s later: {key}"
        first[key] = float(at)
    RunDirectory.open(folder / "run", meta).close()  # nobody holds the lock
    left = {path.name for path in (folder / "run").iterdir()} - {"meta.json", "journal.jsonl"}
    assert not left, f"left in the run directory: {left}"
    if schedule.engine in ("serial", "local"):
        assert not list((folder / "tmp").iterdir()), "temporary files are left"
        assert_no_survivors(folder / "names")


@contextlib.contextmanager
def _started(folder: Path, schedule: Schedule, address: str) -> "Iterator[subprocess.Popen[bytes]]":
    words = [sys.executable, "-W", "ignore", "-m", "fenceline.testing.campaign", "--play"]
    words += [str(folder), json.dumps(asdict(schedule)), address]
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    if schedule.engine == "ray":
        environment.pop("TMPDIR")  # Ray's sockets need short paths
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        ) as run,
    ):
        try:
            yield run
        finally:
            if run.poll() is None:
                run.kill()


def _damage(journal: Path, damage: str) -> set[str]:
    """Damage a journal as a loss of power does; return whose outcome was lost with its end."""
    if damage == "none" or not journal.exists():
        return set()
    content = journal.read_bytes()
    if damage == "zeros":
        journal.write_bytes(content + bytes(64))
        return set()
    *whole, last = content.splitlines(keepends=True)
    if not whole or not last.endswith(b"\n"):
        return set()  # nothing was written since the last damage
    journal.write_bytes(b"".join(whole) + last[: len(last) // 2])
    record = json.loads(last)
    if record["kind"] != "outcome":
        return set()
    asked = (json.loads(line) for line in whole)
    lost = (r["configuration"] for r in asked if r.get("ticket") == record["ticket"])
    return {SPACE.configuration(next(lost)).key}


def campaign(engine: str, minutes: float, seed: int, only: int | None, address: str = "") -> int:
    """Play rounds until the time is over; return how many."""
    until = time.monotonic() + 60 * minutes
    number = 0 if only is None else only
    while True:
        schedule = Schedule.draw(random.Random(f"{seed}/{engine}/{number}"), engine)
        folder = Path(tempfile.mkdtemp(prefix="fenceline-campaign-"))
        print(f"--engine {engine} --seed {seed} --round {number}: {schedule}", flush=True)
        try:
            play(folder, schedule, address)
        except BaseException:
            print(f"Broken; what is left of it is in {folder}.", flush=True)
            raise
        shutil.rmtree(folder)
        number += 1
        if only is not None or time.monotonic() > until:
            return number - (only or 0)


def main(words: Sequence[str] | None = None) -> None:
    """Run a campaign, or (for its own use) the search of one round."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=["serial", "local", "dask", "ray"], default="local")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--round", type=int, dest="only")
    parser.add_argument("--address", default="", help="of a Dask cluster: dask://host:port")
    parser.add_argument("--play", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.play:
        folder, told, address = given.play
        print(json.dumps(search(Path(folder), _read(json.loads(told)), address)))
        return
    if given.engine == "dask" and not given.address:
        parser.error("--engine dask needs --address")
    rounds = campaign(given.engine, given.minutes, given.seed, given.only, given.address)
    print(
        f"{rounds} rounds on {given.engine} with seed {given.seed}: nothing was lost, nothing is left."
    )


def _read(told: dict[str, Any]) -> Schedule:
    plain: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in told.items()}
    return Schedule(**plain | {"kills": tuple(map(tuple, told["kills"]))})


if __name__ == "__main__":
    main()

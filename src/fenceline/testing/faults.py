"""The suite every engine must pass: one bad task among good ones, in all the ways tasks are bad.

Subclass :class:`EngineFaultSuite` and supply one fixture::

    class TestMyEngine(EngineFaultSuite):
        @pytest.fixture
        def factory(self):
            return partial(MyEngine, workers=2)
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import cloudpickle
import pytest

from fenceline.errors import DefinitionError
from fenceline.evaluation.engines.engine import Engine, Outcome
from fenceline.evaluation.limits import Limits
from fenceline.problem.evaluation import Status
from fenceline.testing import misdeeds
from fenceline.testing.misdeeds import Errand, perform, survivors

EngineFactory: TypeAlias = Callable[[Limits], Engine]
"""Opens an engine of two workers or more with these limits; can be pickled."""

FAULTS: dict[str, Status] = {
    "raise": "error",
    "raise what cannot be pickled": "error",
    "return what cannot be pickled": "error",
    "exit": "crashed",
    "segfault": "crashed",
    "be killed": "crashed",
    "sleep": "timeout",
    "hold the GIL": "timeout",
    "allocate": "memory",
    "hoard": "memory",
    "breed": "timeout",
    "abandon children": "ok",
    "desert": "crashed",
    "shout": "ok",
    "return a function": "error",
    "exit in its result": "crashed",
    "write into the channel": "crashed",
    "close all files": "crashed",
    "leave a daemon and crash": "crashed",
    "leave a daemon and sleep": "timeout",
}
"""Every deed of :mod:`fenceline.testing.misdeeds` and the status it must get."""

LIMITS = Limits(seconds=2.0, megabytes=400)
ORPHAN_SECONDS = 30.0
"""How long an orphan may live; on an idle machine they are gone in milliseconds."""
_SILENT_SECONDS = 120.0
"""How long nothing may happen; an idle machine takes a second, a busy one half a minute for Ray."""

# Sent as a whole instead of by name: workers then start without importing the package, in a tenth
# of the time, and this suite starts many.
cloudpickle.register_pickle_by_value(misdeeds)

_SCRIPT = """
import signal, sys, cloudpickle
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
factory, errands, limits, perform = cloudpickle.load(open(sys.argv[1], "rb"))
engine = factory(limits)
engine.put(perform)
for ticket, errand in enumerate(errands):
    engine.submit(ticket, errand)
try:
    while True:
        engine.next(0.1)
except KeyboardInterrupt:
    engine.close()
"""


class EngineFaultSuite:
    """Tests that an engine returns every good task and tells the truth about a bad one."""

    @pytest.fixture
    def factory(self) -> EngineFactory:
        """Return how to open the engine under test: the one thing a subclass supplies."""
        raise NotImplementedError("supply a fixture `factory` that opens your engine")

    @pytest.fixture
    def engine(self, factory: EngineFactory) -> Iterator[Engine]:
        """Open an engine with limits, and close it."""
        engine = factory(LIMITS)
        engine.put(perform)
        with contextlib.closing(engine):
            yield engine

    def test_every_bad_task_is_typed_and_costs_no_good_one(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """Each fault once, between good tasks, and all in one life of the engine: a start takes seconds."""
        deeds = [deed for fault in FAULTS for deed in ("square", fault, "square")]
        outcomes = run(engine, deeds, tmp_path)
        bad = {deed: outcomes.pop(i) for i, deed in enumerate(deeds) if deed != "square"}
        assert {deed: outcome.status for deed, outcome in bad.items()} == FAULTS, bad
        assert all(outcome.message for outcome in bad.values() if outcome.status != "ok"), bad
        assert {i: outcome.value for i, outcome in outcomes.items()} == {i: i**2 for i in outcomes}
        engine.close()
        assert_no_survivors(tmp_path)

    def test_children_left_behind_end_with_their_task(self, engine: Engine, tmp_path: Path) -> None:
        """Not only when the engine is closed: a long run must not fill the machine."""
        outcomes = run(engine, ["abandon children", "breed"], tmp_path)
        assert [outcomes[ticket].status for ticket in (0, 1)] == ["ok", "timeout"]
        # The process of the good task may live on, warm for the next one.
        assert_no_survivors(tmp_path, allowed=1)

    def test_a_worker_that_crashed_is_replaced(self, engine: Engine, tmp_path: Path) -> None:
        """More crashes than workers."""
        outcomes = run(engine, ["segfault", "exit", "square"] * 3, tmp_path)
        assert [outcomes[ticket].status for ticket in range(9)] == [
            "crashed",
            "crashed",
            "ok",
        ] * 3

    def test_a_cancelled_task_ends_and_is_reported(self, engine: Engine, tmp_path: Path) -> None:
        """Running or queued, hanging in C or not; its neighbours are not touched."""
        deeds = ["hold the GIL", *["sleep"] * (engine.workers - 1), "square", "sleep"]
        for ticket, deed in enumerate(deeds):
            engine.submit(ticket, Errand(deed, ticket, str(tmp_path)))
        # A scheduler may let the good one begin before one that was handed over earlier.
        early = engine.next(0.3)
        done = {} if early is None else dict([early])
        assert set(done) <= {deeds.index("square")}
        *running, queued = (ticket for ticket, deed in enumerate(deeds) if deed != "square")
        for ticket in (queued, *running):
            engine.cancel(ticket)
        outcomes = done | collect(engine, len(deeds) - len(done))
        assert outcomes.pop(len(deeds) - 2).value == (len(deeds) - 2) ** 2
        assert {outcome.status for outcome in outcomes.values()} == {"cancelled"}

    def test_a_second_function_takes_the_place_of_the_first_and_its_tasks(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """An engine serves one run after the other; what the first left is not the second's."""
        for ticket, deed in enumerate(["square", "sleep", "sleep", "square"]):
            engine.submit(ticket, Errand(deed, ticket, str(tmp_path)))
        engine.next(10.0)
        engine.put(_twice)
        engine.submit(0, "x")
        assert {ticket: found.value for ticket, found in collect(engine, 1).items()} == {0: "xx"}
        assert engine.next(0.5) is None
        assert_no_survivors(tmp_path)

    def test_large_arguments_and_results_pass(self, factory: EngineFactory) -> None:
        """Far more than a pipe holds, both ways."""
        with contextlib.closing(factory(Limits())) as engine:
            engine.put(_twice)
            for ticket in range(3):
                engine.submit(ticket, "x" * 5_000_000)
            outcomes = collect(engine, 3)
        assert [len(outcomes[ticket].value) for ticket in range(3)] == [10_000_000] * 3

    def test_next_waits_no_longer_than_asked(self, engine: Engine, tmp_path: Path) -> None:
        """The caller has signals and a budget to look after; a busy machine may be late twice."""
        waits = []
        for attempt in range(3):
            engine.submit(attempt, Errand("sleep", attempt, str(tmp_path)))
            start = time.monotonic()
            assert engine.next(0.2) is None
            waits.append(time.monotonic() - start)
            if waits[-1] < 1.0:
                break
        assert min(waits) < 1.0

    def test_what_cannot_be_pickled_is_refused_with_the_reason(
        self, factory: EngineFactory
    ) -> None:
        """Before any process is started."""
        lock = threading.Lock()
        with (
            contextlib.closing(factory(LIMITS)) as engine,
            pytest.raises(DefinitionError, match="cannot be sent to a worker"),
        ):
            engine.put(lambda _: lock.locked())

    def test_close_ends_running_tasks(self, factory: EngineFactory, tmp_path: Path) -> None:
        """Without waiting for them."""
        with contextlib.closing(factory(Limits())) as engine:
            engine.put(perform)
            engine.submit(0, Errand("sleep", 0, str(tmp_path)))
            engine.submit(1, Errand("breed", 1, str(tmp_path)))
            wait_for_names(tmp_path, 17, engine)
        assert_no_survivors(tmp_path)

    @pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
    def test_no_orphan_survives_its_parent(
        self, factory: EngineFactory, end: signal.Signals, tmp_path: Path
    ) -> None:
        """Killed with -9 nobody can tidy up; after Ctrl-C `close` does."""
        names = tmp_path / "names"
        names.mkdir()
        errands = [Errand("breed", 0, str(names)), Errand("hold the GIL", 1, str(names))]
        parcel = tmp_path / "parcel"
        parcel.write_bytes(cloudpickle.dumps((factory, errands, Limits(), perform)))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", _SCRIPT, str(parcel)]
        with subprocess.Popen(command, env=environment, start_new_session=True) as parent:
            try:
                wait_for_names(names, 17)
            finally:
                parent.send_signal(end)
        assert_no_survivors(names)


def run(engine: Engine, deeds: list[str], directory: Path) -> dict[int, Outcome]:
    """Submit deeds, numbered in order, and wait for all of them."""
    for ticket, deed in enumerate(deeds):
        engine.submit(ticket, Errand(deed, ticket, str(directory)))
    return collect(engine, len(deeds))


def collect(engine: Engine, count: int) -> dict[int, Outcome]:
    """Wait for a number of tasks; each must be reported once."""
    outcomes: dict[int, Outcome] = {}
    until = time.monotonic() + _SILENT_SECONDS
    while len(outcomes) < count and time.monotonic() < until:
        if (finished := engine.next(0.5)) is not None:
            ticket, outcome = finished
            assert ticket not in outcomes, f"task {ticket} was reported twice"
            outcomes[ticket] = outcome
            until = time.monotonic() + _SILENT_SECONDS
    assert len(outcomes) == count, f"only {sorted(outcomes)} of {count} tasks came back"
    return outcomes


def assert_no_survivors(directory: Path, allowed: int = 0) -> None:
    """Check that the processes noted in a directory are gone in time."""
    until = time.monotonic() + ORPHAN_SECONDS
    while len(alive := survivors(directory)) > allowed and time.monotonic() < until:
        time.sleep(0.05)
    assert len(alive) <= allowed, f"still running: {alive}"


def wait_for_names(directory: Path, count: int, engine: Engine | None = None) -> None:
    """Wait until so many processes have noted themselves; an engine works while it is asked."""
    until = time.monotonic() + _SILENT_SECONDS
    while len(names := list(directory.iterdir())) < count and time.monotonic() < until:
        if engine is None:
            time.sleep(0.02)
        else:
            assert engine.next(0.02) is None
    assert len(names) >= count, f"only {len(names)} of {count} processes started"


def _twice(data: str) -> str:
    return data + data

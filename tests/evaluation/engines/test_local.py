import contextlib
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from fenceline.errors import DefinitionError, EngineError
from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.engines.local import Local
from fenceline.evaluation.limits import Limits
from fenceline.testing.faults import EngineFactory, EngineFaultSuite, collect
from fenceline.testing.misdeeds import started

# Sent as a whole: children need not import this file, and pytest with it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class TestLocalUnderFaults(EngineFaultSuite):
    @pytest.fixture
    def factory(self) -> EngineFactory:
        return partial(Local, 2)


def outcomes(
    function: Callable[[Any], Any], arguments: list[Any], workers: int = 1, **limits: Any
) -> list[Outcome]:
    with contextlib.closing(Local(workers, Limits(**limits))) as engine:
        engine.put(function)
        for ticket, argument in enumerate(arguments):
            engine.submit(ticket, argument)
        found = collect(engine, len(arguments))
    return [found[ticket] for ticket in range(len(arguments))]


class FailsToLoad:
    """Unpickles only where it was pickled."""

    def __init__(self) -> None:
        self.home = os.getpid()

    def __call__(self, argument: object) -> object:
        return argument

    def __setstate__(self, state: dict[str, int]) -> None:
        if state["home"] != os.getpid():
            raise ModuleNotFoundError("No module named 'only_at_home'")


class DiesLoading(FailsToLoad):
    def __setstate__(self, state: dict[str, int]) -> None:
        os._exit(7)


def test_a_worker_stays_warm_between_tasks() -> None:
    pids = {outcome.value for outcome in outcomes(lambda _: os.getpid(), [None] * 20)}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_arrays_are_shared_not_copied_and_cannot_be_changed() -> None:
    X = np.ones(8_000_000)

    def look(_: object) -> tuple[bool, int]:
        mapped = [
            line for line in Path("/proc/self/maps").read_text().splitlines() if " r--s " in line
        ]
        longest = max(int(b, 16) - int(a, 16) for a, b in (m.split()[0].split("-") for m in mapped))
        return X.flags.writeable, longest

    writeable, longest = outcomes(look, [None])[0].value
    assert not writeable
    assert longest > X.nbytes

    def change(_: object) -> None:
        X[0] = 2.0

    assert outcomes(change, [None])[0].status == "error"


def test_numerical_libraries_get_the_threads_of_the_limits() -> None:
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"]
    (found,) = outcomes(lambda _: [os.environ[name] for name in names], [None], threads=3)
    assert found.value == ["3"] * 3


def test_time_and_memory_of_each_task_are_measured() -> None:
    def work(megabytes: int) -> None:
        end = time.process_time() + 0.1
        block = bytearray(megabytes << 20)
        while time.process_time() < end:
            block[0] = 1

    large, small = outcomes(work, [300, 1])
    assert 300 < large.megabytes < 600
    assert small.megabytes < 300, "the peak of one task is not carried over to the next"
    assert large.cpu_seconds >= 0.1
    assert large.seconds >= large.cpu_seconds * 0.5


def test_a_worker_that_has_grown_is_replaced() -> None:
    hoard: list[bytearray] = []

    def leak(megabytes: int) -> int:
        hoard.append(bytearray(b"x" * (megabytes << 20)))
        return os.getpid()

    first, second, third = (outcome.value for outcome in outcomes(leak, [1, 600, 1]))
    assert first == second
    assert third != second


@pytest.mark.parametrize("length", [0.5, 100.0])
def test_a_task_that_overran_while_nobody_looked_is_a_timeout(
    length: float, tmp_path: Path
) -> None:
    end = tmp_path / "end"

    def overrun(seconds: float) -> int:
        time.sleep(seconds)
        end.touch()
        return os.getpid()

    with contextlib.closing(Local(1, Limits(seconds=0.3))) as engine:
        engine.put(overrun)
        engine.submit(0, 0.0)
        process = collect(engine, 1)[0].value
        end.unlink()
        engine.submit(1, length)
        # Both end: one by itself, the other by the alarm in its own process.
        until = time.monotonic() + 60
        while not end.exists() and started(process) is not None:
            assert time.monotonic() < until, "nothing ends it"
            time.sleep(0.02)
        finished = engine.next(60)
    assert finished is not None
    assert finished[1].status == "timeout"
    assert end.exists() == (length < 100)


def test_a_crash_is_reported_with_the_line_it_happened_in() -> None:
    (found,) = outcomes(lambda _: os.abort(), [None])
    assert found.status == "crashed"
    assert found.message == "The process died of SIGABRT."
    assert "test_local.py" in found.traceback


def test_a_task_that_writes_into_its_channel_is_the_only_one_lost() -> None:
    def meddle(bad: bool) -> int:
        if bad:
            for descriptor in range(3, 512):
                with contextlib.suppress(OSError):
                    os.write(descriptor, (8).to_bytes(8, "little") + b"rubbish!")
        return 1

    found = outcomes(meddle, [False, True, False])
    assert [outcome.status for outcome in found] == ["ok", "crashed", "ok"]


def test_a_function_that_workers_cannot_load_stops_with_the_reason() -> None:
    with pytest.raises(EngineError, match=r"cannot load the function.*only_at_home"):
        outcomes(FailsToLoad(), [1])


def test_workers_that_die_at_the_start_are_not_started_for_ever() -> None:
    with pytest.raises(EngineError, match=r"3 in a row ended.*status 7"):
        outcomes(DiesLoading(), [1])


def test_next_returns_at_once_when_nothing_is_pending() -> None:
    with contextlib.closing(Local(1)) as engine:
        engine.put(abs)
        assert engine.next() is None


def test_closing_twice_and_closing_unused_are_fine() -> None:
    engine = Local(2)
    engine.close()
    engine.close()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_a_senseless_number_of_workers_is_refused(workers: Any) -> None:
    with pytest.raises(DefinitionError, match="workers must be a whole number of at least 1"):
        Local(workers)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", 0),
        ("seconds", float("nan")),
        ("seconds", "10"),
        ("megabytes", -1),
        ("megabytes", float("inf")),
        ("threads", 0),
        ("threads", 1.0),
        ("threads", True),
    ],
)
def test_senseless_limits_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"Limits: {name} must be .* Got {value!r}"):
        Limits(**{name: value})


def test_an_engine_forgets_the_outbox_of_a_run_with_its_function(tmp_path: Path) -> None:
    with contextlib.closing(Local(1)) as engine:
        engine.put(abs)
        engine.outbox = lambda ticket: str(tmp_path / str(ticket))
        engine.submit(0, -3)
        assert collect(engine, 1)[0].value == 3
        assert [path.name for path in tmp_path.iterdir()] == ["0"]
        engine.put(abs)
        engine.submit(1, -3)
        collect(engine, 1)
        assert [path.name for path in tmp_path.iterdir()] == ["0"]

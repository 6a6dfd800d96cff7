"""What tasks have done to runs, or could: each attack once, and the run none the worse for it."""

import contextlib
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.errors import BudgetError, DefinitionError
from fenceline.evaluation import Limits, Local, Outcome, Serial
from fenceline.evaluation.sandbox.guard import lacks_memory
from fenceline.testing.faults import assert_no_survivors, collect, wait_for_names
from fenceline.testing.misdeeds import Errand, perform, started

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])
DAY = 86_400.0

# Sent as a whole: children need not import this file, and pytest with it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def search(measure: Callable[..., Any], **options: Any) -> fl.Result:
    options = {"evaluations": 6, "algorithm": RandomSearch()} | options
    return fl.minimize(fl.Problem(SPACE, measure), **options)


def loss(configuration: Any) -> dict[str, float]:
    return {"loss": configuration["model"].params["alpha"]}


def outcomes(function: Callable[[Any], Any], arguments: list[Any], **limits: Any) -> list[Outcome]:
    with contextlib.closing(Local(1, Limits(**limits))) as engine:
        engine.put(function)
        for ticket, argument in enumerate(arguments):
            engine.submit(ticket, argument)
        found = collect(engine, len(arguments))
    return [found[ticket] for ticket in range(len(arguments))]


# --- nothing is billed to the wrong one -------------------------------------------------------


def from_a_script(text: str) -> Callable[..., Any]:
    """Return a function as a script defines it: sent as a whole, it brings no import with it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(text, names)
    found: Callable[..., Any] = names["measure"]
    return found


@pytest.mark.parametrize("limit", [{"seconds": 0.3}, {"megabytes": 50}], ids=str)
def test_a_new_process_bills_its_imports_to_no_task(limit: dict[str, float]) -> None:
    measure = from_a_script("def measure(c): return {'loss': c['model'].params['alpha']}")
    result = search(measure, limits=Limits(**limit))
    assert [e.status for e in result.evaluations] == ["ok"] * 6


def test_nor_does_the_successor_of_a_process_that_was_stopped() -> None:
    first = search(loss).evaluations[0].configuration["model"].params["alpha"]
    measure = from_a_script(
        f"""
import time
def measure(c):
    alpha = c["model"].params["alpha"]
    time.sleep(100 if alpha == {first!r} else 0)
    return {{"loss": alpha}}
"""
    )
    result = search(measure, limits=Limits(seconds=0.5))
    assert [e.status for e in result.evaluations] == ["timeout"] + ["ok"] * 5


class SlowToLoad:
    """Takes a while to be loaded, like a function that needs many libraries; tells since when."""

    def __setstate__(self, state: object) -> None:
        self.since = time.monotonic()
        time.sleep(0.3)

    def __getstate__(self) -> dict[str, int]:
        return {"some": 1}

    def __call__(self, seconds: float) -> float:
        time.sleep(seconds)
        return self.since


def test_a_timeout_costs_the_next_task_nothing() -> None:
    with contextlib.closing(Local(1, Limits(seconds=1.0))) as engine:
        engine.put(SlowToLoad())
        engine.submit(0, 100.0)
        engine.submit(1, 0.0)
        late = engine.next(60)
        stopped = time.monotonic()
        good = engine.next(60)
    assert late is not None
    assert good is not None
    assert (late[1].status, good[1].status) == ("timeout", "ok")
    assert good[1].value < stopped, "another process was on its way before the first was stopped"


def test_a_library_that_does_not_fit_is_a_want_of_memory() -> None:
    words = "libx.so.1: failed to map segment from shared object"

    def imports(_: object) -> None:
        raise ImportError(words)

    assert outcomes(imports, [None])[0].status == "memory"


def test_what_an_earlier_task_left_in_the_channel_is_not_billed_to_the_next() -> None:
    def forges(bad: bool) -> int:
        if bad:
            frame = sys._getframe()
            while "channel" not in frame.f_locals:
                frame = frame.f_back  # type: ignore[assignment]
            name, channel = frame.f_locals["name"], frame.f_locals["channel"]
            pack = frame.f_globals["plain"].pack
            channel.sendall(pack(("done", name, False, "ok", "", "", 0.0, 0.0, 0.0), b"7"))
        return 1

    found = outcomes(forges, [True, False, False])
    assert [(o.status, o.value) for o in found] == [("ok", 7), ("ok", 1), ("ok", 1)]


@pytest.mark.parametrize(
    "stray",
    [b"x", b"FNC", b"FNC1" + bytes(12), b"FNC1\0\0\0\0" + b"\xff" * 8, b'{"status": "ok"}'],
)
def test_stray_bytes_in_the_channel_end_the_task_that_wrote_them_and_hang_nothing(
    stray: bytes,
) -> None:
    def writes(bad: bool) -> int:
        if bad:
            for name in os.listdir("/proc/self/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                        os.write(int(name), stray)
        return 1

    bad, good = outcomes(writes, [True, False])  # without limits: nothing else would end it
    assert (bad.status, bad.message) == ("crashed", "It wrote into its channel.")
    assert good.value == 1


# --- nothing that is handed over is trusted ---------------------------------------------------


class Real(float):
    """A number with code of its own."""

    def __float__(self) -> float:
        os._exit(5)

    def __repr__(self) -> str:
        os._exit(5)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_number_that_no_float_can_hold_is_a_failed_measurement(workers: int) -> None:
    seen: list[int] = []

    def huge(configuration: Any) -> dict[str, Any]:
        seen.append(1)
        return {"loss": 10**400} if len(seen) > 1 else loss(configuration)

    found = search(huge, workers=workers, limits=Limits(seconds=60)).evaluations
    assert {e.status for e in found} == {"ok", "error"}
    assert all("must be finite" in e.message for e in found if not e.ok)


def test_a_result_with_code_of_its_own_runs_it_in_the_child() -> None:
    bad, good = outcomes(lambda bad: {"loss": Real(1) if bad else 1.0}, [True, False])
    assert bad.status in ("ok", "crashed"), "json asks float itself, not the subclass"
    assert good.value == {"loss": 1.0}


def test_a_sleep_in_a_result_is_a_timeout() -> None:
    class Slow:
        def tolist(self) -> None:
            time.sleep(100)

    assert outcomes(lambda _: Slow(), [None], seconds=0.5)[0].status == "timeout"


@pytest.mark.parametrize(
    "value", [lambda: 10**5000, lambda: object(), lambda: {1, 2}, lambda: _deep()], ids=range(4)
)
def test_what_is_not_plain_data_is_an_error(value: Callable[[], Any]) -> None:
    assert outcomes(lambda _: value(), [None])[0].status == "error"


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


# --- what processes can be made to do ---------------------------------------------------------

_SCRIPT = """
import sys, cloudpickle
from fenceline.evaluation import Local
perform, errand = cloudpickle.load(open(sys.argv[1], "rb"))
engine = Local(1)
engine.put(perform)
engine.submit(0, errand)
while True:
    engine.next(0.1)
"""


def test_a_process_without_ties_does_not_survive_kill_9_of_the_run(tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.mkdir()
    parcel = tmp_path / "parcel"
    errand = Errand("leave a daemon and sleep", 0, str(names))
    parcel.write_bytes(cloudpickle.dumps((perform, errand)))
    command = [sys.executable, "-c", _SCRIPT, str(parcel)]
    with subprocess.Popen(command, start_new_session=True) as parent:
        try:
            wait_for_names(names, 2)
        finally:
            parent.send_signal(signal.SIGKILL)
    assert_no_survivors(names)


def test_processes_of_a_task_die_with_their_warden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when Ray ends a worker, with its direct children; nobody is there to look for the rest."""
    monkeypatch.setattr("fenceline.evaluation.engines.local.sweep", lambda marks: None)

    def breed(directory: str) -> None:
        warden = os.getppid()
        for _ in range(3):
            os.fork()
        (Path(directory) / str(os.getpid())).write_text(started(os.getpid()) or "")
        if len(os.listdir(directory)) == 8:
            os.kill(warden, signal.SIGKILL)
        time.sleep(100)

    found = outcomes(breed, [str(tmp_path)])[0]
    assert found.status == "crashed"
    assert_no_survivors(tmp_path)


def test_a_forked_copy_of_the_run_keeps_no_process_alive(tmp_path: Path) -> None:
    """It holds the other end of the lifeline; the run's own end is noticed all the same."""
    names = tmp_path / "names"
    names.mkdir()
    parcel = tmp_path / "parcel"
    parcel.write_bytes(cloudpickle.dumps((perform, Errand("sleep", 0, str(names)))))
    fork = (
        "import os, time\nengine.next(0.1)\nif os.fork() == 0:\n    time.sleep(30)\n    os._exit(0)"
    )
    script = _SCRIPT.replace("while True:", f"{fork}\nwhile True:")
    command = [sys.executable, "-W", "ignore", "-c", script, str(parcel)]
    with subprocess.Popen(command, start_new_session=True) as parent:
        try:
            wait_for_names(names, 1)
            time.sleep(0.3)
        finally:
            parent.send_signal(signal.SIGKILL)
        try:
            assert_no_survivors(names)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)  # the copy


def test_a_task_that_kills_its_own_group_is_the_only_one_lost() -> None:
    def kill(bad: bool) -> int:
        if bad:
            os.killpg(0, signal.SIGKILL)
        return 1

    bad, good = outcomes(kill, [True, False])
    assert (bad.status, bad.message) == ("crashed", "The process died of SIGKILL.")
    assert good.status == "ok"


def test_closed_files_are_called_what_they_are() -> None:
    found = outcomes(lambda _: os.closerange(3, 4096), [None])[0]
    assert found.status == "crashed"
    assert "closed files" in found.message


def test_a_soft_limit_of_the_user_is_kept() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    mine = 1 << 42
    resource.setrlimit(resource.RLIMIT_AS, (mine, hard))
    try:
        for limits in ({}, {"megabytes": 1e7}):
            found = outcomes(lambda _: resource.getrlimit(resource.RLIMIT_AS)[0], [0, 0], **limits)
            assert all(0 < outcome.value <= mine for outcome in found), limits
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# --- exceptions -------------------------------------------------------------------------------


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise SystemExit("no words")


def _unspeakable(_: object) -> None:
    raise UnspeakableError


def _its_own_cause(_: object) -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    raise one


def _long(_: object) -> None:
    raise ValueError("x" * 60_000_000)


def _half_a_letter(_: object) -> None:
    raise ValueError("half \ud83d and \x1b[31m red")


@pytest.mark.parametrize("raises", [_unspeakable, _its_own_cause, _long, _half_a_letter])
@pytest.mark.parametrize("engine", [Serial, Local])
def test_an_exception_of_any_kind_is_one_failed_task(
    engine: type, raises: Callable[[Any], None]
) -> None:
    with contextlib.closing(engine()) as opened:
        opened.put(raises)
        opened.submit(0, None)
        found = collect(opened, 1)[0]
    assert found.status == "error"
    assert 0 < len(found.message) <= 1000
    assert len(found.traceback) < 50_000
    (found.message + found.traceback).encode()
    assert "\x1b" not in found.message + found.traceback


def test_only_a_want_of_memory_that_matters_is_one() -> None:
    hidden = ValueError("mine")
    hidden.__context__, hidden.__suppress_context__ = MemoryError(), True
    assert not lacks_memory(hidden)
    hidden.__suppress_context__ = False
    assert lacks_memory(hidden)


# --- numbers that no clock can hold -----------------------------------------------------------


@pytest.mark.parametrize("seconds", [40 * DAY, 1e15])
def test_a_budget_of_forty_days_or_more_is_one(seconds: float) -> None:
    found = search(loss, seconds=seconds, workers=2, limits=Limits(seconds, 1e15)).evaluations
    assert [e.status for e in found] == ["ok"] * 6


def test_a_number_beyond_all_floats_is_refused() -> None:
    with pytest.raises(DefinitionError, match="Limits: seconds"):
        Limits(seconds=10**400)
    with pytest.raises(BudgetError, match="seconds"):
        search(loss, seconds=10**400)
    assert math.isfinite(search(loss, evaluations=2).seconds)

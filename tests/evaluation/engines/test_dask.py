import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.errors import EngineError
from fenceline.evaluation.evaluator import Progress
from fenceline.evaluation.limits import Limits
from fenceline.store import Finish, read_run
from fenceline.testing.faults import EngineFactory, EngineFaultSuite, collect

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed; pip install fenceline[dask]"
)
from fenceline.evaluation.engines.dask import Dask  # noqa: E402 - only after Dask is known to be there
from fenceline.evaluation.engines.versions import differing, versions  # noqa: E402

# Dask's own threads may close sockets after the test that opened them.
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning")


class Cluster:
    """A real scheduler and real workers on the loopback interface."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self, port: int = 0) -> "subprocess.Popen[bytes]":
        file = self._directory / "scheduler.json"
        file.unlink(missing_ok=True)
        process = self._dask(
            "scheduler", "--host", "127.0.0.1", "--port", port, "--scheduler-file", file
        )
        until = time.monotonic() + 120
        # The scheduler makes the file before it writes into it.
        while not (file.exists() and file.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        self.address: str = json.loads(file.read_text())["address"]
        return process

    def start_worker(self, nanny: bool = False) -> "subprocess.Popen[bytes]":
        """Start a worker; without the process that would start it again, in half the time."""
        place = self._directory / f"worker-{len(self._processes)}"
        words = ["worker", self.address, "--nthreads", 1, "--host", "127.0.0.1"]
        words += ["--local-directory", place, "--nanny" if nanny else "--no-nanny"]
        return self._dask(*words)

    def _dask(self, *arguments: object) -> "subprocess.Popen[bytes]":
        with (self._directory / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, arguments), "--no-dashboard"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for process in reversed(self._processes):
            self.kill(process)


@contextlib.contextmanager
def open_cluster(directory: Path, workers: int, nanny: bool = False) -> Iterator[Cluster]:
    with contextlib.closing(Cluster(directory)) as cluster:
        for _ in range(workers):
            cluster.start_worker(nanny)
        if workers:
            with distributed.Client(cluster.address, timeout=120, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=120)
        yield cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with open_cluster(tmp_path_factory.mktemp("dask"), 2, nanny=True) as cluster:
        yield cluster


class TestDaskUnderFaults(EngineFaultSuite):
    @pytest.fixture
    def factory(self, cluster: Cluster) -> EngineFactory:
        return partial(Dask, cluster.address)


def pausing() -> Callable[[float], int]:
    def pause(seconds: float) -> int:
        time.sleep(seconds)
        return os.getppid()

    return pause  # a local function travels as a whole: workers cannot import this file


def test_work_of_a_lost_worker_is_done_by_another_and_late_workers_join(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 1) as cluster, contextlib.closing(Dask(cluster.address)) as engine:
        engine.put(pausing())
        first = cluster._processes[-1]
        for ticket in range(4):
            engine.submit(ticket, 0.5)
        before = collect(engine, 1)
        cluster.kill(first)
        cluster.start_worker()
        after = collect(engine, 3)
    assert {outcome.status for outcome in (before | after).values()} == {"ok"}
    homes = {outcome.value for outcome in before.values()}
    assert homes.isdisjoint(outcome.value for outcome in after.values())


def test_a_scheduler_that_comes_back_gets_the_pending_work_again(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 1) as cluster, contextlib.closing(Dask(cluster.address)) as engine:
        engine.put(pausing())
        for ticket in range(4):
            engine.submit(ticket, 0.5)
        found = collect(engine, 1)
        for process in list(cluster._processes):
            cluster.kill(process)
        cluster.start_scheduler(port=int(cluster.address.rpartition(":")[2]))
        cluster.start_worker()
        found |= collect(engine, 3)
    assert {outcome.status for outcome in found.values()} == {"ok"}


def test_a_scheduler_that_stays_away_ends_the_run_and_what_finished_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])
    run = tmp_path / "run"
    with open_cluster(tmp_path, 1) as cluster:

        def kill(progress: Progress) -> None:
            if progress.count == 3:
                cluster.kill(cluster.scheduler)
                # Only now: a busy machine may take longer than that to show its worker.
                monkeypatch.setattr("fenceline.evaluation.engines.dask.PATIENCE_SECONDS", 3.0)

        with pytest.raises(EngineError, match="went away and did not come back"):
            fl.minimize(
                fl.Problem(space, lambda _: {"loss": 1.0}),
                evaluations=1000,
                engine=cluster.address.replace("tcp", "dask"),
                run_dir=run,
                algorithm=RandomSearch(),
                callbacks=[kill],
            )
    assert len([event for event in read_run(run)[1] if isinstance(event, Finish)]) >= 3


def test_a_client_is_used_as_it_is_and_not_closed(cluster: Cluster) -> None:
    with distributed.Client(cluster.address, set_as_default=False) as client:
        with contextlib.closing(Dask(client, Limits(seconds=10))) as engine:
            assert engine.workers == 2
            engine.put(abs)
            engine.submit(0, -3)
            assert collect(engine, 1)[0].value == 3
        assert client.status == "running"


def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.CONNECT_SECONDS", 1.0)
    with pytest.raises(EngineError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        Dask("tcp://127.0.0.1:9")


def test_a_cluster_without_workers_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.PATIENCE_SECONDS", 1.0)
    with open_cluster(tmp_path, 0) as cluster, contextlib.closing(Dask(cluster.address)) as engine:
        engine.put(abs)
        engine.submit(0, -3)
        with pytest.raises(EngineError, match="no worker for 1 seconds"):
            engine.next(30)


# --- clusters that do not behave ---------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_an_address_that_accepts_and_stays_silent_is_given_up_in_time(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.CONNECT_SECONDS", 1.0)
    started = time.monotonic()
    with pytest.raises(EngineError, match=f"No Dask scheduler answers at {silent}"):
        Dask(silent)
    assert time.monotonic() - started < 60  # Dask alone would wait for minutes


def test_connecting_takes_no_longer_than_the_budget_of_the_run(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.CONNECT_SECONDS", 200.0)
    space = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})])])
    started = time.monotonic()
    with pytest.raises(EngineError, match="No Dask scheduler answers"):
        fl.minimize(
            fl.Problem(space, lambda _: {"loss": 1.0}),
            seconds=1.0,
            engine=silent.replace("tcp", "dask"),
        )
    assert time.monotonic() - started < 60


def test_a_worker_that_dies_while_the_function_is_placed_is_done_without(tmp_path: Path) -> None:
    with open_cluster(tmp_path, 2) as cluster, contextlib.closing(Dask(cluster.address)) as engine:
        cluster.kill(cluster._processes[-1])
        engine.put(abs)
        engine.submit(0, -3)
        assert collect(engine, 1)[0].value == 3


def test_a_scheduler_that_dies_while_the_function_is_placed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.PLACE_SECONDS", 1.0)
    with open_cluster(tmp_path, 1) as cluster, contextlib.closing(Dask(cluster.address)) as engine:
        cluster.kill(cluster.scheduler)
        started = time.monotonic()
        with pytest.raises(EngineError, match=f"at {cluster.address}"):
            engine.put(abs)
        assert time.monotonic() - started < 60


def test_a_frozen_worker_is_named_and_the_budget_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fenceline.evaluation.engines.dask.ANSWER_SECONDS", 1.0)
    with open_cluster(tmp_path, 2) as cluster:
        frozen = cluster._processes[-1]
        os.killpg(frozen.pid, signal.SIGSTOP)
        started = time.monotonic()
        # A busy machine takes seconds to answer for the worker that is not frozen.
        engine = Dask(cluster.address, seconds=5.0)
        with contextlib.closing(engine), pytest.raises(EngineError, match="Nothing was heard"):
            engine.put(abs)
        assert time.monotonic() - started < 60  # half of what placing may take without a budget


def test_a_worker_with_another_version_is_refused_before_anything_is_sent(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = versions() | {"fenceline": "0.0.1"}
    monkeypatch.setattr("fenceline.evaluation.engines.versions.versions", lambda: here)
    with (
        contextlib.closing(Dask(cluster.address)) as engine,
        pytest.raises(EngineError, match=r"has fenceline .* \(the run has 0\.0\.1\)"),
    ):
        engine.put(abs)


def test_versions_that_cannot_matter_are_not_compared() -> None:
    here = versions()
    later = here | {"Python": here["Python"] + "9", "scikit-learn": here["scikit-learn"] + "9"}
    assert differing(later) == ""
    assert "Python 2.7 " in differing(here | {"Python": "2.7"})

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from fenceline.errors import EngineError
from fenceline.testing.faults import EngineFactory, EngineFaultSuite, collect

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install fenceline[ray]")
from fenceline.evaluation.engines.ray import Ray  # noqa: E402 - only after Ray is known to be there

# Ray leaves files to the garbage collector, and warns about its own future.
pytestmark = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::FutureWarning", "default::DeprecationWarning"
)


EAGER = {"RAY_worker_niceness": "0"}
"""Ray's processes step back behind all others, and come to nothing on a busy machine."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in EAGER.items():
            patch.setenv(name, value)
        context = ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield context.address_info["address"]
    ray.shutdown()


class TestRayUnderFaults(EngineFaultSuite):
    @pytest.fixture
    def factory(self, address: str) -> EngineFactory:
        return partial(Ray, address)


def pausing() -> Callable[[float], int]:
    def pause(seconds: float) -> int:
        time.sleep(seconds)
        # The warden's parent: Ray's own process. The warden is a task's, its death a crash.
        with open(f"/proc/{os.getppid()}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])

    return pause  # a local function travels as a whole: workers cannot import this file


def test_work_of_a_lost_worker_is_done_by_another(address: str) -> None:
    with contextlib.closing(Ray(address)) as engine:
        engine.put(pausing())
        for ticket in range(6):
            engine.submit(ticket, 0.5)
        before = collect(engine, 1)
        (home,) = (outcome.value for outcome in before.values())
        os.kill(home, signal.SIGKILL)
        after = collect(engine, 5)
    assert {outcome.status for outcome in (before | after).values()} == {"ok"}
    assert home not in [outcome.value for outcome in after.values()][1:]


def test_the_number_of_workers_is_that_of_the_cluster(address: str) -> None:
    with contextlib.closing(Ray(address)) as engine:
        assert engine.workers == 2


def test_a_function_that_workers_cannot_load_stops_with_the_reason(address: str) -> None:
    with contextlib.closing(Ray(address)) as engine:
        engine.put(_only_here)
        engine.submit(0, None)
        with pytest.raises(EngineError, match="cannot load the function"):
            engine.next(240)


@pytest.mark.parametrize("failures", [2, 3])
def test_a_cluster_too_busy_to_serve_a_client_is_asked_three_times(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def init(address: str, **_: object) -> None:
        asked.append(address)
        if len(asked) <= failures:
            raise ConnectionAbortedError("Starting Ray client server failed.")

    monkeypatch.setattr("fenceline.evaluation.engines.ray.ray.init", init)
    monkeypatch.setattr("fenceline.evaluation.engines.ray.ray.is_initialized", lambda: False)
    if failures < 3:
        Ray("ray://127.0.0.1:1")
    else:
        with pytest.raises(EngineError, match="Starting Ray client server failed"):
            Ray("ray://127.0.0.1:1")
    assert asked == ["ray://127.0.0.1:1"] * 3


CLIENT = """
import sys
from fenceline.evaluation.engines.ray import Ray
engine = Ray(sys.argv[1])
engine.put(abs)
engine.submit(0, -3)
print(engine.workers, engine.next(240)[1].value)
engine.close()
"""


@pytest.fixture(scope="module")
def guarded_head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A cluster that wants a token, on free ports; its client's address and the token."""
    token = uuid.uuid4().hex + uuid.uuid4().hex
    # Not a temporary directory of pytest's: Ray's sockets need a short path.
    with socket.socket() as one, socket.socket() as two, tempfile.TemporaryDirectory() as place:
        for found in (one, two):
            found.bind(("127.0.0.1", 0))
        port, client_port = one.getsockname()[1], two.getsockname()[1]
        one.close()
        two.close()
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        settings = {
            "--node-ip-address": "127.0.0.1",
            "--port": port,
            "--ray-client-server-port": client_port,
            "--num-cpus": 2,
            "--include-dashboard": "false",
            "--temp-dir": place,
        }
        log = tmp_path_factory.mktemp("ray") / "log"
        with log.open("wb") as file:
            head = subprocess.Popen(
                [*command, *(str(word) for setting in settings.items() for word in setting)],
                env=os.environ | EAGER | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        try:
            until = time.monotonic() + 200
            while b"block forever" not in log.read_bytes() and time.monotonic() < until:
                time.sleep(0.1)
            yield f"ray://127.0.0.1:{client_port}", token
        finally:
            head.terminate()  # ends all that it started, too
            head.wait(30)


def run_client(address: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Use a cluster from a fresh process: Ray reads its token once."""
    return subprocess.run(
        [sys.executable, "-c", CLIENT, address],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_a_cluster_is_used_through_its_client_address_with_its_token(
    guarded_head: tuple[str, str],
) -> None:
    address, token = guarded_head
    done = run_client(address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
    assert done.stdout.split() == ["2", "3"], done.stderr


@pytest.mark.skipif(
    not os.environ.get("FENCELINE_SOAK"), reason="Ray takes half a minute for it: make soak"
)
def test_a_client_turned_away_is_told_about_the_token(guarded_head: tuple[str, str]) -> None:
    done = run_client(guarded_head[0], RAY_AUTH_MODE="disabled")
    assert done.returncode == 1
    assert "EngineError: No Ray cluster answers at 'ray://" in done.stderr
    assert "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in done.stderr


def _only_here(_: object) -> None:
    """Pickled by name, and no worker knows this file."""

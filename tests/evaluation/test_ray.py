import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from fenceline.errors import EngineError
from fenceline.testing.faults import EngineFactory, EngineFaultSuite, collect

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install fenceline[ray]")
from fenceline.evaluation.ray import Ray  # noqa: E402 - only after Ray is known to be there

# Ray leaves files to the garbage collector, and warns about its own future.
pytestmark = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::FutureWarning", "default::DeprecationWarning"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
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
        return os.getppid()

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
            engine.next(60)


def _only_here(_: object) -> None:
    """Pickled by name, and no worker knows this file."""

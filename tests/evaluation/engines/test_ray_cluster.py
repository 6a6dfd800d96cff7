"""Machines that join and leave a Ray cluster; here each is a raylet on the loopback interface."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fenceline.testing.faults import collect

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install fenceline[ray]")
from ray.cluster_utils import Cluster  # noqa: E402 - only after Ray is known to be there

from fenceline.evaluation.engines.ray import Ray  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::FutureWarning", "default::DeprecationWarning"
)

LOOPBACK = (
    "127.0.0.2"  # Ray takes 127.0.0.1 for the name of this machine, and looks for its address
)


@pytest.fixture
def cluster() -> Iterator[Any]:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": LOOPBACK},
    )
    yield cluster
    cluster.shutdown()


def pausing() -> Callable[[float], int]:
    def pause(seconds: float) -> int:
        time.sleep(seconds)
        return os.getppid()

    return pause  # a local function travels as a whole: workers cannot import this file


def test_a_machine_that_joins_late_gets_work_and_what_it_takes_with_it_is_done_again(
    cluster: Any,
) -> None:
    with contextlib.closing(Ray(cluster.address)) as engine:
        engine.put(pausing())
        submitted = 12
        for ticket in range(submitted):
            engine.submit(ticket, 0.5)
        found = collect(engine, 1)
        first = {outcome.value for outcome in found.values()}
        assert engine.workers == 1

        joined = cluster.add_node(num_cpus=2, node_ip_address=LOOPBACK)
        until = time.monotonic() + 60
        while len(homes := {outcome.value for outcome in found.values()}) == 1:
            assert time.monotonic() < until, "the machine that joined gets no work"
            found |= collect(engine, 1)
            engine.submit(submitted, 0.5)  # however long it takes to join, work is waiting
            submitted += 1
        (late,) = homes - first
        assert engine.workers == 3

        cluster.remove_node(joined, allow_graceful=False)
        found |= collect(engine, submitted - len(found))
        for ticket in range(submitted, submitted + 3):
            engine.submit(ticket, 0.0)
        after = collect(engine, 3)
    assert {outcome.status for outcome in (found | after).values()} == {"ok"}
    assert late not in [outcome.value for outcome in after.values()]

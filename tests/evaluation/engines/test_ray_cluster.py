"""Machines that join and leave a Ray cluster: made up ones, and raylets on the loopback interface."""

import contextlib
import itertools
import os
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fenceline.evaluation.engines.engine import Outcome
from fenceline.evaluation.sandbox.worker import pack
from fenceline.testing.faults import collect

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install fenceline[ray]")
from ray.cluster_utils import Cluster  # noqa: E402 - only after Ray is known to be there

from fenceline.evaluation.engines import ray as engine_module  # noqa: E402
from fenceline.evaluation.engines.ray import Ray  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::FutureWarning", "default::DeprecationWarning"
)


class Machine:
    """Stands for a machine and its actor; one that does not work is stuck until it is lost."""

    def __init__(self, slots: int, works: bool = True) -> None:
        self.slots, self.works, self.busy = slots, works, 0
        self.actor = self.run = self
        self.outcomes: dict[int, bytes] = {}
        self._numbers = itertools.count(1000 * id(self))

    def remote(self, ticket: int, argument: bytes, outbox: str) -> int:
        reference = next(self._numbers)
        self.outcomes[reference] = pack(Outcome("ok", pickle.loads(argument)))
        return reference


class Machines:
    """What Ray knows of its machines, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.alive: dict[str, Machine] = {}
        self.lost: set[int] = set()
        for name in ("nodes", "wait", "get"):
            monkeypatch.setattr(ray, name, getattr(self, name))
        monkeypatch.setattr(ray, "put", lambda parcel: parcel)
        monkeypatch.setattr(ray, "is_initialized", lambda: True)
        monkeypatch.setattr(engine_module, "_Node", lambda name, *_: self.alive[name])
        monkeypatch.setattr(engine_module, "_CENSUS_SECONDS", 0.0)

    def lose(self, name: str) -> None:
        self.lost |= self.alive.pop(name).outcomes.keys()

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": True, "Resources": {"CPU": machine.slots}}
            for name, machine in self.alive.items()
        ]

    def wait(self, references: list[int], timeout: float) -> tuple[list[int], list[int]]:
        ready = [r for m in self.alive.values() if m.works for r in m.outcomes]
        return [r for r in references if r in self.lost or r in ready][:1], []

    def get(self, reference: int) -> bytes:
        if reference in self.lost:
            raise ray.exceptions.ActorDiedError
        (found,) = (m.outcomes[reference] for m in self.alive.values() if reference in m.outcomes)
        return found


def test_machines_that_join_get_work_and_what_one_takes_with_it_is_done_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines(monkeypatch)
    machines.alive["first"] = Machine(1)
    engine = Ray()
    engine.put(abs)
    for ticket in range(6):
        engine.submit(ticket, ticket)
    found = collect(engine, 1)
    assert engine.workers == 1
    machines.alive["late"] = late = Machine(2)
    found |= collect(engine, 1)
    assert engine.workers == 3
    assert len(late.outcomes) == 2
    machines.lose("late")
    found |= collect(engine, 4)
    assert engine.workers == 1
    assert {t: (o.status, o.value) for t, o in found.items()} == {t: ("ok", t) for t in range(6)}


def test_a_task_that_loses_three_machines_is_lost_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines(monkeypatch)
    engine = Ray()
    engine.put(abs)
    engine.submit(0, 1)
    for name in ("one", "two", "three"):
        machines.alive[name] = Machine(1, works=False)
        assert engine.next(0.0) is None
        machines.lose(name)
    found = engine.next(0.0)
    assert found is not None
    assert (found[1].status, found[1].message[:30]) == ("lost", "Its machine was lost 3 times: ")


LOOPBACK = (
    "127.0.0.2"  # Ray takes 127.0.0.1 for the name of this machine, and looks for its address
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else they wait for all others
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


@pytest.mark.skipif(
    not os.environ.get("FENCELINE_SOAK"), reason="three machines take half a minute: make soak"
)
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
        until = time.monotonic() + 200
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

"""Faults by the hundred in random order, on every engine; part of `make soak`."""

import contextlib
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fenceline.evaluation import Engine, Local
from fenceline.testing.campaign import campaign
from fenceline.testing.faults import FAULTS, LIMITS, assert_no_survivors, run
from fenceline.testing.misdeeds import perform

BATCHES, BATCH = 6, 50
MINUTES = float(os.environ.get("FENCELINE_SOAK_MINUTES", 5))
SEED = int(os.environ.get("FENCELINE_SOAK_SEED", int(time.time())))

pytestmark = [
    pytest.mark.skipif(not os.environ.get("FENCELINE_SOAK"), reason="a long test: make soak"),
    # Dask's and Ray's own habits, as in their tests.
    pytest.mark.filterwarnings(
        "default::ResourceWarning", "default::FutureWarning", "default::DeprecationWarning"
    ),
]


@pytest.fixture(params=["local", "dask", "ray"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with contextlib.ExitStack() as stack:
        found: Engine
        if request.param == "local":
            found = Local(2, LIMITS)
        elif request.param == "dask":
            pytest.importorskip("distributed", reason="Dask is not installed")
            from test_dask import open_cluster

            from fenceline.evaluation import Dask

            found = Dask(stack.enter_context(open_cluster(tmp_path, 2)).address, LIMITS)
        else:
            ray = pytest.importorskip("ray", reason="Ray is not installed")
            from fenceline.evaluation import Ray

            ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
            stack.callback(ray.shutdown)
            found = Ray(limits=LIMITS)
        yield stack.enter_context(contextlib.closing(found))


@pytest.mark.timeout(1200)
def test_hundreds_of_faults_in_random_order_cost_no_good_task(
    engine: Engine, tmp_path: Path
) -> None:
    names = tmp_path / "names"
    names.mkdir()
    engine.put(perform)
    drawn = random.Random(0)
    for _ in range(BATCHES):
        deeds = drawn.choices([*FAULTS, *["square"] * len(FAULTS)], k=BATCH)
        outcomes = run(engine, deeds, names)
        for ticket, deed in enumerate(deeds):
            assert outcomes[ticket].status == FAULTS.get(deed, "ok"), (deed, outcomes[ticket])
            assert deed != "square" or outcomes[ticket].value == ticket**2
    engine.close()
    assert_no_survivors(names)


@pytest.mark.timeout(60 * MINUTES + 1200)
@pytest.mark.parametrize("name", ["serial", "local", "dask", "ray"])
def test_random_schedules_from_a_printed_seed_lose_nothing_and_leave_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed, damaged and ill-treated runs; the first to break the invariant names its round."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(capsys.disabled())
        address = ""
        if name == "dask":
            pytest.importorskip("distributed", reason="Dask is not installed")
            from test_dask import open_cluster

            cluster = stack.enter_context(open_cluster(tmp_path, 2))
            address = cluster.address.replace("tcp", "dask")
        elif name == "ray":
            pytest.importorskip("ray", reason="Ray is not installed")
        assert campaign(name, MINUTES, SEED, None, address) > 0

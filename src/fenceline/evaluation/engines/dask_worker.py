"""What the Dask engine does in a Dask worker: keep the function, and run tasks in guarded children."""

from distributed import Worker, WorkerPlugin, get_worker

from fenceline.errors import EngineError
from fenceline.evaluation.engines.versions import differing, versions
from fenceline.evaluation.limits import Limits
from fenceline.evaluation.sandbox.worker import Station


class Place(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Keeps a station in every Dask worker, also in those that join later."""

    def __init__(self, parcel: bytes, limits: Limits, wanted: dict[str, str]) -> None:
        self._parcel, self._limits, self._wanted = parcel, limits, wanted
        self.station: Station | None = None
        self.refusal = ""

    def setup(self, worker: "Worker") -> None:
        """Open the station when the worker learns of it, unless it came late with other packages."""
        self.refusal = differing(versions(), self._wanted)
        if not self.refusal:
            self.station = Station(self._parcel, self._limits)
        self._parcel = b""

    def teardown(self, worker: "Worker") -> None:
        """Close it with the run, or with the worker."""
        if self.station is not None:
            self.station.close()


def run_task(name: str, argument: bytes, outbox: str) -> bytes:
    """Run one task; this is what Dask sees of it."""
    worker = get_worker()
    key = worker.get_current_task()

    def abandoned() -> bool:
        # Released by the scheduler while it runs: cancelled, or its client is gone.
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    plugin = worker.plugins[name]
    if plugin.station is None:
        raise EngineError(
            f"The Dask worker {worker.address} joined with {plugin.refusal}. Install the same versions "
            "there and restart it, or take it out of the cluster."
        )
    found: bytes = plugin.station.run(argument, abandoned, outbox)
    return found

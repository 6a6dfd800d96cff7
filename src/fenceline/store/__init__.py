"""The run directory: what a run is about, and a journal that survives anything."""

from fenceline.store.records import Event, Finish, Iteration, Proposal
from fenceline.store.run_directory import RunDirectory, read_run

__all__ = ["Event", "Finish", "Iteration", "Proposal", "RunDirectory", "read_run"]

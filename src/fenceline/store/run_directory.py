"""A run on the disk: `meta.json` says what it is about, `journal.jsonl` what happened."""

import contextlib
import hashlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from fenceline.errors import StoreError
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.store import meta as description
from fenceline.store.journal import Journal, scan
from fenceline.store.records import Event, Finish, Iteration, Proposal, read, write

META, JOURNAL, OUTBOX = "meta.json", "journal.jsonl", "outbox"


class RunDirectory:
    """A run that can be continued after any end; made by :meth:`open`.

    Attributes
    ----------
    path : Path
        The directory.
    meta : dict
        What the run is about, as it was when the run started.
    events : list
        What had happened before it was opened, in the order in which it was written. Events
        written now are not added: memory stays flat however long the run is.
    """

    def __init__(
        self, path: Path, meta: Mapping[str, Any], journal: Journal, events: list[Event]
    ) -> None:
        self.path = path
        self.meta = dict(meta)
        self.events = events
        self._iterates = sum(isinstance(event, Iteration) for event in events)
        self._journal = journal
        self._outbox = path.absolute() / OUTBOX  # a task may change the directory it works in
        with contextlib.suppress(OSError):  # without it outcomes wait in memory
            self._outbox.mkdir(exist_ok=True)
            self._clear_outbox()

    @classmethod
    def open(cls, path: str | Path, meta: Mapping[str, Any]) -> Self:
        """Continue the run in a directory, or start one there.

        Parameters
        ----------
        path : str or Path
            Made if it does not exist.
        meta : mapping
            Everything that decides what the run does: space, objective, constraints, seed,
            settings of the algorithm, fingerprint of the data. Records, arrays and tables are
            described by :func:`fenceline.store.meta.plain`.

        Raises
        ------
        RunMismatchError
            The directory holds a run of something else; the message lists what differs.
        RunLockedError
            Another process is writing to it.
        StoreError
            The directory is damaged, cannot be written, or was written by a newer version.
        """
        path = Path(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StoreError(
                f"The run directory {path} cannot be made ({problem.strerror}). Choose one on a "
                "disk that can be written to."
            ) from problem
        journal = Journal(path / JOURNAL)
        try:
            # Only now: the journal's lock guards the whole directory.
            found = description.load(path / META)
            wanted = description.stamped(meta)
            if found is not None:
                description.check(found, wanted, path)
            elif journal.records:
                raise StoreError(
                    f"{path / JOURNAL} has records, but {META} is missing beside it. Restore it "
                    "from a copy, or choose another run directory."
                )
            else:
                description.save(path / META, wanted)
            events = read(journal.records, path / JOURNAL)
        except BaseException:
            journal.close()
            raise
        journal.records = []
        return cls(path, found or wanted, journal, events)

    def propose(
        self,
        ticket: int,
        configuration: Configuration,
        fidelity: float = 1.0,
        left: float | None = None,
    ) -> None:
        """Note that a configuration is about to be measured, and the time that was left then."""
        self._write(Proposal(ticket, configuration.to_dict(), fidelity, left))

    def outbox(self, ticket: int, configuration: Configuration, fidelity: float) -> Path:
        """Name the file in which a worker may leave an outcome until :meth:`finish` has noted it.

        The configuration is part of the name: a ticket may be given anew after somebody has cut
        the journal short.
        """
        digest = hashlib.sha256(f"{fidelity!r} {configuration.key}".encode()).hexdigest()
        return self._outbox / f"{ticket}-{digest[:16]}"

    def _clear_outbox(self) -> None:
        """Remove what nobody waits for: outcomes that were noted, and files that were not finished."""
        finished = {event.ticket for event in self.events if isinstance(event, Finish)}
        for file in self._outbox.iterdir():
            ticket = file.name.partition("-")[0]
            if file.suffix or not ticket.isdecimal() or int(ticket) in finished:
                file.unlink()

    def finish(self, ticket: int, evaluation: Evaluation) -> None:
        """Note how the measurement of a proposal ended; what is derived from it is not kept."""
        self._write(
            Finish(
                ticket,
                evaluation.status,
                evaluation.metrics,
                evaluation.seconds,
                evaluation.cpu_seconds,
                evaluation.megabytes,
                evaluation.message,
                evaluation.traceback,
                evaluation.errors,
                evaluation.fidelity,
                evaluation.details,
                {name: spread.to_list() for name, spread in evaluation.spreads.items()},
            )
        )
        done = self.outbox(ticket, evaluation.configuration, evaluation.fidelity)
        done.unlink(missing_ok=True)

    def iterate(self, state: Mapping[str, Any]) -> None:
        """Note an iterate of the algorithm, unless the run noted it before it was continued.

        A continued run goes through its iterates again from the first.
        """
        if self._iterates:
            self._iterates -= 1
        else:
            self._write(Iteration(state))

    def close(self) -> None:
        """Let another process continue the run."""
        with contextlib.suppress(OSError):  # something in it is still to be noted
            self._outbox.rmdir()
        if self._journal.removed:
            warnings.warn(
                f"The run directory {self.path} was removed while the run was writing to it: what "
                "was measured is in this process only.",
                stacklevel=3,
            )
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, event: Event) -> None:
        self._journal.append(*write(event))


def read_run(path: str | Path) -> tuple[dict[str, Any], list[Event]]:
    """Read a run without locking or changing it, even while it is being written.

    Returns
    -------
    meta : dict
        What the run is about.
    events : list of Proposal, Finish or Iteration
        What has happened, in order; a record that is just being written is left out.
    """
    path = Path(path)
    meta = description.load(path / META)
    if meta is None:
        raise StoreError(f"{path} holds no run: there is no {META} in it.")
    description.check(meta, meta, path)
    try:
        data = (path / JOURNAL).read_bytes()
    except OSError as problem:
        raise StoreError(f"{path / JOURNAL} cannot be read ({problem.strerror}).") from problem
    records, _, _ = scan(data, path / JOURNAL)
    return meta, read(records, path / JOURNAL)

"""An engine with a file: a pipeline that any search had measured is not measured for another."""

from __future__ import annotations

import fcntl
import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from fenceline.evaluation.engines.engine import Engine, Outcome
from fenceline.problem.configuration import Configuration

_NO_OUTCOME = ("cancelled", "lost")
"""How a measurement ends that says nothing of its pipeline."""


class Memo:
    """Outcomes by configuration, in a file that several processes read and write.

    The first outcome on file stands, also if two processes have measured the same pipeline at the
    same time: methods are told apart by what they ask for, never by luck in measuring.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Outcome] = {}
        self._read = 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def find(self, configuration: Configuration) -> Outcome | None:
        """Return the outcome on file, if there is one."""
        if configuration.key not in self._known:
            with self._up_to_date():
                pass
        return self._known.get(configuration.key)

    def add(self, configuration: Configuration, outcome: Outcome) -> Outcome:
        """Write an outcome down unless there is one; return the one that stands."""
        key = configuration.key
        with self._up_to_date() as file:
            if key not in self._known:
                self._known[key] = outcome
                # The line break comes first, so that a line cut short spoils no other.
                file.write(b"\n" + json.dumps([key, asdict(outcome)]).encode())
                self._read = file.tell()
        return self._known[key]

    @contextmanager
    def _up_to_date(self) -> Iterator[BinaryIO]:
        """Take in what others have written, and keep them from writing for a moment."""
        with self._path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            file.seek(self._read)
            for line in file.read().splitlines():
                try:
                    key, fields = json.loads(line)
                except ValueError:  # blank, or being written when a run was killed
                    continue
                self._known.setdefault(key, Outcome(**fields))
            self._read = file.tell()
            yield file


class Remembering:
    """An engine that asks its memo first, failures and all; what the memo knows takes no time."""

    def __init__(self, engine: Engine, memo: Memo) -> None:
        self.engine = engine
        self.memo = memo
        self._asked: dict[int, Configuration] = {}
        self._recalled: deque[tuple[int, Outcome]] = deque()

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return self.engine.workers

    def put(self, function: Callable[[Any], Any]) -> None:
        """Pass on."""
        self.engine.put(function)

    def submit(self, ticket: int, argument: Any) -> None:
        """Start the task unless its outcome is known."""
        known = self.memo.find(argument)
        if known is not None:
            self._recalled.append((ticket, known))
            return
        self._asked[ticket] = argument
        self.engine.submit(ticket, argument)

    def next(self, timeout: float | None = None) -> tuple[int, Outcome] | None:
        """Return the next outcome, and write down those that are new."""
        if self._recalled:
            return self._recalled.popleft()
        finished = self.engine.next(timeout)
        if finished is None:
            return None
        ticket, outcome = finished
        configuration = self._asked.pop(ticket)
        if outcome.status not in _NO_OUTCOME:
            outcome = self.memo.add(configuration, outcome)
        return ticket, outcome

    def cancel(self, ticket: int) -> None:
        """Pass on; what was recalled has finished."""
        if ticket in self._asked:
            self.engine.cancel(ticket)

    def close(self) -> None:
        """Pass on."""
        self.engine.close()

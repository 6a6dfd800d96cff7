"""A journal that speaks again: what was proposed, and what had finished before the next proposal."""

from collections import deque
from collections.abc import Iterable, Iterator

from fenceline.problem.configuration import Configuration
from fenceline.store import Event, Finish, Iteration, Proposal


class Replay:
    """What a journal still has to say, in its order; empty in a run that is new."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = deque(e for e in events if not isinstance(e, Iteration))

    def __bool__(self) -> bool:
        return bool(self._events)

    @property
    def told(self) -> float | None:
        """The seconds that the algorithm was told to be left, before the next proposal."""
        return next((e.left for e in self._events if isinstance(e, Proposal)), None)

    def repeats(self, configuration: Configuration, fidelity: float) -> bool:
        """Tell whether the journal's next proposal is this one; if so, it is done with."""
        first = self._events[0]
        same = (
            isinstance(first, Proposal)
            and first.fidelity == fidelity
            and first.configuration == configuration.to_dict()
        )
        if same:
            self._events.popleft()
        return same

    def outcomes(self) -> Iterator[Finish]:
        """Yield what finished before the next proposal."""
        while self._events and not isinstance(self._events[0], Proposal):
            event = self._events.popleft()
            if isinstance(event, Finish):
                yield event

    def rest(self) -> list[Proposal | Finish]:
        """Return all that is left, and fall silent."""
        events = list(self._events)
        self._events.clear()
        return events

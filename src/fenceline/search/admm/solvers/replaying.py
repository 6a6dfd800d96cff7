"""Optimisers that call a function, turned into solvers that yield points.

scipy's optimisers want a value at once, but a measurement may be pending for hours. So each is run
again from its start for every point: what it asked before is answered from memory, and the first
point beyond that ends the run and is proposed. Equal seeds then give equal runs, a resumed run
replays, and nothing is left behind when a search ends. A thread per optimiser would spare the
repetition (1.5 ms for each point of COBYQA), but scipy holds a lock of the whole process while
COBYQA runs: a second search, or a measurement that calls it, would wait for ever.

While one optimiser waits for a measurement, the next one starts elsewhere; with one worker there is
one at a time.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Merits, Points, Subproblem
from fenceline.threads import one_thread

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], float]
Optimiser: TypeAlias = Callable[[Function], object]
"""Minimises a function of the unit cube, each time alike; what it returns is not needed."""

_LARGEST = 1e10
"""Of a scaled value: squares of more would drown what a quadratic model learns elsewhere."""
_FRUITLESS = 3
"""Searches in a row that ask for known points only, before a random point is drawn."""


class _Asked(BaseException):
    """Ends an optimiser at the first point not known; no `except Exception` on the way may hold it."""

    def __init__(self, point: Array) -> None:
        self.point = point


class _Known:
    """What is observed and pending just now, by point."""

    def __init__(self, task: Subproblem) -> None:
        self.points, self.merits = task.observed()
        self._merit_of = {
            p.tobytes(): float(m) for p, m in zip(self.points, self.merits, strict=True)
        }
        self._pending = {p.tobytes() for p in task.pending()}

    def merit(self, point: Array) -> float | None:
        """Return what a point is worth, if it was measured and has not failed."""
        return self._merit_of.get(point.tobytes())

    def pending(self, point: Array) -> bool:
        """Tell whether a point is being measured."""
        return point.tobytes() in self._pending


class _Search:
    """One run of an optimiser: what it was told, the point it waits for, and the scale of its values."""

    def __init__(self, optimise: Optimiser, known: _Known, cube: Cube) -> None:
        self._optimise = optimise
        self._cube = cube
        self._values: list[float] = []
        self._centre: float | None = None
        self._spread, self._worst = 1.0, 0.0
        if len(known.merits):
            self._centre = float(np.median(known.merits))
            low, high = np.quantile(np.clip(known.merits, -1e100, 1e100), [0.25, 0.75])
            self._spread = float(high - low) or 1.0
        self.handed_over = False
        """Whether the point it waits for was proposed: unknown afterwards, it has failed."""
        self.waits_for = self._ask(known)

    def step(self, known: _Known) -> None:
        """Take what became of the point that is waited for, and go on to the next one unknown."""
        assert self.waits_for is not None
        self._values.append(self._scaled(known.merit(self.waits_for)))
        self.handed_over = False
        self.waits_for = self._ask(known)

    def _ask(self, known: _Known) -> Array | None:
        """Return the first point that nothing is known of; None if the optimiser ends before it."""
        told = iter(tuple(self._values))

        def function(point: Array) -> float:
            value = next(told, None)
            if value is None:
                asked = self._cube.project(np.clip(point, 0.0, 1.0))
                merit = known.merit(asked)
                if merit is None:
                    raise _Asked(asked)
                value = self._scaled(merit)
                self._values.append(value)
            return value

        try:
            with one_thread():
                self._optimise(function)
        except _Asked as asked:
            return asked.point
        return None

    def _scaled(self, merit: float | None) -> float:
        """Return the merit on the search's own scale; a failure is as bad as the worst so far."""
        if merit is None:
            return self._worst
        if self._centre is None:
            self._centre = merit
        # Halves, so that no difference of huge merits overflows.
        half = (0.5 * merit - 0.5 * self._centre) / self._spread
        value = 2.0 * min(max(half, -_LARGEST), _LARGEST)
        self._worst = max(self._worst, value)
        return value


def replayed(
    task: Subproblem, rng: np.random.Generator, start: Callable[[Points, Merits], Optimiser]
) -> Iterator[Points]:
    """Yield the points that one optimiser after another asks for.

    Parameters
    ----------
    task : Subproblem
        What is minimised.
    rng : numpy.random.Generator
        For random points, where everything asked for is known.
    start : callable
        Makes the next optimiser, given what is observed.
    """
    cube = Cube(task.parameters)
    searches: list[_Search] = []
    while True:
        known = _Known(task)
        fruitless = 0 if cube.dimension else _FRUITLESS
        while (point := _go_on(searches, known)) is None:
            fruitless += 1
            if fruitless > _FRUITLESS:
                point = cube.sample(rng)
                break
            searches.append(_Search(start(known.points, known.merits), known, cube))
        yield point


def _go_on(searches: list[_Search], known: _Known) -> Array | None:
    """Return the next point that some search wants measured; drop searches that have ended."""
    for search in tuple(searches):
        while search.waits_for is not None and not known.pending(search.waits_for):
            if known.merit(search.waits_for) is None and not search.handed_over:
                search.handed_over = True
                return search.waits_for
            search.step(known)
        if search.waits_for is None:
            searches.remove(search)
    return None

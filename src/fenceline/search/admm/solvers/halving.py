"""Successive halving (Jamieson and Talwalkar 2016): many cheap looks, more rows for the best of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.choices import Choices
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Look, Points, Subproblem

Draw = Callable[[int], list[Points]]
"""Draws so many candidates, as far as there are any."""

_DRAWS = 10
"""Per candidate, before a finite cube counts as used up."""


def check_fidelities(owner: str, task: Subproblem) -> None:
    """Refuse a sub-problem that cannot be looked at."""
    if not task.fidelities:
        raise DefinitionError(
            f"{owner}: there is no fidelity; give `measure` a parameter `fidelity` (the share of "
            "the rows) and an attribute `fidelities` such as (1/9, 1/3)."
        )


def check_halving(owner: str, eta: float) -> None:
    """Refuse a rate at which nothing is left out."""
    if not eta > 1:
        raise DefinitionError(f"{owner}: eta must be larger than 1; 3 is usual. Got {eta!r}.")


def ladder(fidelities: Sequence[float], eta: float) -> tuple[float, ...]:
    """Return the shares of the rungs, about a factor of eta apart, the last one 1."""
    shares = {1.0}
    wanted = 1.0 / eta
    # A little below the smallest: one ninth is not the same float everywhere.
    while wanted >= fidelities[0] * 0.99:
        shares.add(min(fidelities, key=lambda share: abs(math.log(share / wanted))))
        wanted /= eta
    # A smallest share that is much below the last rung is one more; a little below, it adds nothing.
    if fidelities[0] * math.sqrt(eta) < min(shares):
        shares.add(fidelities[0])
    return tuple(sorted(shares))


class Results:
    """What is known of points at every share, and what is being measured."""

    def __init__(self, task: Subproblem) -> None:
        self._pending = {p.tobytes() for p in task.pending()}
        points, merits = task.observed()
        self._merits = {(p.tobytes(), 1.0): float(m) for p, m in zip(points, merits, strict=True)}
        for point, merit, share in zip(*task.looks(), strict=True):
            self._merits[point.tobytes(), float(share)] = float(merit)

    def merit(self, point: Points, share: float) -> float | None:
        """Return the merit of a point at a share, if it is known."""
        return self._merits.get((point.tobytes(), share))

    def pending(self, point: Points) -> bool:
        """Tell whether a point is being measured."""
        return point.tobytes() in self._pending


class Bracket:
    """One tournament: every candidate at the first share, then the best of them at the next."""

    def __init__(self, candidates: Sequence[Points], shares: Sequence[float], eta: float) -> None:
        self._waiting = list(candidates)
        self._measured: list[Points] = []
        self._shares = list(shares)
        self._eta = eta

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be measured."""
        return not self._shares

    def next(self, results: Results) -> Points | Look | None:
        """Return what to measure next; None while others are pending, and at the end."""
        while self._shares:
            share = self._shares[0]
            while self._waiting:
                point = self._waiting.pop(0)
                self._measured.append(point)
                if results.merit(point, share) is None and not results.pending(point):
                    return point if share == 1.0 else Look(point, share)
            if any(results.pending(p) and results.merit(p, share) is None for p in self._measured):
                return None
            self._promote(results)
        return None

    def _promote(self, results: Results) -> None:
        share = self._shares.pop(0)
        # What has no merit by now has failed.
        known = [(m, p) for p in self._measured if (m := results.merit(p, share)) is not None]
        ranked = sorted(known, key=lambda pair: pair[0])
        keep = max(1, int(len(self._measured) / self._eta))
        self._waiting, self._measured = [p for _, p in ranked[:keep]], []
        if not self._waiting:
            self._shares = []


def hyperband_brackets(fidelities: Sequence[float], eta: float, draw: Draw) -> Iterator[Bracket]:
    """Yield Hyperband's brackets for ever: from many cheap looks to a few full measurements."""
    rungs = ladder(fidelities, eta)
    while True:
        for promotions in reversed(range(len(rungs))):
            count = math.ceil(len(rungs) * eta**promotions / (promotions + 1))
            yield Bracket(draw(count), rungs[-promotions - 1 :], eta)


def raced(
    task: Subproblem, rng: np.random.Generator, brackets: Iterator[Bracket]
) -> Iterator[Points | Look]:
    """Yield what one bracket after another wants measured.

    While a bracket waits for its last looks, the next one begins: no worker is idle, and with one
    worker brackets follow each other.
    """
    cube = Cube(task.parameters)
    running: list[Bracket] = []
    while True:
        results = Results(task)
        found, opened = _first(running, results), 0
        while found is None and opened < 3:
            opened += 1
            running.append(next(brackets))
            found = _first(running, results)
        # Three brackets without anything new: every candidate there is is known.
        yield cube.sample(rng) if found is None else found


def draw_new(task: Subproblem, sample: Callable[[], Points], count: int) -> list[Points]:
    """Return so many distinct points that were not measured in full, as far as they are to be had."""
    known = {point.tobytes() for point in task.observed()[0]}
    found: list[Points] = []
    for _ in range(_DRAWS * count):
        point = sample()
        if point.tobytes() not in known:
            known.add(point.tobytes())
            found.append(point)
            if len(found) == count:
                break
    return found


def candidates(task: Subproblem, rng: np.random.Generator, most: int) -> list[Points]:
    """Return every point not measured in full where they are few, in random order, else random ones."""
    cube = Cube(task.parameters)
    size = math.prod(p.size or math.inf for p in task.parameters)
    if size > most:
        return draw_new(task, lambda: cube.sample(rng), most)
    places = Choices("", task.parameters)
    known = {point.tobytes() for point in task.observed()[0]}
    points = [places.point(index) for index in product(*map(range, places.sizes))]
    points = [cube.project(point) for point in points]
    return [points[k] for k in rng.permutation(len(points)) if points[k].tobytes() not in known]


def check_candidates(owner: str, count: int) -> None:
    """Refuse a tournament without candidates."""
    if count < 2:
        raise DefinitionError(f"{owner}: candidates must be at least 2. Got {count!r}.")


def _first(running: list[Bracket], results: Results) -> Points | Look | None:
    """Return what the first bracket that can go on wants; drop those that have ended."""
    for bracket in tuple(running):
        found = bracket.next(results)
        if found is not None:
            return found
        if bracket.finished:
            running.remove(bracket)
    return None

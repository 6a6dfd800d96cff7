"""Cheapest derivations first, with what each alternative of a rule costs learnt from merits."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fenceline.errors import DefinitionError
from fenceline.problem.grammar import Grammar
from fenceline.problem.parameter import Categorical, Parameter
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Merits, Subproblem

Array = NDArray[np.float64]
Point = tuple[int, ...]
"""The number of the value of each parameter."""
Features = Callable[[Point], Sequence[int]]
"""The alternatives that a point uses, by number; one that is used twice is there twice."""

_PRIOR = 1.0
"""Variance of what an alternative costs before anything is known; merits are put on a unit scale."""
_NOISE = 0.5
"""Variance of what the alternatives do not explain together."""
_MOST_SKIPPED = 500
"""Known points that are passed over before a random one is asked for instead."""


@dataclass(frozen=True, slots=True)
class Derivations:
    """Learn what the alternatives of rules cost; ask for the cheapest pipeline that is not known.

    The cost of a pipeline is the sum over the alternatives it uses. Costs are learnt from the ranks
    of merits by Bayesian linear regression, and each proposal is cheapest under a draw of them, so
    that what was hardly tried is tried. A priority queue finds it.

    Parameters
    ----------
    grammar : Grammar, optional
        Whose space is searched: then places where a rule is used share what it costs, and a
        pipeline uses no alternatives but its own. Without one, every value of every parameter is
        an alternative.
    """

    grammar: Grammar | None = None

    blocks: ClassVar[tuple[str, ...]] = ("z",)

    def __post_init__(self) -> None:
        if self.grammar is not None and not isinstance(self.grammar, Grammar):
            raise DefinitionError(f"Derivations: grammar must be a Grammar. Got {self.grammar!r}.")

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Array]:
        """Yield the cheapest points that are not known."""
        cube, values = Cube(task.parameters), [_values(p) for p in task.parameters]
        rules = _Rules.of(task.parameters, values, self.grammar)
        while True:
            points, merits = task.observed()
            known = [_numbers(point, values) for point in points]
            taken = {*known, *(_numbers(point, values) for point in task.pending())}
            costs = rules.learnt(known, merits, rng)
            found = next(
                (p for p in islice(rules.cheapest(costs), _MOST_SKIPPED) if p not in taken), None
            )
            if found is None:
                yield cube.sample(rng)
            else:
                yield np.array(
                    [own[j] for own, j in zip(values, found, strict=True)], dtype=np.float64
                )


@dataclass(frozen=True, slots=True)
class _Rules:
    """The alternatives of a sub-problem: how many, which a point uses, and points by their cost."""

    count: int
    features: Features
    cheapest: Callable[[Array], Iterator[Point]]

    @classmethod
    def of(
        cls, parameters: Sequence[Parameter], values: Sequence[Array], grammar: Grammar | None
    ) -> _Rules:
        if grammar is None:
            return cls._of_values(values)
        places = _places(parameters, grammar)
        # What the grammar does not speak of, such as an encoder of categories, costs by itself.
        others = [k for k in range(len(values)) if k not in places]
        rest = cls._of_values([values[k] for k in others])
        names = {name: n for n, name in enumerate(grammar.costs, rest.count)}

        def features(point: Point) -> list[int]:
            own = [names[rule] for rule in grammar.rules_of(tuple(point[k] for k in places))]
            return [*rest.features(tuple(point[k] for k in others)), *own]

        def cheapest(costs: Array) -> Iterator[Point]:
            found = {name: float(costs[n]) for name, n in names.items()}
            # Of the others the best few, one after the other, with each pipeline in turn.
            best = list(islice(rest.cheapest(costs[: rest.count]), 3))
            for z in grammar.cheapest(found):
                for other in best:
                    point = dict(zip(places, z, strict=True)) | dict(
                        zip(others, other, strict=True)
                    )
                    yield tuple(point[k] for k in range(len(values)))

        return cls(rest.count + len(names), features, cheapest)

    @classmethod
    def _of_values(cls, values: Sequence[Array]) -> _Rules:
        starts = np.cumsum([0, *map(len, values)])

        def features(point: Point) -> list[int]:
            return [int(start) + j for start, j in zip(starts, point, strict=False)]

        def cheapest(costs: Array) -> Iterator[Point]:
            return _sums([costs[a:b] for a, b in pairwise(starts)])

        return cls(int(starts[-1]), features, cheapest)

    def learnt(self, points: Sequence[Point], merits: Merits, rng: np.random.Generator) -> Array:
        """Return a draw of what the alternatives cost, given the merits of some points."""
        drawn = np.sqrt(_PRIOR) * rng.standard_normal(self.count)
        if not len(points):
            return np.asarray(drawn)
        used = np.zeros((len(points), self.count))
        for row, point in enumerate(points):
            np.add.at(used[row], self.features(point), 1.0)
        # Ranks, for merits move with the multipliers and may be huge; ties share one.
        ranks = np.searchsorted(np.sort(merits), merits) + np.searchsorted(
            np.sort(merits), merits, side="right"
        )
        scores = ndtri(ranks / 2.0 / (len(merits) + 1.0) + 0.25 / (len(merits) + 1.0))
        # A draw from the prior, corrected by what it misses: cubic in the points, not the alternatives.
        missed = scores - scores.mean() - used @ drawn
        missed -= np.sqrt(_NOISE) * rng.standard_normal(len(points))
        kernel = _PRIOR * used @ used.T + _NOISE * np.eye(len(points))
        return np.asarray(drawn + _PRIOR * used.T @ np.linalg.solve(kernel, missed))


def _sums(costs: Sequence[Array]) -> Iterator[Point]:
    """Yield one number from each list, the smallest sums first."""
    orders = [np.argsort(own, kind="stable") for own in costs]
    ranked = [own[order] for own, order in zip(costs, orders, strict=True)]
    queue: list[tuple[float, Point]] = [(float(sum(own[0] for own in ranked)), (0,) * len(ranked))]
    while queue:
        cost, at = heapq.heappop(queue)
        yield tuple(int(order[k]) for order, k in zip(orders, at, strict=True))
        last = max((i for i, k in enumerate(at) if k), default=0)
        for i in range(last, len(at)):
            if at[i] + 1 < len(ranked[i]):
                more = cost + float(ranked[i][at[i] + 1] - ranked[i][at[i]])
                heapq.heappush(queue, (more, (*at[:i], at[i] + 1, *at[i + 1 :])))


def _values(parameter: Parameter) -> Array:
    if parameter.size is None:
        raise DefinitionError(
            f"Derivations: every parameter needs finitely many values. Got {parameter!r}; it solves "
            "z-min: fl.ADMM(z=Derivations())."
        )
    return np.asarray(
        parameter.raw_to_unit(parameter.low + np.arange(parameter.size, dtype=np.float64))
    )


def _numbers(point: Array, values: Sequence[Array]) -> Point:
    return tuple(int(np.abs(own - x).argmin()) for own, x in zip(values, point, strict=True))


def _places(parameters: Sequence[Parameter], grammar: Grammar) -> list[int]:
    """Return where in a sub-problem the choices of a grammar's space are."""
    places: list[int] = []
    for choice in grammar.space.choices:
        start = places[-1] + 1 if places else 0
        for k in range(start, len(parameters)):
            parameter = parameters[k]
            if isinstance(parameter, Categorical) and parameter.choices == choice.choices:
                places.append(k)
                break
        else:
            raise DefinitionError(
                "Derivations: the sub-problem is not over the space of its grammar; search "
                "grammar.space with fl.ADMM(z=Derivations(grammar)), or leave the grammar out."
            )
    return places

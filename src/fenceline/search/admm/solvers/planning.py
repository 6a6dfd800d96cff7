"""Best-first search over module prefixes with random completions, as in ML-Plan (Mohr et al. 2018)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.choices import Choices, Index
from fenceline.search.admm.solvers.protocol import Points, Subproblem

_DRAWS = 30
"""Random completions, before all below a prefix count as known."""


@dataclass(frozen=True, slots=True)
class Planning:
    """Refine the prefix with the best pipeline below it, choice by choice.

    A prefix is worth the lowest merit ever seen below it, and some random completions show a first one.
    The best is refined: every choice of the next module is completed in turn. Nothing is pruned, for such
    a value is optimistic and noisy. The last module, the estimator of a pipeline, is chosen first.

    Parameters
    ----------
    completions : int
        Pipelines that have to be seen below a prefix before its worth is believed.
    """

    completions: int = 3

    blocks: ClassVar[tuple[str, ...]] = ("z",)

    def __post_init__(self) -> None:
        if self.completions < 1:
            raise DefinitionError(
                f"Planning: completions must be at least 1. Got {self.completions!r}."
            )

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Points]:
        """Yield completions of one prefix after another."""
        forward = Choices("Planning", task.parameters)
        choices = forward.reversed()
        frontier: list[Index] = [()]
        proposed: set[Index] = set()
        exhausted: set[Index] = set()
        while True:
            seen = _Seen(forward, task)
            found = None
            while found is None and frontier:
                lacking = [
                    p for p in frontier if p not in exhausted and seen.lacks(p, self.completions)
                ]
                for prefix in lacking:
                    if seen.expects(prefix, self.completions):
                        continue  # pending ones are enough
                    found = _completion(prefix, choices, seen.taken | proposed, rng)
                    if found is not None:
                        break
                    exhausted.add(prefix)
                else:
                    if any(p not in exhausted for p in lacking):
                        # Every completion wanted is pending: a free worker tries the best so far.
                        best = min(frontier, key=seen.worth)
                        found = _completion(best, choices, seen.taken | proposed, rng)
                        break
                    best = min(frontier, key=seen.worth)
                    frontier.remove(best)
                    frontier += _refined(best, choices)
            if found is None:
                found = choices.sample(rng)
            proposed.add(found)
            yield forward.point(found[::-1])


class _Seen:
    """What is known below every prefix; modules stand in the order of the search."""

    def __init__(self, forward: Choices, task: Subproblem) -> None:
        points, merits = task.observed()
        known = [tuple(map(int, row)) for row in forward.indices(points)[:, ::-1]]
        pending = [tuple(map(int, row)) for row in forward.indices(task.pending())[:, ::-1]]
        self.taken = {*known, *pending}
        self._all: Counter[Index] = Counter()
        self._succeeded: Counter[Index] = Counter()
        self._pending: Counter[Index] = Counter()
        self._lowest: dict[Index, float] = {}
        self._depth = len(forward.sizes)
        worst = merits.max(initial=-np.inf)
        for index, merit in zip(known, merits.tolist(), strict=True):
            for prefix in _prefixes(index):
                self._all[prefix] += 1
                # A failure counts as the worst seen, so the worst may be one, and is not counted.
                self._succeeded[prefix] += merit < worst
                self._lowest[prefix] = min(merit, self._lowest.get(prefix, np.inf))
        for index in pending:
            self._pending.update(_prefixes(index))

    def lacks(self, prefix: Index, completions: int) -> bool:
        """Tell whether too few pipelines below a prefix succeeded to believe its worth."""
        if len(prefix) == self._depth:
            return self._all[prefix] == 0
        # Where nothing but failures is seen, twice as many are enough.
        return self._succeeded[prefix] < completions and self._all[prefix] < 2 * completions

    def expects(self, prefix: Index, completions: int) -> bool:
        """Tell whether enough will be known when what is pending has been measured."""
        waiting = self._pending[prefix]
        return waiting > 0 and self._succeeded[prefix] + waiting >= (
            1 if len(prefix) == self._depth else completions
        )

    def worth(self, prefix: Index) -> float:
        """Return the lowest merit below a prefix."""
        return self._lowest.get(prefix, np.inf)


def _completion(
    prefix: Index, choices: Choices, taken: set[Index], rng: np.random.Generator
) -> Index | None:
    """Return a random pipeline below a prefix that is neither known nor pending, if one is found."""
    for _ in range(_DRAWS):
        found = choices.sample(rng, prefix)
        if found not in taken:
            return found
    return None


def _refined(prefix: Index, choices: Choices) -> list[Index]:
    """Return the prefixes that are one choice longer; a module without a choice is passed over."""
    sizes = choices.sizes
    if len(prefix) == len(sizes):
        return []
    if sizes[len(prefix)] == 1:
        # Without siblings it inherits its parent's value, and is refined itself.
        longer = (*prefix, 0)
        return _refined(longer, choices) or [longer]
    return [(*prefix, j) for j in range(sizes[len(prefix)])]


def _prefixes(index: Index) -> Iterator[Index]:
    return (index[:depth] for depth in range(len(index) + 1))

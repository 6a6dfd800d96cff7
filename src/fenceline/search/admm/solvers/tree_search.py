"""Monte Carlo tree search over module prefixes, as in MOSAIC (Rakotoarison et al. 2019)."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.choices import Choices, Index
from fenceline.search.admm.solvers.effects import Effects, rewards
from fenceline.search.admm.solvers.protocol import Points, Subproblem

_RANDOM = 16
"""Random completions among which a playout chooses, beside the neighbours of the best one."""
_TOP = 3
"""A playout measures one of so many of the most promising completions."""
_TRIES = 20
"""Walks down the tree that end at known pipelines, before any unknown one is drawn."""


@dataclass(frozen=True, slots=True)
class TreeSearch:
    """Walk down a tree of choices, one module a level, to where rewards are high or visits few.

    The last module, the estimator of a pipeline, is the first level: it matters most. A node has few
    children at first and more with its visits. Below the last node of a walk, the completion with the
    best expected improvement, or nearly the best, is measured. Rewards are ranks of merits.

    Parameters
    ----------
    exploration : float
        Weight of the prior and of few visits against the median reward.
    widening : float
        A node of n visits has at most n to this power children.
    """

    exploration: float = 1.3
    widening: float = 0.6

    blocks: ClassVar[tuple[str, ...]] = ("z",)

    def __post_init__(self) -> None:
        if not self.exploration >= 0:
            raise DefinitionError(
                f"TreeSearch: exploration must not be negative. Got {self.exploration!r}."
            )
        if not 0 < self.widening <= 1:
            raise DefinitionError(
                f"TreeSearch: widening must lie in (0, 1]. Got {self.widening!r}."
            )

    def proposals(self, task: Subproblem, rng: np.random.Generator) -> Iterator[Points]:
        """Yield one pipeline after another."""
        forward = Choices("TreeSearch", task.parameters)
        choices = forward.reversed()
        nodes: set[Index] = set()
        repeats: Counter[Index] = Counter()
        while True:
            tree = _Tree(choices, forward, task, nodes, repeats)
            for _ in range(_TRIES):
                found = self._walk(tree, rng)
                if found not in tree.taken:
                    break
                # Not measured again, but it counts as a visit: the next walk goes elsewhere.
                repeats[found] += 1
                tree.visit(found)
            else:
                found = tree.any_new(rng)
            yield forward.point(found[::-1])

    def _walk(self, tree: "_Tree", rng: np.random.Generator) -> Index:
        """Return the pipeline that a walk from the root ends at, and grow the tree by one node."""
        prefix: Index = ()
        while len(prefix) < len(tree.choices.sizes):
            prior = tree.prior(len(prefix))
            allowed = max(1, int((tree.visits[prefix] + 1) ** self.widening))
            children = [j for j in range(len(prior)) if (*prefix, j) in tree.nodes]
            closed = [j for j in range(len(prior)) if (*prefix, j) not in tree.nodes]
            if closed and len(children) < allowed:
                weights = prior[closed] / prior[closed].sum()
                child = (*prefix, int(rng.choice(closed, p=weights)))
                tree.nodes.add(child)
                return tree.complete(child, rng)
            # Below some everything is known; where that holds for all, a repetition does no harm.
            children = [j for j in children if not tree.exhausted((*prefix, j))] or children
            visits = np.array([tree.visits[(*prefix, j)] for j in children])
            bonus = self.exploration * prior[children] * np.sqrt(visits.sum()) / (visits + 1.0)
            values = bonus + [tree.value((*prefix, j)) for j in children]
            prefix = (*prefix, children[int(np.argmax(values))])
        return prefix


class _Tree:
    """What is known of every prefix; modules stand in the order of the tree."""

    def __init__(
        self,
        choices: Choices,
        forward: Choices,
        task: Subproblem,
        nodes: set[Index],
        repeats: Counter[Index],
    ) -> None:
        points, merits = task.observed()
        self.choices = choices
        self.nodes = nodes
        self.chosen = forward.indices(points)[:, ::-1]
        self.rewards = rewards(merits)
        self.effects = Effects(choices.sizes, self.chosen, self.rewards)
        self.known = [tuple(map(int, row)) for row in self.chosen]
        pending = [tuple(map(int, row)) for row in forward.indices(task.pending())[:, ::-1]]
        self.taken = {*self.known, *pending}
        self.visits: Counter[Index] = Counter()
        for index in (*self.known, *pending, *repeats.elements()):
            self.visit(index)
        self._below: dict[Index, list[float]] = {}
        for index, reward in zip(self.known, self.rewards, strict=True):
            for depth in range(1, len(index) + 1):
                self._below.setdefault(index[:depth], []).append(float(reward))

    def visit(self, index: Index) -> None:
        """Count a visit of every prefix."""
        for depth in range(len(index) + 1):
            self.visits[index[:depth]] += 1

    def exhausted(self, prefix: Index) -> bool:
        """Tell whether everything below a prefix is known or pending."""
        below = math.prod(self.choices.sizes[len(prefix) :])
        # More visits than pipelines are needed for that: most prefixes are told apart at once.
        if self.visits[prefix] < below:
            return False
        return sum(index[: len(prefix)] == prefix for index in self.taken) >= below

    def prior(self, depth: int) -> NDArray[np.float64]:
        """Return softmax probabilities of what the model expects of each choice."""
        expected = self.effects.of(depth)
        weights = np.exp((expected - expected.max()) / max(expected.std(), 0.05))
        return np.asarray(weights / weights.sum())

    def value(self, prefix: Index) -> float:
        """Return the median reward below a prefix."""
        below = self._below.get(prefix)
        return float(np.median(below)) if below else 0.5

    def complete(self, prefix: Index, rng: np.random.Generator) -> Index:
        """Return a completion of a prefix, one of those with the best expected improvement."""
        sizes, depth = self.choices.sizes, len(prefix)
        drawn = {self.choices.sample(rng, prefix): None for _ in range(_RANDOM)}
        if self.known:
            inside = [k for k, index in enumerate(self.known) if index[:depth] == prefix]
            best = max(inside or range(len(self.known)), key=lambda k: self.rewards[k])
            model = (*prefix, *self.known[best][depth:])
            neighbours = [
                (*model[:m], j, *model[m + 1 :])
                for m in range(depth, len(sizes))
                for j in range(sizes[m])
            ]
            drawn |= dict.fromkeys([model, *neighbours])
        fresh = [index for index in drawn if index not in self.taken] or list(drawn)
        if not self.known:
            return fresh[0]
        table = np.array(fresh, dtype=np.intp).reshape(len(fresh), len(sizes))
        gains = self.effects.improvement(table, float(self.rewards.max()))
        top = np.argsort(-gains, kind="stable")[:_TOP]
        return fresh[int(rng.choice(top))]

    def any_new(self, rng: np.random.Generator) -> Index:
        """Return a random pipeline, an unknown one if it is easily found."""
        for _ in range(_TRIES):
            found = self.choices.sample(rng)
            if found not in self.taken:
                break
        return found

"""Pipelines as trees of algorithms: their order, their names, and the templates that can hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Choice
from fenceline.problem.module import Module
from fenceline.problem.template import Joined, Slot, Template, chained, joined


@dataclass(frozen=True, slots=True)
class Leaf:
    """An algorithm in a pipeline, and the module or rule that it comes from."""

    source: str
    choice: Choice

    @property
    def label(self) -> tuple[str, str]:
        """What it is, whatever its hyper-parameters."""
        return self.source, self.choice.algorithm


def in_order_of_name(tree: Any) -> Any:
    """Return a tree whose unions and votes, which are sets, are in order."""
    if not isinstance(tree, Joined):
        return tree
    parts = [in_order_of_name(part) for part in tree.parts]
    if tree.join != "chain":
        parts.sort(key=lambda part: (repr(labels(part)), repr(part)))
    return Joined(tree.join, tuple(parts))


def without_repeats(tree: Any) -> Any:
    """Return a sorted tree in which nothing is joined with its equal."""
    if not isinstance(tree, Joined):
        return tree
    parts = [without_repeats(part) for part in tree.parts]
    if tree.join != "chain":
        parts = [part for n, part in enumerate(parts) if part not in parts[:n]]
    return joined(tree.join, parts)


def leaves(tree: Any) -> Iterator[Leaf]:
    """Yield the algorithms of a pipeline, as data reach them."""
    if isinstance(tree, Joined):
        for part in tree.parts:
            yield from leaves(part)
    elif tree is not None:
        yield tree


def labels(tree: Any) -> Any:
    """Return what a pipeline is made of, whatever the hyper-parameters."""
    if isinstance(tree, Joined):
        return tree.join, tuple(labels(part) for part in tree.parts)
    return None if tree is None else tree.label


def numbered(tree: Any, numbers: Iterator[int]) -> Any:
    """Return a tree of pairs of a label and the number of its leaf."""
    if isinstance(tree, Joined):
        return Joined(tree.join, tuple(numbered(part, numbers) for part in tree.parts))
    return None if tree is None else (tree.label, next(numbers))


def matches(
    template: Any,
    chain: tuple[Any, ...],
    sources: Mapping[str, str],
    modules: Mapping[str, Module],
) -> Iterator[dict[str, int]]:
    """Yield the ways to fill a template so that it is this chain, those that fill first slots first."""
    if isinstance(template, Slot):
        if not chain:
            if template.optional:
                yield {}
        elif len(chain) == 1 and not isinstance(chain[0], Joined):
            (source, algorithm), number = chain[0]
            names = (a.name for a in modules[template.name].algorithms)
            if source == sources[template.name] and algorithm in names:
                yield {template.name: number}
        return
    if template.join == "chain":
        yield from _in_turn(template.parts, chain, sources, modules)
        return
    side = chain[0].parts if _is(chain, template.join) else None
    if side is None:  # all branches but one are empty, or all are
        branches: tuple[tuple[Any, ...], ...] = (chain,) if chain else ()
    else:
        branches = tuple(chained(part) for part in side)
    yield from _side_by_side(template.parts, branches, sources, modules)


def _is(chain: tuple[Any, ...], join: str) -> bool:
    return len(chain) == 1 and isinstance(chain[0], Joined) and chain[0].join == join


def _in_turn(
    parts: tuple[Any, ...],
    chain: tuple[Any, ...],
    sources: Mapping[str, str],
    modules: Mapping[str, Module],
) -> Iterator[dict[str, int]]:
    if not parts:
        if not chain:
            yield {}
        return
    for taken in reversed(range(len(chain) + 1)):
        for here in matches(parts[0], chain[:taken], sources, modules):
            for rest in _in_turn(parts[1:], chain[taken:], sources, modules):
                yield here | rest


def _side_by_side(
    parts: tuple[Any, ...],
    branches: tuple[tuple[Any, ...], ...],
    sources: Mapping[str, str],
    modules: Mapping[str, Module],
) -> Iterator[dict[str, int]]:
    if not parts:
        if not branches:
            yield {}
        return
    for n in range(len(branches) + 1):  # the last is none of them
        left = (*branches[:n], *branches[n + 1 :])
        for here in matches(parts[0], branches[n] if n < len(branches) else (), sources, modules):
            for rest in _side_by_side(parts[1:], left, sources, modules):
                yield here | rest


def relations(template: Template, names: list[str]) -> NDArray[np.intp]:
    """Return how each pair of slots stands: 0 one is missing, 1 before, 2 after, 3 or 4 side by side."""
    table = np.zeros((len(names), len(names)), dtype=np.intp)

    def walk(tree: Any) -> list[int]:
        if isinstance(tree, Slot):
            return [names.index(tree.name)]
        found = [walk(part) for part in tree.parts]
        how = {"chain": (1, 2), "union": (3, 3), "vote": (4, 4)}[tree.join]
        for a, first in enumerate(found):
            for second in found[a + 1 :]:
                table[np.ix_(first, second)] = how[0]
                table[np.ix_(second, first)] = how[1]
        return [i for part in found for i in part]

    walk(template)
    return table

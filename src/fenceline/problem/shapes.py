"""Pipelines of several shapes in one space: slots, the templates they stand in, and one form for each.

A module of which several algorithms may be chosen becomes that many slots, and an order that may
change one template for each permutation. Many encodings then mean one pipeline: an empty slot has no
place in an order, and the branches of a union have none either. :meth:`Shapes.canonical` maps all of
them to the first, so that a pipeline is measured once, and has one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import comb, factorial, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import SpaceError, suggestion
from fenceline.problem.configuration import Choice, FrozenParams
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.template import (
    NAME,
    NONE,
    SHAPE,
    Join,
    Joined,
    Slot,
    Template,
    chained,
    filled,
    joined,
    parse,
    slots,
)

MOST_REORDERED = 6
"""Modules whose order is searched: 720 orders."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An algorithm in a pipeline, and the module or rule that it comes from."""

    source: str
    choice: Choice

    @property
    def label(self) -> tuple[str, str]:
        """What it is, whatever its hyper-parameters."""
        return self.source, self.choice.algorithm


@dataclass(frozen=True)
class Shapes:
    """What a space knows of the shapes of its pipelines.

    Parameters
    ----------
    templates : tuple of Template
        In the order of the algorithms of the module "shape".
    sources : mapping of str to str
        Slot -> the module or rule whose algorithms it holds.
    joins : mapping of str to str
        Modules that take several algorithms, each at most once in a pipeline -> how they are joined.
    reorder : tuple of str
        Modules that change places.
    """

    templates: tuple[Template, ...]
    sources: Mapping[str, str]
    joins: Mapping[str, Join] = field(default_factory=dict)
    reorder: tuple[str, ...] = ()
    _found: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.templates)

    def __reduce__(self) -> Any:
        return type(self), (self.templates, dict(self.sources), dict(self.joins), self.reorder)

    def canonical(
        self, chosen: Mapping[str, Choice], modules: Mapping[str, Module]
    ) -> dict[str, Choice]:
        """Return the choices that mean the same pipeline and are the first to do so.

        A slot that must be filled and is not is given its first algorithm, at its start.
        """
        template = parse(chosen[SHAPE].algorithm)
        seen: set[tuple[str, str]] = set()

        def leaf(slot: Slot) -> Leaf | None:
            choice = chosen[slot.name]
            source = self.sources[slot.name]
            if choice.algorithm == NONE:
                if slot.optional:
                    return None
                choice = _first(modules[slot.name])
            found = Leaf(source, choice)
            if source in self.joins:
                if found.label in seen:
                    return None
                seen.add(found.label)
            return found

        tree = _sorted(filled(template, leaf))
        placed = None
        if (single := _single(tree)) != tree:
            # Joined with itself it is no other pipeline, if the space has it alone.
            placed = self._place(single, modules)
        tree = tree if placed is None else single
        placed = placed or self._place(tree, modules)
        assert placed is not None, f"no shape fits {tree}"
        number, places = placed
        leaves = list(_leaves(tree))
        found = dict(chosen)
        found[SHAPE] = Choice(str(self.templates[number]))
        for slot in self.sources:
            found[slot] = leaves[places[slot]].choice if slot in places else Choice(NONE)
        return found

    def _place(self, tree: Any, modules: Mapping[str, Module]) -> tuple[int, dict[str, int]] | None:
        """Return the first template with which a pipeline can be written, and the leaf in each slot."""
        key = _labels(tree)
        if key not in self._found:
            numbered = _numbered(tree, iter(range(len(list(_leaves(tree))))))
            for number, template in enumerate(self.templates):
                found = next(_matches(template, chained(numbered), self.sources, modules), None)
                if found is not None:
                    self._found[key] = number, found
                    break
            else:
                self._found[key] = None
        found = self._found[key]
        return found if found is None else (found[0], found[1])

    @cached_property
    def agreement(self) -> NDArray[np.float64]:
        """How alike two templates are: the share of pairs of slots that stand to each other the same."""
        names = list(self.sources)
        tables = np.array([_relations(t, names) for t in self.templates])
        pairs = np.triu_indices(len(names), 1)
        if not len(pairs[0]):
            return np.ones((len(tables),) * 2)
        related = tables[:, pairs[0], pairs[1]]
        # Pairs that no template arranges otherwise say nothing.
        related = related[:, (related != related[:1]).any(axis=0)]
        if not related.shape[1]:
            return np.ones((len(tables),) * 2)
        return np.asarray((related[:, None] == related[None]).mean(axis=2))

    @cached_property
    def slots_of(self) -> dict[str, tuple[str, ...]]:
        """Source -> its slots."""
        found: dict[str, tuple[str, ...]] = {}
        for slot, source in self.sources.items():
            found[source] = (*found.get(source, ()), slot)
        return found

    def without(self, source: str) -> Shapes:
        """Return the shapes without the slots of a source."""
        kept = {slot: own for slot, own in self.sources.items() if own != source}
        reduced = [filled(t, lambda s: s if s.name in kept else None) for t in self.templates]
        left = dict.fromkeys(t for t in reduced if t is not None)
        return Shapes(
            tuple(left),
            kept,
            {own: join for own, join in self.joins.items() if own != source},
            tuple(own for own in self.reorder if own != source),
        )

    def count(self, modules: Mapping[str, Module]) -> int:
        """Return how many pipelines there are, hyper-parameters apart; of a grammar, at most."""
        sizes = {slot: _filled_ways(modules[slot]) for slot in self.sources}
        if len(self.templates) != factorial(len(self.reorder)):  # by a grammar
            return sum(
                prod(sizes[slot.name] + slot.optional for slot in slots(template))
                for template in self.templates
            )
        optional = {slot.name for slot in slots(self.templates[0]) if slot.optional}
        fixed, moving = 1, [1]
        for source, own in self.slots_of.items():
            n, most, union = sizes[own[0]], len(own), self.joins.get(source) == "union"
            ways = sum(comb(n, k) if union else perm(n, k) for k in range(1, most + 1))
            empty = int(own[0] in optional)
            if source not in self.reorder:
                fixed *= empty + ways
                continue
            # Of the modules that move, those that are filled can stand in any order.
            moving = [
                empty * now + ways * one_fewer
                for now, one_fewer in zip([*moving, 0], [0, *moving], strict=True)
            ]
        return fixed * sum(ways * factorial(k) for k, ways in enumerate(moving))

    def to_dict(self) -> dict[str, Any]:
        """Describe the shapes in JSON's types."""
        return {
            "templates": [str(template) for template in self.templates],
            "sources": dict(self.sources),
            "joins": dict(self.joins),
            "reorder": list(self.reorder),
        }

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Shapes:
        """Rebuild shapes from :meth:`to_dict`."""
        return cls(
            tuple(parse(text) for text in description["templates"]),
            dict(description["sources"]),
            dict(description["joins"]),
            tuple(description["reorder"]),
        )

    def module(self) -> Module:
        """Return the module that chooses among the shapes."""
        return Module(SHAPE, [Algorithm(str(template)) for template in self.templates])


def compiled(modules: Sequence[Module], reorder: Sequence[str]) -> tuple[list[Module], Shapes]:
    """Return slots in place of modules that take several algorithms, and the templates they stand in."""
    names = [m.name for m in modules]
    _check(names, reorder)
    sources: dict[str, str] = {}
    made, parts = [], {}
    for module in modules:
        empty = any(a.name == NONE for a in module.algorithms)
        own = [module.name, *(f"{module.name}_{n}" for n in range(2, module.most + 1))]
        algorithms = [*module.algorithms, *([] if empty else [Algorithm(NONE)])]
        made += [
            Module(slot, algorithms if number else module.algorithms)
            for number, slot in enumerate(own)
        ]
        sources |= dict.fromkeys(own, module.name)
        parts[module.name] = joined(
            module.join, [Slot(slot, empty or number > 0) for number, slot in enumerate(own)]
        )
    joins = {m.name: m.join for m in modules if m.most > 1}
    moving = sorted(reorder, key=names.index)
    places = [names.index(name) for name in moving]
    templates = []
    for order in permutations(moving):
        arranged = list(names)
        for place, name in zip(places, order, strict=True):
            arranged[place] = name
        templates.append(joined("chain", [parts[name] for name in arranged]))
    return made, Shapes(tuple(templates), sources, joins, tuple(moving))


def _check(names: Sequence[str], reorder: Sequence[str]) -> None:
    if isinstance(reorder, str) or not isinstance(reorder, Sequence):
        raise SpaceError(f"Space: reorder must be a list of module names. Got {reorder!r}.")
    for name in reorder:
        if name not in names:
            raise SpaceError(
                f"Space: reorder names {name!r}, and there is no such module."
                f"{suggestion(str(name), names)}"
            )
    if len(set(reorder)) != len(reorder) or len(reorder) == 1:
        raise SpaceError(
            f"Space: reorder needs two or more modules, each once. Got {tuple(reorder)!r}."
        )
    if len(reorder) > MOST_REORDERED:
        raise SpaceError(
            f"Space: {len(reorder)} modules have {factorial(len(reorder)):,} orders; reorder at most "
            f"{MOST_REORDERED}."
        )
    for name in names:
        if name == SHAPE or not NAME.fullmatch(name):
            raise SpaceError(
                f"Space: where modules are reordered or take several algorithms, none can be called "
                f"{name!r}; rename it to a word of letters, digits and _ other than {SHAPE!r}."
            )


def _filled_ways(module: Module) -> int:
    return sum(a.name != NONE for a in module.algorithms)


def _first(module: Module) -> Choice:
    algorithm = next(a for a in module.algorithms if a.name != NONE)
    start = algorithm.start or {}
    params = {n: start.get(n, p.from_unit(0.5)) for n, p in algorithm.params.items()}
    return Choice(algorithm.name, FrozenParams(params))


def _sorted(tree: Any) -> Any:
    """Return a tree whose unions and votes, which are sets, are in order."""
    if not isinstance(tree, Joined):
        return tree
    parts = [_sorted(part) for part in tree.parts]
    if tree.join != "chain":
        parts.sort(key=lambda part: (repr(_labels(part)), repr(part)))
    return Joined(tree.join, tuple(parts))


def _single(tree: Any) -> Any:
    """Return a sorted tree in which nothing is joined with its equal."""
    if not isinstance(tree, Joined):
        return tree
    parts = [_single(part) for part in tree.parts]
    if tree.join != "chain":
        parts = [part for n, part in enumerate(parts) if part not in parts[:n]]
    return joined(tree.join, parts)


def _leaves(tree: Any) -> Iterator[Leaf]:
    if isinstance(tree, Joined):
        for part in tree.parts:
            yield from _leaves(part)
    elif tree is not None:
        yield tree


def _labels(tree: Any) -> Any:
    """Return what a pipeline is made of, whatever the hyper-parameters."""
    if isinstance(tree, Joined):
        return tree.join, tuple(_labels(part) for part in tree.parts)
    return None if tree is None else tree.label


def _numbered(tree: Any, numbers: Iterator[int]) -> Any:
    """Return a tree of pairs of a label and the number of its leaf."""
    if isinstance(tree, Joined):
        return Joined(tree.join, tuple(_numbered(part, numbers) for part in tree.parts))
    return None if tree is None else (tree.label, next(numbers))


def _matches(
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
        for here in _matches(parts[0], chain[:taken], sources, modules):
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
        for here in _matches(parts[0], branches[n] if n < len(branches) else (), sources, modules):
            for rest in _side_by_side(parts[1:], left, sources, modules):
                yield here | rest


def _relations(template: Template, names: list[str]) -> NDArray[np.intp]:
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

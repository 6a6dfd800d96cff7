"""Pipelines of several shapes in one space: slots, the templates they stand in, and one form for each.

A module of which several algorithms may be chosen becomes that many slots, and an order that may
change one template for each permutation. Many encodings then mean one pipeline: an empty slot has no
place in an order, and the branches of a union have none either. :meth:`Shapes.canonical` maps all of
them to the first, so that a pipeline is measured once, and has one name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, factorial, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Choice, FrozenParams
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.shape_trees import (
    Leaf,
    in_order_of_name,
    labels,
    leaves,
    matches,
    numbered,
    relations,
    without_repeats,
)
from fenceline.problem.template import (
    NONE,
    SHAPE,
    Join,
    Slot,
    Template,
    chained,
    filled,
    parse,
    slots,
)


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
    by_name : bool
        Whether algorithms of one name are the same, wherever they come from: so it is in a grammar.
    """

    templates: tuple[Template, ...]
    sources: Mapping[str, str]
    joins: Mapping[str, Join] = field(default_factory=dict)
    reorder: tuple[str, ...] = ()
    by_name: bool = False
    _found: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.templates)

    def __reduce__(self) -> Any:
        kept = self.templates, dict(self.sources), dict(self.joins), self.reorder, self.by_name
        return type(self), kept

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
            source = self._origins[slot.name]
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

        tree = in_order_of_name(filled(template, leaf))
        placed = None
        if (single := without_repeats(tree)) != tree:
            # Joined with itself it is no other pipeline, if the space has it alone.
            placed = self._place(single, modules)
        tree = tree if placed is None else single
        placed = placed or self._place(tree, modules)
        assert placed is not None, f"no shape fits {tree}"
        number, places = placed
        held = list(leaves(tree))
        found = dict(chosen)
        found[SHAPE] = Choice(str(self.templates[number]))
        for slot in self.sources:
            found[slot] = held[places[slot]].choice if slot in places else Choice(NONE)
        return found

    def _place(self, tree: Any, modules: Mapping[str, Module]) -> tuple[int, dict[str, int]] | None:
        """Return the first template with which a pipeline can be written, and the leaf in each slot."""
        key = labels(tree)
        if key not in self._found:
            pairs = chained(numbered(tree, iter(range(len(list(leaves(tree)))))))
            for number, template in enumerate(self.templates):
                found = next(matches(template, pairs, self._origins, modules), None)
                if found is not None:
                    self._found[key] = number, found
                    break
            else:
                self._found[key] = None
        found = self._found[key]
        return found if found is None else (found[0], found[1])

    @cached_property
    def _origins(self) -> Mapping[str, str]:
        """Slot -> what tells its algorithms from others of the same name."""
        return dict.fromkeys(self.sources, "") if self.by_name else self.sources

    @cached_property
    def agreement(self) -> NDArray[np.float64]:
        """How alike two templates are: the share of pairs of slots that stand to each other the same."""
        names = list(self.sources)
        tables = np.array([relations(t, names) for t in self.templates])
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
            self.by_name,
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
            "by_name": self.by_name,
        }

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Shapes:
        """Rebuild shapes from :meth:`to_dict`."""
        return cls(
            tuple(parse(text) for text in description["templates"]),
            dict(description["sources"]),
            dict(description["joins"]),
            tuple(description["reorder"]),
            description.get("by_name", False),
        )

    def module(self) -> Module:
        """Return the module that chooses among the shapes."""
        return Module(SHAPE, [Algorithm(str(template)) for template in self.templates])


def _filled_ways(module: Module) -> int:
    return sum(a.name != NONE for a in module.algorithms)


def _first(module: Module) -> Choice:
    algorithm = next(a for a in module.algorithms if a.name != NONE)
    start = algorithm.start or {}
    params = {n: start.get(n, p.from_unit(0.5)) for n, p in algorithm.params.items()}
    return Choice(algorithm.name, FrozenParams(params))

"""Slots and templates from modules that take several algorithms or change places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial

from fenceline.errors import SpaceError, suggestion
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.shapes import Shapes
from fenceline.problem.template import NAME, NONE, SHAPE, Slot, joined

MOST_REORDERED = 6
"""Modules whose order is searched: 720 orders."""


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

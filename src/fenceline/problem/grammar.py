"""Shapes of pipelines by a grammar: a few readable lines that become a space.

::

    pipeline = scaler? -> step{0,2} -> model
    step     = select | expand + expand
    scaler   = StandardScaler | RobustScaler
    select   = SelectPercentile | VarianceThreshold
    expand   = PCA | Nystroem | PolynomialFeatures
    model    = learner | vote(learner, learner)
    learner  = LogisticRegression | DecisionTree

A rule is unrolled into templates (:mod:`fenceline.problem.template`); alternatives that are plain
algorithms become the algorithms of a slot. So the space is searched by whatever searches spaces.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fenceline.errors import SpaceError, suggestion
from fenceline.problem.configuration import Configuration
from fenceline.problem.grammar_rules import Unrolled, read, unroll
from fenceline.problem.module import Algorithm, Module
from fenceline.problem.shapes import Shapes
from fenceline.problem.space import Choices, Space
from fenceline.problem.template import NAME, NONE, SHAPE, Joined, Slot, Template, joined, slots


@dataclass(frozen=True)
class Shape:
    """A template, and the alternatives of rules that lead to it."""

    template: Template
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Grammar:
    """Pipelines of any shape, described by rules.

    Parameters
    ----------
    rules : str
        One a line, as ``name = ...``; the first is the whole pipeline. ``a -> b`` is one after the
        other, ``a | b`` one of both, ``a?`` maybe, ``a{0,2}`` none, once or twice, ``a + b`` side by
        side with their columns joined, ``vote(a, b)`` estimators that vote; brackets group. A name
        that is no rule is an algorithm.
    algorithms : sequence of Algorithm, or Space, optional
        Their hyper-parameters and starts; an algorithm that is not among them has none.
    """

    rules: str
    algorithms: Sequence[Algorithm] | Space = ()

    def __post_init__(self) -> None:
        given = self.algorithms
        if isinstance(given, Space):
            given = [a for module in given.modules for a in module.algorithms]
        for algorithm in given:
            if not isinstance(algorithm, Algorithm):
                raise SpaceError(f"Grammar: {algorithm!r} is not an Algorithm.")
        object.__setattr__(self, "algorithms", tuple(given))
        _ = self.space  # what is wrong with the rules is said at once

    def __hash__(self) -> int:
        return hash(self.rules)

    @cached_property
    def space(self) -> Space:
        """The space of all pipelines that the rules derive."""
        assert not isinstance(self.algorithms, Space)
        used = [slot.name for shape in self.shapes for slot in slots(shape.template)]
        named = {a.name: a for a in self.algorithms}
        modules = []
        # What predicts comes last, as in every space of pipelines.
        last = list(slots(self.shapes[0].template))[-1].name
        sources = {slot: self._source(slot) for slot in sorted(used, key=lambda slot: slot == last)}
        for slot in sources:
            names = self._read.leaves[sources[slot]]
            own = [named.get(name, Algorithm(name)) for name in names]
            modules.append(
                Module(slot, [*own, *([Algorithm(NONE)] if self._leaves_out(slot) else [])])
            )
        templates = tuple(shape.template for shape in self.shapes)
        return Space.shaped(modules, Shapes(templates, sources, by_name=True))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The templates that the rules unroll to, in their order."""
        found: dict[Template, Shape] = {}
        for one in unroll(self._read):
            template = _named(one, {})
            if template is None or all(slot.optional for slot in slots(template)):
                raise SpaceError(
                    "Grammar: a pipeline may be empty; let one of its parts be no option."
                )
            _check_branches(template)
            found.setdefault(template, Shape(template, one.rules))
        names = [slot.name for shape in found.values() for slot in slots(shape.template)]
        for name in names:
            if name == SHAPE or not NAME.fullmatch(name):
                raise SpaceError(f"Grammar: a rule cannot be called {name!r}; rename it.")
        return tuple(found.values())

    @cached_property
    def costs(self) -> dict[str, float]:
        """What each alternative of a rule costs unless told otherwise: a step 1, anything else nothing."""
        costs = {rule: 0.0 for shape in self.shapes for rule in shape.rules}
        for source, names in self._read.leaves.items():
            costs |= {f"{source} = {name}": 1.0 for name in names}
        return costs

    def derivations(self, costs: Mapping[str, float] | None = None) -> Iterator[Configuration]:
        """Yield all pipelines, each once, the cheapest first, with hyper-parameters at their starts.

        Parameters
        ----------
        costs : mapping of str to float, optional
            Alternative -> what it costs, for those that differ from :attr:`costs`.
        """
        seen: set[Configuration] = set()
        for z in self.cheapest(costs):
            configuration = self.space.decode(z, self.space.start)
            if configuration not in seen:
                seen.add(configuration)
                yield configuration

    def cheapest(self, costs: Mapping[str, float] | None = None) -> Iterator[Choices]:
        """Yield encodings of all derivations, the cheapest first; what is ambiguous comes again."""
        for name in costs or {}:
            if name not in self.costs:
                raise SpaceError(
                    f"Grammar: there is no alternative {name!r}.{suggestion(name, self.costs)}"
                )
        known = self.costs | dict(costs or {})
        options = [self._options(shape.template, known) for shape in self.shapes]
        # Of each shape the next cheapest, by how far each of its slots has gone down its list.
        queue: list[tuple[float, int, tuple[int, ...]]] = []
        for number, shape in enumerate(self.shapes):
            start = sum(known[rule] for rule in shape.rules)
            heapq.heappush(
                queue,
                (
                    start + sum(own[0][0] for _, own in options[number]),
                    number,
                    (0,) * len(options[number]),
                ),
            )
        while queue:
            cost, number, at = heapq.heappop(queue)
            yield self._encoded(number, options[number], at)
            # One slot goes on; those before it stay, so that nothing is queued twice.
            last = max((k for k, step in enumerate(at) if step), default=0)
            for k in range(last, len(at)):
                own = options[number][k][1]
                if at[k] + 1 < len(own):
                    more = cost - own[at[k]][0] + own[at[k] + 1][0]
                    heapq.heappush(queue, (more, number, (*at[:k], at[k] + 1, *at[k + 1 :])))

    def rules_of(self, z: Choices) -> tuple[str, ...]:
        """Return the alternatives behind choices of the space; what is in no slot does not count."""
        shape = self.shapes[z[0]]
        places = {module.name: i for i, module in enumerate(self.space.modules)}
        found = list(shape.rules)
        for slot in slots(shape.template):
            algorithm = self.space.modules[places[slot.name]].algorithms[z[places[slot.name]]]
            if algorithm.name != NONE:
                found.append(f"{self._source(slot.name)} = {algorithm.name}")
        return tuple(found)

    def _options(
        self, template: Template, costs: Mapping[str, float]
    ) -> list[tuple[str, list[tuple[float, int]]]]:
        """Return, for each slot, its algorithms by number, the cheapest first."""
        modules = {module.name: module for module in self.space.modules}
        options = []
        for slot in slots(template):
            source = self._source(slot.name)
            own = [
                (0.0 if a.name == NONE else costs[f"{source} = {a.name}"], j)
                for j, a in enumerate(modules[slot.name].algorithms)
                if slot.optional or a.name != NONE
            ]
            options.append((slot.name, sorted(own)))
        return options

    def _encoded(
        self, number: int, options: list[tuple[str, list[tuple[float, int]]]], at: tuple[int, ...]
    ) -> Choices:
        chosen = {slot: own[k][1] for (slot, own), k in zip(options, at, strict=True)}
        z = [number]
        for module in self.space.modules[1:]:
            empty = next((j for j, a in enumerate(module.algorithms) if a.name == NONE), 0)
            z.append(chosen.get(module.name, empty))
        return tuple(z)

    def _source(self, slot: str) -> str:
        if slot in self._read.leaves:
            return slot
        return slot.rpartition("_")[0]

    def _leaves_out(self, slot: str) -> bool:
        """Tell whether a slot is empty in some pipeline."""
        for shape in self.shapes:
            if not any(s.name == slot and not s.optional for s in slots(shape.template)):
                return True
        return False

    @cached_property
    def _read(self) -> Any:
        return read(self.rules)


def _named(one: Unrolled, used: dict[str, int]) -> Template | None:
    """Return a template whose slots bear the names of their sources, numbered where they come again."""

    def walk(tree: Any) -> Any:
        if isinstance(tree, Slot):
            used[tree.name] = used.get(tree.name, 0) + 1
            number = used[tree.name]
            return Slot(tree.name if number == 1 else f"{tree.name}_{number}", tree.optional)
        if tree is None:
            return None
        parts = [walk(part) for part in tree.parts]
        flat = [
            inner
            for part in parts
            if part is not None
            for inner in (
                part.parts if isinstance(part, Joined) and part.join == tree.join else (part,)
            )
        ]
        return joined(tree.join, flat)

    found = walk(one.tree)
    assert found is None or isinstance(found, Slot | Joined)
    return found


def _check_branches(template: Template) -> None:
    """Refuse a branch that can become a join of the same kind: it could be written in two ways."""
    if isinstance(template, Slot):
        return
    for part in template.parts:
        _check_branches(part)
        if template.join == "chain" or not isinstance(part, Joined):
            continue
        for inner in part.parts:
            alone = all(
                s.optional for other in part.parts if other is not inner for s in slots(other)
            )
            if isinstance(inner, Joined) and inner.join == template.join and alone:
                raise SpaceError(
                    f"Grammar: in {template} the branch {part} may be nothing but {inner}, which could be "
                    "written without its brackets, too; let another part of the branch be no option."
                )

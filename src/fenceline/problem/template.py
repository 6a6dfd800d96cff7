"""The shape of a pipeline, written as text: ``"scaler? -> (features + features_2?) -> model"``.

An arrow chains, brackets with ``+`` join the columns of branches, ``vote(a, b)`` joins estimators,
and a question mark says that a slot may stay empty. Spaces whose pipelines have more than one shape
hold such texts as the algorithms of a module of their own; so a configuration says its shape itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from fenceline.errors import SpaceError

SHAPE = "shape"
"""The module that holds the shapes of a space, if there are any."""
NONE = "none"
"""The algorithm of a slot that is empty."""
NAME = re.compile(r"[A-Za-z_][\w.-]*")

Join: TypeAlias = Literal["chain", "union", "vote"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one algorithm."""

    name: str
    optional: bool = False

    def __str__(self) -> str:
        return self.name + "?" * self.optional


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts one after the other, side by side, or with a vote each; parts of a pipeline are anything."""

    join: Join
    parts: tuple[Any, ...]

    def __str__(self) -> str:
        texts = [str(part) for part in self.parts]
        if self.join == "chain":
            return " -> ".join(texts)
        return f"({' + '.join(texts)})" if self.join == "union" else f"vote({', '.join(texts)})"


Template: TypeAlias = Slot | Joined


def joined(join: Join, parts: list[Any]) -> Any:
    """Join parts: a single one is itself, none is None, and a chain in a chain is part of it."""
    if join == "chain":
        parts = [inner for part in parts for inner in chained(part)]
    return None if not parts else parts[0] if len(parts) == 1 else Joined(join, tuple(parts))


def chained(tree: Any) -> tuple[Any, ...]:
    """Return what stands one after the other in a tree; nothing in None."""
    if tree is None:
        return ()
    chain = isinstance(tree, Joined) and tree.join == "chain"
    return tree.parts if chain else (tree,)


def filled(template: Template, leaf: Callable[[Slot], Any]) -> Any:
    """Return a template with leaves in place of slots; None is an empty slot, and goes."""
    if isinstance(template, Slot):
        return leaf(template)
    parts = [filled(part, leaf) for part in template.parts]
    return joined(template.join, [part for part in parts if part is not None])


def slots(template: Template) -> Iterator[Slot]:
    """Yield the slots of a template, as data reach them."""
    if isinstance(template, Slot):
        yield template
    else:
        for part in template.parts:
            yield from slots(part)


def flow(configuration: Mapping[str, Any]) -> Any:
    """Return the pipeline of a configuration as a tree of pairs of slot and choice.

    Without a shape that is the chain of its choices. Choices that are in no slot of a shape, such as
    an encoder of categories, are no part of it.
    """
    template = shape_of(configuration)
    if template is None:
        return joined("chain", list(configuration.items()))

    def leaf(slot: Slot) -> Any:
        choice = configuration[slot.name]
        return None if choice.algorithm == NONE else (slot.name, choice)

    return filled(template, leaf)


def in_order(configuration: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the choices that a pipeline is made of, in the order in which data reach them.

    What is in no slot comes where it stands: before the first slot, or after.
    """
    template = shape_of(configuration)
    if template is None:
        return list(configuration.items())
    before, after = outside(configuration, template)
    inside = [slot.name for slot in slots(template)]
    chosen = [name for name in inside if configuration[name].algorithm != NONE]
    return [(name, configuration[name]) for name in (*before, *chosen, *after)]


def outside(
    configuration: Mapping[str, Any], template: Template
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that are in no slot of a shape, before its slots and after, but for empty ones."""
    inside = {slot.name for slot in slots(template)}
    names = list(configuration)
    first = min(map(names.index, inside))
    rest = [
        name
        for name in names
        if name not in inside and name != SHAPE and configuration[name].algorithm != NONE
    ]
    before = tuple(name for name in rest if names.index(name) < first)
    return before, tuple(name for name in rest if name not in before)


def shape_of(configuration: Mapping[str, Any]) -> Template | None:
    """Return the shape that a configuration says it has; None if it is an ordinary one."""
    if SHAPE not in configuration:
        return None
    try:
        template = parse(configuration[SHAPE].algorithm)
    except SpaceError:
        return None  # a module that only bears that name
    return template if all(s.name in configuration for s in slots(template)) else None


@lru_cache(maxsize=4096)
def parse(text: str) -> Template:
    """Read a template; the inverse of ``str``."""
    tokens = re.findall(r"->|vote\(|[()+,?]|[A-Za-z_][\w.-]*?(?=->|[^\w.-]|$)|\S", text)
    template, rest = _chain(tokens, text)
    if rest:
        raise SpaceError(f"The shape {text!r} cannot be read from {rest[0]!r} on.")
    assert isinstance(template, Slot | Joined)
    return template


def _chain(tokens: list[str], text: str) -> tuple[Any, list[str]]:
    part, tokens = _item(tokens, text)
    parts = [part]
    while tokens[:1] == ["->"]:
        part, tokens = _item(tokens[1:], text)
        parts.append(part)
    return joined("chain", parts), tokens


def _item(tokens: list[str], text: str) -> tuple[Any, list[str]]:
    if tokens and tokens[0] in ("(", "vote("):
        join: Join = "union" if tokens[0] == "(" else "vote"
        separator = "+" if tokens[0] == "(" else ","
        part, tokens = _chain(tokens[1:], text)
        parts = [part]
        while tokens[:1] == [separator]:
            part, tokens = _chain(tokens[1:], text)
            parts.append(part)
        if tokens[:1] == [")"]:
            return joined(join, parts), tokens[1:]
    elif tokens and NAME.fullmatch(tokens[0]):
        optional = tokens[1:2] == ["?"]
        return Slot(tokens[0], optional), tokens[1 + optional :]
    raise SpaceError(f"The shape {text!r} cannot be read{f' at {tokens[0]!r}' if tokens else ''}.")

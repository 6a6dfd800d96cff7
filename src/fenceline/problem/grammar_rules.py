"""The lines of a grammar, read and unrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, TypeAlias

from fenceline.errors import SpaceError
from fenceline.problem.template import Join, Slot, joined

_TOKEN = re.compile(r"\s*(->|vote\(|[()|+,?]|\{\d+,\d+\}|[A-Za-z_][\w.]*)")
_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)")
MOST_REPEATED = 9
MOST_SHAPES = 2000
"""Templates of a grammar; more would take long to compare with each other."""


@dataclass(frozen=True, slots=True)
class Name:
    """A rule, or an algorithm."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OneOf:
    """Alternatives."""

    options: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"({' | '.join(map(str, self.options))})"


@dataclass(frozen=True, slots=True)
class Together:
    """Parts in a chain, a union or a vote."""

    join: Join
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.join == "vote":
            return f"vote({', '.join(map(str, self.parts))})"
        return f"({(' -> ' if self.join == 'chain' else ' + ').join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Repeated:
    """A part from `least` to `most` times."""

    part: Expression
    least: int
    most: int

    def __str__(self) -> str:
        return (
            f"{self.part}?"
            if (self.least, self.most) == (0, 1)
            else f"{self.part}{{{self.least},{self.most}}}"
        )


Expression: TypeAlias = Name | OneOf | Together | Repeated


@dataclass(frozen=True, slots=True)
class Read:
    """Rules by name, the first one first, and the algorithms of each slot."""

    rules: Mapping[str, Expression]
    leaves: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A tree of slots, each named after its source, and the alternatives that lead to it."""

    tree: Any
    rules: tuple[str, ...] = ()


def read(text: str) -> Read:
    """Read rules; algorithms that are alternatives of one rule share a slot."""
    if not isinstance(text, str):
        raise SpaceError(f"Grammar: rules must be text, a rule a line. Got {text!r}.")
    lines: list[list[str]] = []
    for line in (raw.partition("#")[0].strip() for raw in text.splitlines()):
        found = _LINE.fullmatch(line)
        if found:
            lines.append([found[1], found[2]])
        elif line and lines:
            lines[-1][1] += " " + line
        elif line:
            raise SpaceError(f"Grammar: a rule reads 'name = ...'. Got {line!r}.")
    if not lines:
        raise SpaceError("Grammar: there is no rule; write 'pipeline = ...'.")
    names = [name for name, _ in lines]
    for name in names:
        if names.count(name) > 1:
            raise SpaceError(f"Grammar: the rule {name!r} is there twice; join both with '|'.")
    rules = {name: _Reader(name, body).expression() for name, body in lines}
    return Read(rules, {})


def unroll(grammar: Read) -> list[Unrolled]:
    """Return every tree of slots that the rules derive; fills in the algorithms of each slot."""
    return _listed(_rule(grammar, next(iter(grammar.rules)), ()))


def _listed(found: Iterator[Unrolled]) -> list[Unrolled]:
    listed = list(islice(found, MOST_SHAPES + 1))
    if len(listed) > MOST_SHAPES:
        raise SpaceError(
            f"Grammar: the rules have more than {MOST_SHAPES:,} shapes; repeat less, or let a rule "
            "have algorithms as its alternatives, which are one shape."
        )
    return listed


def _rule(grammar: Read, name: str, inside: tuple[str, ...]) -> Iterator[Unrolled]:
    if name in inside:
        way = " -> ".join((*inside[inside.index(name) :], name))
        raise SpaceError(
            f"Grammar: the rule {name!r} leads to itself ({way}); write how often, such as {name}{{0,3}}."
        )
    yield from _unrolled(grammar, grammar.rules[name], name, (*inside, name))


def _unrolled(
    grammar: Read, expression: Expression, rule: str, inside: tuple[str, ...]
) -> Iterator[Unrolled]:
    if isinstance(expression, Name):
        if expression.name in grammar.rules:
            yield from _rule(grammar, expression.name, inside)
        else:
            source = rule if grammar.rules[rule] == expression else expression.name
            yield Unrolled(_slot(grammar, source, (expression.name,)))
    elif isinstance(expression, OneOf):
        yield from _alternatives(grammar, expression, rule, inside)
    elif isinstance(expression, Together):
        for parts in product(
            *(_listed(_unrolled(grammar, p, rule, inside)) for p in expression.parts)
        ):
            yield _joined(expression.join, parts)
    else:
        once = _listed(_unrolled(grammar, expression.part, rule, inside))
        if len(once) == 1 and isinstance(once[0].tree, Slot) and not once[0].rules:
            # A slot that may stay empty says the same in one shape.
            name = once[0].tree.name
            some = [Slot(name, k >= expression.least) for k in range(expression.most)]
            yield Unrolled(joined("chain", list(some)))
            return
        for times in range(expression.least, expression.most + 1):
            for parts in product(once, repeat=times):
                made = _joined("chain", parts)
                yield Unrolled(made.tree, (*made.rules, f"{rule}: {expression.part} x {times}"))


def _alternatives(
    grammar: Read, expression: OneOf, rule: str, inside: tuple[str, ...]
) -> Iterator[Unrolled]:
    own = [
        o.name for o in expression.options if isinstance(o, Name) and o.name not in grammar.rules
    ]
    others = [o for o in expression.options if not (isinstance(o, Name) and o.name in own)]
    if own:
        # Brackets inside a rule make a source of their own.
        source = rule if grammar.rules[rule] == expression else "_or_".join(own)
        slot = _slot(grammar, source, tuple(dict.fromkeys(own)))
        yield Unrolled(slot, (f"{rule} = {'/'.join(own)}",) if others else ())
    for option in others:
        for found in _unrolled(grammar, option, rule, inside):
            yield Unrolled(found.tree, (*found.rules, f"{rule} = {option}"))


def _slot(grammar: Read, source: str, algorithms: tuple[str, ...]) -> Slot:
    if grammar.leaves.setdefault(source, algorithms) != algorithms:
        raise SpaceError(f"Grammar: {source!r} is both an algorithm and a part; rename the rule.")
    if "none" in algorithms:
        raise SpaceError(
            f"Grammar: {source!r} has 'none' among its algorithms; write '?' for a part that may be missing."
        )
    return Slot(source)


def _joined(join: Join, parts: tuple[Unrolled, ...]) -> Unrolled:
    trees = [part.tree for part in parts if part.tree is not None]
    return Unrolled(joined(join, trees), tuple(rule for part in parts for rule in part.rules))


class _Reader:
    """Reads the right side of one rule."""

    def __init__(self, rule: str, text: str) -> None:
        self.rule, self.text = rule, text
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._error(text[place:].split()[0])
            self.tokens.append(found[1])
            place = found.end()

    def expression(self) -> Expression:
        """Read everything."""
        found = self._one_of()
        if self.tokens:
            raise self._error(self.tokens[0])
        return found

    def _one_of(self) -> Expression:
        options = self._separated("|", self._union)
        return options[0] if len(options) == 1 else OneOf(tuple(options))

    def _union(self) -> Expression:
        parts = self._separated("+", self._chain)
        return parts[0] if len(parts) == 1 else Together("union", tuple(parts))

    def _chain(self) -> Expression:
        parts = self._separated("->", self._item)
        return parts[0] if len(parts) == 1 else Together("chain", tuple(parts))

    def _item(self) -> Expression:
        token = self._next()
        found: Expression
        if token == "(":
            found = self._one_of()
            self._expect(")")
        elif token == "vote(":
            found = Together("vote", tuple(self._separated(",", self._one_of)))
            self._expect(")")
        elif re.fullmatch(r"[A-Za-z_][\w.]*", token):
            found = Name(token)
        else:
            raise self._error(token)
        if self.tokens[:1] == ["?"]:
            self._next()
            return Repeated(found, 0, 1)
        if self.tokens and self.tokens[0].startswith("{"):
            least, most = map(int, self._next()[1:-1].split(","))
            if not least <= most <= MOST_REPEATED or most == 0:
                raise SpaceError(
                    f"Grammar: {found}{{{least},{most}}} in rule {self.rule!r} must be from few to many, "
                    f"and at most {MOST_REPEATED}."
                )
            return Repeated(found, least, most)
        return found

    def _separated(self, separator: str, part: Any) -> list[Expression]:
        parts = [part()]
        while self.tokens[:1] == [separator]:
            self._next()
            parts.append(part())
        return parts

    def _next(self) -> str:
        if not self.tokens:
            raise self._error("the end")
        return self.tokens.pop(0)

    def _expect(self, token: str) -> None:
        if self.tokens[:1] != [token]:
            raise self._error(self.tokens[0] if self.tokens else "the end")
        self._next()

    def _error(self, token: str) -> SpaceError:
        return SpaceError(
            f"Grammar: rule {self.rule!r} cannot be read at {token!r} in {self.text!r}; write parts with "
            "->, |, +, ?, {0,2}, vote(a, b) and brackets."
        )

"""White-box rules: which pipelines may be tried at all, known without measuring anything.

A rule is a predicate on a :class:`~fenceline.Configuration`, true where the pipeline is allowed.
:func:`forbid` and :func:`order` write the two common ones as data, so that a misspelt name is
refused and a stored run knows them again; any function will do for the rest.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import ge, gt, le, lt
from typing import Any, Literal, TypeAlias

from fenceline.errors import DefinitionError, suggestion
from fenceline.problem.configuration import Configuration
from fenceline.problem.parameter import Categorical, Parameter, Value
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.problem.template import NONE

Rule: TypeAlias = Callable[[Configuration], bool]
"""True where a pipeline is allowed."""

Relation: TypeAlias = Literal["<", "<=", ">", ">="]
_RELATIONS = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Some algorithms of a module and, for each named hyper-parameter, some of its values."""

    module: str
    algorithms: tuple[str, ...]
    values: tuple[tuple[str, tuple[Value, ...]], ...] = ()

    def matches(self, configuration: Configuration) -> bool:
        """Tell whether the configuration has this part."""
        choice = configuration[self.module]
        return choice.algorithm in self.algorithms and all(
            choice.params[name] in values for name, values in self.values
        )


@dataclass(frozen=True, slots=True)
class Forbid:
    """Pipelines that have all these parts together are not allowed; made by :func:`forbid`."""

    parts: tuple[Pattern, ...]

    def __call__(self, configuration: Configuration) -> bool:
        """Tell whether at least one of the parts is absent."""
        return not all(part.matches(configuration) for part in self.parts)

    def check(self, space: Space) -> None:
        """Refuse names and values that the space does not have."""
        for part in self.parts:
            module = _module(space, part.module)
            for name in part.algorithms:
                algorithm = _algorithm(module, name)
                for parameter, values in part.values:
                    found = _parameter(algorithm, parameter)
                    for value in values:
                        try:
                            found.check(value)
                        except DefinitionError as problem:
                            raise DefinitionError(
                                f"forbid: {parameter!r} of {name!r} {problem}"
                            ) from None


@dataclass(frozen=True, slots=True)
class Order:
    """A relation between two hyper-parameters that holds where both are active; made by :func:`order`."""

    left: str
    relation: Relation
    right: str

    def __call__(self, configuration: Configuration) -> bool:
        """Tell whether the relation holds, or has nothing to say."""
        left, right = (_value(configuration, name) for name in (self.left, self.right))
        if left is None or right is None:
            return True
        return bool(_RELATIONS[self.relation](left, right))

    def check(self, space: Space) -> None:
        """Refuse names that the space does not have, and categories, which have no order."""
        known = {
            f"{m.name}.{a.name}.{n}": p
            for m in space.modules
            for a in m.algorithms
            for n, p in a.params.items()
        }
        for name in (self.left, self.right):
            if name not in known:
                raise DefinitionError(
                    f"order: there is no hyper-parameter {name!r}.{suggestion(name, known)} "
                    "Write it as 'module.algorithm.hyper_parameter'."
                )
            if isinstance(known[name], Categorical):
                raise DefinitionError(
                    f"order: {name!r} is a category and has no order; use forbid(...)."
                )


def forbid(combination: Mapping[str, Any]) -> Forbid:
    """Forbid a combination of choices, wherever all of it is present.

    Parameters
    ----------
    combination : mapping
        Module -> algorithm, a list of algorithms, or ``(algorithm, {hyper_parameter: value})``
        with a value or a list of values.

    Examples
    --------
    >>> rule = forbid({"scaler": "none", "model": ("knn", {"p": [1, 2]})})
    """
    if not isinstance(combination, Mapping) or not combination:
        raise DefinitionError(
            f"forbid: give the modules and the algorithms that must not meet. Got {combination!r}; "
            "such as forbid({'scaler': 'none', 'model': 'knn'})."
        )
    return Forbid(tuple(_part(module, given) for module, given in combination.items()))


def order(left: str, relation: Relation, right: str) -> Order:
    """Ask for a relation between two hyper-parameters, wherever both are active.

    Parameters
    ----------
    left, right : str
        Written as in the columns of a result: ``"module.algorithm.hyper_parameter"``.
    relation : {"<", "<=", ">", ">="}
        What must hold between their values.

    Examples
    --------
    >>> rule = order("scaler.robust.q_min", "<", "scaler.robust.q_max")
    """
    if relation not in _RELATIONS:
        raise DefinitionError(
            f"order: the relation must be one of {list(_RELATIONS)}. Got {relation!r}."
        )
    return Order(left, relation, right)


def read_rules(allowed: object, space: Space) -> tuple[Rule, ...]:
    """Return what a user gave as ``allowed=`` as a tuple of rules that suit the space."""
    given = allowed if isinstance(allowed, Sequence) else () if allowed is None else (allowed,)
    found: list[Rule] = []
    for rule in given:
        if not callable(rule) or isinstance(rule, type):
            raise DefinitionError(
                f"Problem: allowed must be a function of a configuration, forbid(...), order(...) "
                f"or a list of them. Got {rule!r}."
            )
        if not isinstance(rule, Forbid | Order):
            found.append(rule)
            continue
        for one in _in_slots(rule, space):
            one.check(space)
            found.append(one)
    return tuple(found)


def _in_slots(rule: Forbid | Order, space: Space) -> Sequence[Forbid | Order]:
    """Return what a rule about modules says of the slots of those that take several algorithms."""
    if space.shapes is None:
        return (rule,)
    slots = space.shapes.slots_of
    if isinstance(rule, Order):
        names = []
        for name in (rule.left, rule.right):
            module, _, rest = name.partition(".")
            names.append([f"{slot}.{rest}" for slot in slots.get(module, (module,))])
        return [Order(left, rule.relation, right) for left, right in product(*names)]
    sources = [space.shapes.sources.get(part.module, part.module) for part in rule.parts]
    found = []
    for placed in product(*(slots.get(source, (source,)) for source in sources)):
        # Two parts of one module are two of its algorithms, whichever slots they are in.
        if len(set(placed)) == len(placed):
            parts = map(_placed, rule.parts, placed, map(slots.get, sources))
            found.append(Forbid(tuple(parts)))
    return [one for one in found if all(part.algorithms for part in one.parts)]


def _placed(part: Pattern, slot: str, slots: Sequence[str] | None) -> Pattern:
    """Return what a pattern says of a slot; a module is empty where its first slot is."""
    later = slots is not None and slot != slots[0]
    kept = tuple(a for a in part.algorithms if not (later and a == NONE))
    return Pattern(slot, kept, part.values)


def broken(rules: Sequence[Rule], configuration: Configuration) -> int:
    """Count the rules that a configuration breaks."""
    count = 0
    for rule in rules:
        try:
            count += not rule(configuration)
        except Exception as problem:
            name = getattr(rule, "__name__", repr(rule))
            raise DefinitionError(
                f"The rule {name} raised {type(problem).__name__}: {problem} for {configuration}. "
                "A rule must say True or False of every pipeline of the space."
            ) from problem
    return count


def _part(module: str, given: object) -> Pattern:
    if isinstance(given, str):
        return Pattern(module, (given,))
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        values = tuple((str(name), _several(value)) for name, value in given[1].items())
        return Pattern(module, (given[0],), values)
    if isinstance(given, Collection) and given and all(isinstance(a, str) for a in given):
        return Pattern(module, tuple(given))
    raise DefinitionError(
        f"forbid: module {module!r} needs an algorithm, a list of algorithms, or (algorithm, "
        f"{{hyper_parameter: value}}). Got {given!r}."
    )


def _several(value: Any) -> tuple[Value, ...]:
    return tuple(value) if isinstance(value, list | tuple | set | range) else (value,)


def _value(configuration: Configuration, name: str) -> Any:
    """Return the value of a hyper-parameter by its full name; None where it is not active."""
    for module, choice in configuration.choices:
        prefix = f"{module}.{choice.algorithm}."
        if name.startswith(prefix) and name[len(prefix) :] in choice.params:
            return choice.params[name[len(prefix) :]]
    return None


def _module(space: Space, name: str) -> Module:
    for module in space.modules:
        if module.name == name:
            return module
    names = [m.name for m in space.modules]
    raise DefinitionError(f"forbid: there is no module {name!r}.{suggestion(name, names)}")


def _algorithm(module: Module, name: str) -> Algorithm:
    for algorithm in module.algorithms:
        if algorithm.name == name:
            return algorithm
    names = [a.name for a in module.algorithms]
    raise DefinitionError(
        f"forbid: module {module.name!r} has no algorithm {name!r}.{suggestion(name, names)}"
    )


def _parameter(algorithm: Algorithm, name: str) -> Parameter:
    if name not in algorithm.params:
        raise DefinitionError(
            f"forbid: algorithm {algorithm.name!r} has no hyper-parameter {name!r}."
            f"{suggestion(name, algorithm.params)}"
        )
    return algorithm.params[name]

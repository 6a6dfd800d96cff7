"""What one module was given by hand, checked; and all values that a hyper-parameter has."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fenceline.errors import ConfigurationError, SpaceError, suggestion
from fenceline.problem.configuration import Choice, FrozenParams
from fenceline.problem.module import Module
from fenceline.problem.parameter import Categorical, Integer, Parameter, Value


def listed_values(parameter: Parameter) -> Iterable[Value]:
    """Return all values of a hyper-parameter, if they are finitely many."""
    if isinstance(parameter, Categorical):
        return parameter.choices
    if isinstance(parameter, Integer):
        return range(parameter.low, parameter.high + 1)
    if parameter.size is None:
        raise SpaceError(f"{parameter!r} has no end of values; only a finite space can be listed.")
    return (parameter.low,)


def checked_choice(module: Module, choices: Mapping[str, Any]) -> Choice:
    """Validate what was given for one module."""
    if module.name not in choices:
        raise ConfigurationError(
            f"Module {module.name!r} has no choice; choose one of its algorithms."
        )
    given = choices[module.name]
    if isinstance(given, str):
        given = (given, {})
    elif isinstance(given, Choice):
        given = (given.algorithm, given.params)
    if not (isinstance(given, Sequence) and len(given) == 2 and isinstance(given[1], Mapping)):
        raise ConfigurationError(
            f"Module {module.name!r}: expected (algorithm, params). Got {given!r}."
        )
    name, params = given
    found = next((a for a in module.algorithms if a.name == name), None)
    if found is None:
        known = [a.name for a in module.algorithms]
        raise ConfigurationError(
            f"Module {module.name!r} has no algorithm {name!r}.{suggestion(name, known)}",
            value=name,
        )
    for key in params:
        if key not in found.params:
            raise ConfigurationError(
                f"Algorithm {name!r} has no hyper-parameter {key!r}.{suggestion(key, found.params)}",
                value=key,
            )
    checked: dict[str, Value] = {}
    for key, parameter in found.params.items():
        if key not in params:
            raise ConfigurationError(
                f"Algorithm {name!r} lacks a value for {key!r}; give one.", parameter=parameter
            )
        try:
            checked[key] = parameter.check(params[key])
        except ConfigurationError as problem:
            raise ConfigurationError(
                f"Algorithm {name!r}: {key!r} {problem}", value=params[key], parameter=parameter
            ) from None
    return Choice(found.name, FrozenParams(checked))

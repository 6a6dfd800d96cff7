"""Pipelines that are known to be good, with which a search begins."""

from collections.abc import Mapping, Sequence

from fenceline.errors import ConfigurationError, DefinitionError
from fenceline.problem.configuration import Configuration
from fenceline.problem.space import Space


def space_starts(space: Space) -> tuple[Configuration, ...]:
    """Return one pipeline for each start of the last module that has any; none without starts.

    The other modules are at their first algorithms. That last module is, in a space of pipelines,
    the one that predicts.
    """
    for i, module in reversed(list(enumerate(space.modules))):
        found = [j for j, algorithm in enumerate(module.algorithms) if algorithm.start is not None]
        if found:
            first = space.first
            return tuple(space.decode((*first[:i], j, *first[i + 1 :]), space.start) for j in found)
    return ()


def read_starts(starts: object, space: Space) -> tuple[Configuration, ...]:
    """Check configurations given by hand, and put their numbers on the lattice of the space.

    A search proposes from the lattice; what lies beside it would be measured twice.
    """
    if not isinstance(starts, Sequence) or isinstance(starts, str):
        raise DefinitionError(f"Problem: starts must be a list of configurations. Got {starts!r}.")
    found: dict[Configuration, None] = {}
    for number, start in enumerate(starts, 1):
        if not isinstance(start, Mapping):
            raise DefinitionError(
                f"Problem: start {number} is not a configuration; make one with "
                f"space.configuration(...). Got {start!r}."
            )
        try:
            found[space.decode(*space.encode(space.configuration(start)))] = None
        except ConfigurationError as problem:
            raise DefinitionError(
                f"Problem: start {number} is not in the space. {problem}"
            ) from None
    return tuple(found)

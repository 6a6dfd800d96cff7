"""Spaces made from spaces: add, drop, keep or restrict modules, algorithms and ranges in one line.

::

    space = named_space("default")
    space = drop(space, "estimator", "MLP", "KNeighbors")
    space = only(space, "scaler", "none", "StandardScaler")
    space = add(space, "estimator", Algorithm("sklearn.svm.LinearSVC", {"C": Real(0.01, 10, log=True)}))
    space = restrict(space, "estimator", "RandomForest", n_estimators=Integer(10, 50), max_features=0.5)
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fenceline.errors import ConfigurationError, SpaceError, suggestion
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real, Value
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.problem.template import NONE


def add(space: Space, module: str | Module, *algorithms: Algorithm) -> Space:
    """Append algorithms to a module, or a whole module before the last one, which predicts."""
    if isinstance(module, Module):
        if space.shapes is not None:
            raise SpaceError(
                f"The space has a shape of its own, in which module {module.name!r} has no place; make a "
                "Space or a Grammar that has it."
            )
        return Space([*space.modules[:-1], module, *space.modules[-1:]])
    found = _module(space, module)
    return _with(space, found, [*found.algorithms, *algorithms])


def drop(space: Space, module: str, *algorithms: str) -> Space:
    """Remove algorithms from a module; without any named, the module itself."""
    found = _module(space, module)
    if not algorithms:
        if space.shapes is not None and found.name in space.shapes.sources:
            source = space.shapes.sources[found.name]
            gone = space.shapes.slots_of[source]
            left = [m for m in space.modules if m.name not in gone]
            return Space.shaped(left, space.shapes.without(source))
        return Space.shaped([m for m in space.modules if m is not found], space.shapes)
    _check_known(found, algorithms)
    return _with(space, found, [a for a in found.algorithms if a.name not in algorithms])


def only(space: Space, module: str, *algorithms: str) -> Space:
    """Keep these algorithms of a module, in this order: the first is where searches start."""
    found = _module(space, module)
    _check_known(found, algorithms)
    known = {a.name: a for a in found.algorithms}
    return _with(space, found, [known[name] for name in algorithms])


def restrict(space: Space, module: str, algorithm: str, **ranges: Parameter | Value) -> Space:
    """Give hyper-parameters of an algorithm a narrower range, or one value.

    A new range must lie within the old one; to widen it, `drop` the algorithm and `add` another.
    """
    found = _module(space, module)
    _check_known(found, [algorithm])
    before = next(a for a in found.algorithms if a.name == algorithm)
    params = dict(before.params)
    for name, given in ranges.items():
        if name not in params:
            raise SpaceError(
                f"Algorithm {algorithm!r} has no hyper-parameter {name!r}.{suggestion(name, params)}"
            )
        params[name] = _within(f"Algorithm {algorithm!r}: {name!r}", params[name], given)
    after = replace(before, params=params, start=_start_within(before.start, params))
    return _with(space, found, [after if a is before else a for a in found.algorithms])


def _within(owner: str, before: Parameter, given: Parameter | Value) -> Parameter:
    """Check that a range lies within another; a single value becomes a range of one."""
    after = given if isinstance(given, Real | Integer | Categorical) else Categorical([given])
    ends = after.choices if isinstance(after, Categorical) else (after.low, after.high)
    for value in ends:
        try:
            before.check(value)
        except ConfigurationError as problem:
            raise SpaceError(f"{owner} {problem}") from None
    return after


def _start_within(
    start: Mapping[str, Value] | None, params: Mapping[str, Parameter]
) -> dict[str, Value] | None:
    """Return a start moved into narrower ranges; of choices that are gone nothing is known."""
    if start is None:
        return None
    kept: dict[str, Value] = {}
    for name, value in start.items():
        range_ = params[name]
        if isinstance(range_, Categorical):
            if value in range_.choices:
                kept[name] = value
        elif isinstance(value, int | float):
            kept[name] = min(max(value, range_.low), range_.high)
    return kept


def _module(space: Space, name: str) -> Module:
    for module in space.modules:
        if module.name == name:
            return module
    names = [m.name for m in space.modules]
    raise SpaceError(f"There is no module {name!r}.{suggestion(name, names)}")


def _check_known(module: Module, names: Iterable[str]) -> None:
    known = [a.name for a in module.algorithms]
    for name in names:
        if name not in known:
            raise SpaceError(
                f"Module {module.name!r} has no algorithm {name!r}.{suggestion(name, known)}"
            )


def _with(space: Space, before: Module, algorithms: list[Algorithm]) -> Space:
    """Return the space with other algorithms in a module, and in every slot of it."""
    slots: tuple[str, ...] = (before.name,)
    if space.shapes is not None and before.name in space.shapes.sources:
        slots = space.shapes.slots_of[space.shapes.sources[before.name]]

    def changed(module: Module) -> Module:
        # All slots of a module but the first may be empty.
        later = module.name != slots[0] and all(a.name != NONE for a in algorithms)
        return Module(module.name, [*algorithms, *([Algorithm(NONE)] if later else [])])

    return Space.shaped([changed(m) if m.name in slots else m for m in space.modules], space.shapes)

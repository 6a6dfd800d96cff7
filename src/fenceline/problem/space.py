"""Search spaces: modules of algorithms with hyper-parameters, and the configurations they hold.

A configuration lives in two forms: for people and `measure`, a mapping from module name to
:class:`Choice`; for solvers, a pair ``(z, theta)`` of algorithm indices and unit-cube
coordinates of *all* hyper-parameters, of which only the chosen algorithms' are active.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import ConfigurationError, SpaceError, suggestion
from fenceline.problem.choosing import checked_choice, listed_values
from fenceline.problem.configuration import Choice, Configuration, FrozenParams
from fenceline.problem.module import Algorithm, Module, check_unique
from fenceline.problem.parameter import (
    Categorical,
    Parameter,
    parameter_from_dict,
    parameter_to_dict,
)
from fenceline.problem.shape_compiling import compiled
from fenceline.problem.shapes import Shapes
from fenceline.problem.template import NONE, SHAPE

__all__ = ["Algorithm", "Choices", "Module", "Space", "Theta"]

Choices: TypeAlias = tuple[int, ...]
"""z: the index of the chosen algorithm, module by module."""

Theta: TypeAlias = NDArray[np.float64]
"""theta: unit-cube coordinates of every hyper-parameter of every algorithm."""

MOST_ENUMERATED = 20_000
"""Configurations of a finite space that are looked at one by one."""


@dataclass(frozen=True)
class Space:
    """All pipelines that may be searched: one algorithm per module, each with its hyper-parameters.

    Parameters
    ----------
    modules : sequence of Module
        In the order in which data flows through them.
    reorder : sequence of str
        Modules whose order is searched, too; they change places among themselves.

    Notes
    -----
    Where modules are reordered, or take several algorithms, `modules` holds their slots instead
    (``"features"``, ``"features_2"``) and a first module ``"shape"`` for the order. Whatever is
    chosen is brought into one form, so that no two configurations are the same pipeline.
    """

    modules: tuple[Module, ...]
    shapes: Shapes | None = field(default=None, repr=False)

    def __init__(self, modules: Sequence[Module], reorder: Sequence[str] = ()) -> None:
        if (
            isinstance(modules, Module)
            or not isinstance(modules, Sequence)
            or isinstance(modules, str)
        ):
            raise SpaceError(f"Space: modules must be a list of Module. Got {modules!r}.")
        if not modules:
            raise SpaceError("Space: there is no module; give at least one.")
        for module in modules:
            if not isinstance(module, Module):
                raise SpaceError(
                    f"Space: {module!r} is not a Module; write Module(name, algorithms)."
                )
        check_unique("Space", "module", [m.name for m in modules])
        shapes = None
        if reorder or any(module.most > 1 for module in modules):
            slots, shapes = compiled(modules, reorder)
            modules = [shapes.module(), *slots]
            check_unique("Space", "module", [m.name for m in modules])
        object.__setattr__(self, "modules", tuple(modules))
        object.__setattr__(self, "shapes", shapes)

    @classmethod
    def shaped(cls, modules: Sequence[Module], shapes: Shapes | None) -> "Space":
        """Return a space of slots that stand in given shapes; `modules` may hold the shapes' own."""
        slots = [m for m in modules if shapes is None or m.name != SHAPE]
        if shapes is None:
            return cls(slots)
        space = cls([shapes.module(), *slots])
        object.__setattr__(space, "shapes", shapes)
        return space

    @cached_property
    def size(self) -> int:
        """Number of algorithm combinations; where a grammar is ambiguous, at most."""
        if self.shapes is None:
            return math.prod(len(m.algorithms) for m in self.modules)
        outside = (m for m in self.modules if m.name not in (SHAPE, *self.shapes.sources))
        return self.shapes.count(self._named) * math.prod(len(m.algorithms) for m in outside)

    @cached_property
    def _named(self) -> dict[str, Module]:
        return {module.name: module for module in self.modules}

    @cached_property
    def cardinality(self) -> float:
        """Number of distinct configurations; infinite as soon as one real hyper-parameter varies."""
        # Floats throughout: a product of many ints may be too large to meet an infinity.
        most = math.prod(
            sum(
                math.prod((p.size or math.inf for p in a.params.values()), start=1.0)
                for a in m.algorithms
            )
            for m in self.modules
        )
        if self.shapes is None or most > MOST_ENUMERATED:
            return most
        return float(sum(1 for _ in self.configurations()))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every hyper-parameter of every algorithm: the columns of theta."""
        return tuple(p for m in self.modules for a in m.algorithms for p in a.params.values())

    @cached_property
    def columns(self) -> tuple[tuple[slice, ...], ...]:
        """``columns[i][j]``: where in theta the hyper-parameters of algorithm j of module i live."""
        ends = np.cumsum([0] + [len(a.params) for m in self.modules for a in m.algorithms])
        slices = iter(slice(int(a), int(b)) for a, b in pairwise(ends))
        return tuple(tuple(next(slices) for _ in m.algorithms) for m in self.modules)

    def active(self, z: Choices) -> NDArray[np.intp]:
        """Return the columns of theta that matter under these choices."""
        parts = [np.arange(s.start, s.stop) for s in (self.columns[i][j] for i, j in enumerate(z))]
        return np.concatenate(parts).astype(np.intp)

    @cached_property
    def choices(self) -> tuple[Categorical, ...]:
        """The choice of each module, as a parameter among others."""
        return tuple(Categorical([a.name for a in module.algorithms]) for module in self.modules)

    def point_of(self, z: Choices) -> Theta:
        """Return choices as a point of the unit cube."""
        return np.array(
            [j / max(1, choice.high) for j, choice in zip(z, self.choices, strict=True)]
        )

    def z_at(self, point: Theta) -> Choices:
        """Return the choices at a point of the unit cube; the inverse of :meth:`point_of`."""
        return tuple(round(float(x) * c.high) for x, c in zip(point, self.choices, strict=True))

    @property
    def first(self) -> Choices:
        """The choices every search starts with: the first algorithm of each module."""
        return (0,) * len(self.modules)

    @cached_property
    def centre(self) -> Theta:
        """The middle of every hyper-parameter's range, on its lattice."""
        return self.project(np.full(len(self.parameters), 0.5))

    @cached_property
    def start(self) -> Theta:
        """Where every hyper-parameter begins: at its algorithm's start, else in the middle."""
        start = np.full(len(self.parameters), 0.5)
        for module, columns in zip(self.modules, self.columns, strict=True):
            for algorithm, column in zip(module.algorithms, columns, strict=True):
                given = algorithm.start or {}
                for place, (name, parameter) in enumerate(algorithm.params.items(), column.start):
                    if name in given:
                        start[place] = parameter.to_unit(given[name])
        return self.project(start)

    @property
    def initial(self) -> Configuration:
        """The pipeline every search starts with: the first algorithm of each module, at its start."""
        return self.decode(self.first, self.start)

    def project(self, theta: Theta) -> Theta:
        """Return the nearest theta whose every coordinate is admissible."""
        return np.array(
            [float(p.project(np.float64(u))) for p, u in zip(self.parameters, theta, strict=True)]
        )

    def decode(self, z: Choices, theta: Theta) -> Configuration:
        """Return the configuration at ``(z, theta)``, after projection onto the lattice."""
        chosen = []
        for i, j in enumerate(z):
            module = self.modules[i]
            algorithm = module.algorithms[j]
            units = theta[self.columns[i][j]]
            params = {
                n: p.from_unit(float(u))
                for (n, p), u in zip(algorithm.params.items(), units, strict=True)
            }
            chosen.append((module.name, Choice(algorithm.name, FrozenParams(params))))
        return self.assembled(chosen)

    def assembled(self, chosen: Iterable[tuple[str, Choice]]) -> Configuration:
        """Return valid choices, one a module, as the one configuration that stands for their pipeline."""
        if self.shapes is None:
            return Configuration(tuple(chosen))
        return Configuration(tuple(self.shapes.canonical(dict(chosen), self._named).items()))

    def canonical(self, z: Choices, theta: Theta) -> tuple[Choices, Theta]:
        """Return the one encoding of the pipeline that is meant; as it is where there is no other."""
        if self.shapes is None:
            return z, theta
        z, known = self.encode(self.decode(z, theta))
        return z, np.where(np.isnan(known), theta, known)

    def is_canonical(self, z: Choices) -> bool:
        """Tell whether choices are the ones that :meth:`canonical` would return."""
        if self.shapes is None:
            return True
        if z not in self._canonical:
            # Where hyper-parameters differ wherever they can: equal ones may make two parts one.
            self._canonical[z] = self.encode(self.decode(z, self._unlike))[0] == z
        return self._canonical[z]

    @cached_property
    def _canonical(self) -> dict[Choices, bool]:
        return {}

    @cached_property
    def _unlike(self) -> Theta:
        return self.project(np.random.default_rng(0).random(len(self.parameters)))

    def encode(self, configuration: Mapping[str, Choice]) -> tuple[Choices, Theta]:
        """Return ``(z, theta)``; inactive coordinates are NaN, for nothing is known of them."""
        z = []
        theta = np.full(len(self.parameters), np.nan)
        for i, module in enumerate(self.modules):
            try:
                choice = configuration[module.name]
                j = next(j for j, a in enumerate(module.algorithms) if a.name == choice.algorithm)
                params = module.algorithms[j].params
                theta[self.columns[i][j]] = [p.to_unit(choice.params[n]) for n, p in params.items()]
            except (KeyError, StopIteration):
                self.configuration(configuration)  # explains what does not belong to this space
                raise
            z.append(j)
        return tuple(z), theta

    def sample(self, rng: np.random.Generator) -> Configuration:
        """Draw a configuration: algorithms uniformly, then their hyper-parameters."""
        chosen = []
        for module in self.modules:
            algorithm = module.algorithms[int(rng.integers(len(module.algorithms)))]
            params = FrozenParams({n: p.sample(rng) for n, p in algorithm.params.items()})
            chosen.append((module.name, Choice(algorithm.name, params)))
        return self.assembled(chosen)

    def configurations(self) -> Iterator[Configuration]:
        """Yield every configuration of a finite space, each once."""
        options = [
            [
                Choice(algorithm.name, FrozenParams(zip(algorithm.params, values, strict=True)))
                for algorithm in module.algorithms
                for values in product(*(listed_values(p) for p in algorithm.params.values()))
            ]
            for module in self.modules
        ]
        names = [module.name for module in self.modules]
        seen: set[Configuration] = set()
        for chosen in product(*options):
            configuration = self.assembled(zip(names, chosen, strict=True))
            if self.shapes is not None:
                if configuration in seen:
                    continue
                seen.add(configuration)
            yield configuration

    def configuration(self, choices: Mapping[str, Any]) -> Configuration:
        """Make one configuration by hand, validated.

        Parameters
        ----------
        choices : mapping of module name to Choice, (algorithm, params) or algorithm
            For instance ``{"scaler": "none", "model": ("knn", {"k": 5, "p": 2})}``.
        """
        if not isinstance(choices, Mapping):
            raise ConfigurationError(
                f"A configuration maps module names to choices. Got {choices!r}."
            )
        names = [m.name for m in self.modules]
        for name in choices:
            if name not in names:
                raise ConfigurationError(f"There is no module {name!r}.{suggestion(name, names)}")
        given = choices if self.shapes is None else self._completed(choices)
        return self.assembled((m.name, checked_choice(m, given)) for m in self.modules)

    def _completed(self, choices: Mapping[str, Any]) -> dict[str, Any]:
        """Return choices with the first shape and empty slots in place of what was not said."""
        assert self.shapes is not None
        given = dict(choices)
        given.setdefault(SHAPE, self._named[SHAPE].algorithms[0].name)
        for slot in self.shapes.sources:
            if any(a.name == NONE for a in self._named[slot].algorithms):
                given.setdefault(slot, NONE)
        return given

    def to_dict(self) -> dict[str, Any]:
        """Describe the space in JSON's types."""
        return {
            "modules": [
                {
                    "name": m.name,
                    "algorithms": [
                        {
                            "name": a.name,
                            "params": {n: parameter_to_dict(p) for n, p in a.params.items()},
                        }
                        | ({} if a.start is None else {"start": dict(a.start)})
                        for a in m.algorithms
                    ],
                }
                for m in self.modules
            ]
        } | ({} if self.shapes is None else {"shapes": self.shapes.to_dict()})

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "Space":
        """Rebuild a space from :meth:`to_dict`."""
        try:
            shapes = description.get("shapes")
            return cls.shaped(
                [
                    Module(
                        m["name"],
                        [
                            Algorithm(
                                a["name"],
                                {n: parameter_from_dict(p) for n, p in a["params"].items()},
                                a.get("start"),
                            )
                            for a in m["algorithms"]
                        ],
                    )
                    for m in description["modules"]
                ],
                None if shapes is None else Shapes.from_dict(shapes),
            )
        except (AttributeError, KeyError, TypeError) as problem:
            raise SpaceError(f"This is not the description of a space: {problem!r}.") from problem

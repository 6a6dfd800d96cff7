"""The building blocks of a space: algorithms with their hyper-parameters, and modules of algorithms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fenceline.errors import SpaceError
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to fill a module.

    Parameters
    ----------
    name : str
        Unique within its module.
    params : mapping of str to Real, Integer or Categorical
        Its own hyper-parameters; none by default.
    """

    name: str
    params: Mapping[str, Parameter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name("Algorithm", self.name)
        if not isinstance(self.params, Mapping):
            raise SpaceError(
                f"Algorithm {self.name!r}: params must map names to hyper-parameters. Got {self.params!r}."
            )
        for name, parameter in self.params.items():
            _check_name(f"Algorithm {self.name!r}: hyper-parameter", name)
            if not isinstance(parameter, Real | Integer | Categorical):
                raise SpaceError(
                    f"Algorithm {self.name!r}: {name!r} must be a Real, Integer or Categorical. "
                    f"Got {parameter!r}; a constant needs no place in the space."
                )
        object.__setattr__(self, "params", dict(self.params))

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.params.items())))


@dataclass(frozen=True, slots=True)
class Module:
    """One step of a pipeline, filled by exactly one of its algorithms.

    Put the cheapest and safest algorithm first: every search starts with the first of each
    module, so that the smallest budget still returns a model.
    """

    name: str
    algorithms: tuple[Algorithm, ...]

    def __init__(self, name: str, algorithms: Sequence[Algorithm]) -> None:
        _check_name("Module", name)
        if not isinstance(algorithms, Sequence) or isinstance(algorithms, str):
            raise SpaceError(f"Module {name!r}: algorithms must be a list. Got {algorithms!r}.")
        if not algorithms:
            raise SpaceError(f"Module {name!r} is empty; give it at least one algorithm.")
        for algorithm in algorithms:
            if not isinstance(algorithm, Algorithm):
                raise SpaceError(
                    f"Module {name!r}: {algorithm!r} is not an Algorithm; write Algorithm({algorithm!r})."
                )
        check_unique(f"Module {name!r}", "algorithm", [a.name for a in algorithms])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "algorithms", tuple(algorithms))


def _check_name(owner: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise SpaceError(f"{owner}: a name must be a non-empty string. Got {name!r}.")


def check_unique(owner: str, kind: str, names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated:
        raise SpaceError(
            f"{owner}: {kind} names must all differ. Repeated: {repeated!r}; rename one."
        )

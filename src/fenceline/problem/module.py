"""The building blocks of a space: algorithms with their hyper-parameters, and modules of algorithms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fenceline.errors import ConfigurationError, SpaceError, suggestion
from fenceline.problem.parameter import Categorical, Integer, Parameter, Real, Value


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to fill a module.

    Parameters
    ----------
    name : str
        Unique within its module.
    params : mapping of str to Real, Integer or Categorical
        Its own hyper-parameters; none by default.
    start : mapping of str to value, optional
        A setting that is known to be good, for instance ``{"k": 5}``: searches begin with it
        instead of the middle of the ranges. What it leaves out begins in the middle.
    """

    name: str
    params: Mapping[str, Parameter] = field(default_factory=dict)
    start: Mapping[str, Value] | None = None

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
        if self.start is not None:
            object.__setattr__(self, "start", self._checked(self.start))

    def _checked(self, start: object) -> dict[str, Value]:
        """Return a start whose every value is inside its range, or say what is wrong with it."""
        if not isinstance(start, Mapping):
            raise SpaceError(
                f"Algorithm {self.name!r}: start must map hyper-parameters to values. Got {start!r}."
            )
        checked: dict[str, Value] = {}
        for name, value in start.items():
            if name not in self.params:
                raise SpaceError(
                    f"Algorithm {self.name!r}: start names {name!r}, which is none of its "
                    f"hyper-parameters.{suggestion(str(name), self.params)}"
                )
            try:
                checked[name] = self.params[name].check(value)
            except ConfigurationError as problem:
                raise SpaceError(f"Algorithm {self.name!r}: start {name!r} {problem}") from None
        return checked

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.params.items())))


@dataclass(frozen=True, slots=True)
class Module:
    """One step of a pipeline, filled by one of its algorithms, or by several.

    Parameters
    ----------
    name : str
        Unique within its space.
    algorithms : sequence of Algorithm
        What may fill it. One that is called "none" leaves it empty.
    most : int
        How many of them at once, each at most once.
    join : {"chain", "union"}
        Whether several come one after the other, or side by side with their columns joined; a union
        has no order.

    Notes
    -----
    Put the cheapest and safest algorithm first: every search starts with the first of each
    module, at its start, so that the smallest budget still returns a model.
    """

    name: str
    algorithms: tuple[Algorithm, ...]
    most: int = 1
    join: Literal["chain", "union"] = "chain"

    def __init__(
        self,
        name: str,
        algorithms: Sequence[Algorithm],
        most: int = 1,
        join: Literal["chain", "union"] = "chain",
    ) -> None:
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
        choices = sum(a.name != "none" for a in algorithms)
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= max(1, choices):
            raise SpaceError(
                f"Module {name!r}: most must be a whole number from 1 to {max(1, choices)}, the "
                f"algorithms that there are. Got {most!r}."
            )
        if join not in ("chain", "union"):
            raise SpaceError(f"Module {name!r}: join must be 'chain' or 'union'. Got {join!r}.")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "algorithms", tuple(algorithms))
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "join", join if most > 1 else "chain")


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

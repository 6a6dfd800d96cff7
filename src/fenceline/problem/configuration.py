"""One pipeline, as people and `measure` see it: a mapping from module name to :class:`Choice`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fenceline.problem.parameter import Value
from fenceline.problem.template import NONE, Slot, filled, outside, shape_of


class FrozenParams(dict[str, Value]):
    """A dict that nobody can change, so that configurations can be keys."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "A configuration cannot be changed; make another with space.configuration(...)."
        )

    __setitem__ = __delitem__ = update = setdefault = pop = popitem = clear = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Value]]]:
        return (type(self), (dict(self),))


@dataclass(frozen=True, slots=True)
class Choice:
    """The algorithm chosen in one module, with its hyper-parameters."""

    algorithm: str
    params: Mapping[str, Value] = field(default_factory=FrozenParams)

    def __str__(self) -> str:
        inside = ", ".join(
            f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.params.items()
        )
        return f"{self.algorithm}({inside})" if inside else self.algorithm


@dataclass(frozen=True, slots=True, repr=False)
class Configuration(Mapping[str, Choice]):
    """One pipeline: a mapping from module name to :class:`Choice`. Made by a :class:`Space`."""

    choices: tuple[tuple[str, Choice], ...]

    def __getitem__(self, module: str) -> Choice:
        for name, choice in self.choices:
            if name == module:
                return choice
        raise KeyError(module)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __str__(self) -> str:
        template = shape_of(self)
        if template is None:
            return " -> ".join(str(choice) for _, choice in self.choices)
        # What is in no slot, such as an encoder of categories, comes where it stands: first or last.
        before, after = ([str(self[name]) for name in some] for some in outside(self, template))
        tree = filled(template, self._shown)
        return " -> ".join([*before, *([] if tree is None else [str(tree)]), *after])

    def _shown(self, slot: Slot) -> Choice | None:
        choice = self[slot.name]
        return None if choice.algorithm == NONE else choice

    def __repr__(self) -> str:
        return f"<Configuration {self}>"

    @property
    def key(self) -> str:
        """A stable text, the same for equal configurations on every machine."""
        return json.dumps(self.to_dict(), separators=(",", ":"), sort_keys=True)

    def to_dict(self) -> dict[str, list[Any]]:
        """Describe the configuration in JSON's types; :meth:`Space.configuration` reads it back."""
        return {name: [choice.algorithm, dict(choice.params)] for name, choice in self.choices}

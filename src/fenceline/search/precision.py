"""How many evaluations a sub-problem gets, iteration by iteration."""

from dataclasses import dataclass

from fenceline.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same number of evaluations in every iteration."""

    evaluations: int

    def __post_init__(self) -> None:
        _check("Fixed", "evaluations", self.evaluations)

    def __call__(self, t: int) -> int:
        """Return the number of evaluations of iteration t, counted from 0."""
        return self.evaluations


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Few evaluations at first, then ever more: `start`, growing by `step` up to `stop`."""

    start: int = 16
    stop: int = 256
    step: int = 8

    def __post_init__(self) -> None:
        for name in ("start", "stop", "step"):
            _check("Adaptive", name, getattr(self, name))
        if self.stop < self.start:
            raise DefinitionError(
                f"Adaptive: stop must be at least start={self.start}. Got {self.stop!r}."
            )

    def __call__(self, t: int) -> int:
        """Return the number of evaluations of iteration t, counted from 0."""
        return min(self.start + t * self.step, self.stop)


def _check(owner: str, name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DefinitionError(
            f"{owner}: {name} must be a whole number of at least 1. Got {value!r}."
        )

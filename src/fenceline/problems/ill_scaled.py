"""Problems whose ranges are given on the wrong scale: linear, where the effect is not."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Integer, Parameter, Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

_KEY = 1_508
"""Of the generator, so that a seed here draws nothing that it draws elsewhere."""

Scale: TypeAlias = Literal["linear", "logarithm", "power"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one hyper-parameter adds to the loss: a parabola on the scale that is right for it.

    Parameters
    ----------
    low, high : float
        The range.
    scale : str
        The right one.
    strength : float
        Of a logarithm the ratio of the ends, of a power the root that is taken.
    mirrored : bool
        Whether the scale begins at the high end, as a momentum's does.
    best, weight : float
        Where on that scale the parabola is lowest, from 0 to 1, and how steep it is.
    """

    low: float
    high: float
    scale: Scale
    strength: float
    mirrored: bool
    best: float
    weight: float

    def __call__(self, value: float) -> float:
        """Return the part of the loss."""
        return self.weight * (self.place(value) - self.best) ** 2

    def place(self, value: float) -> float:
        """Return where a value lies on the right scale, from 0 to 1."""
        part = (value - self.low) / (self.high - self.low)
        if self.mirrored:
            part = 1.0 - part
        if self.scale == "logarithm":
            return math.log1p(part * (self.strength - 1.0)) / math.log(self.strength)
        return part ** (1.0 / self.strength) if self.scale == "power" else part


@dataclass(frozen=True, slots=True)
class IllScaledMeasure:
    """Measures a space of one module: a floor for each algorithm, and the effects of its settings."""

    floors: Mapping[str, float]
    effects: Mapping[str, Mapping[str, Effect]]
    metrics: tuple[str, ...] = ("loss",)

    def __call__(
        self, configuration: Mapping[str, Choice], fidelity: float = 1.0
    ) -> dict[str, float]:
        """Return the loss; there is no cheaper version for a lower fidelity."""
        choice = configuration["model"]
        effects = self.effects[choice.algorithm]
        parts = (effects[name](float(value)) for name, value in choice.params.items())  # type: ignore[arg-type]
        return {"loss": self.floors[choice.algorithm] + math.fsum(parts)}


def ill_scaled(seed: int, algorithms: int = 3) -> Problem:
    """Return a problem of linear ranges, most of which should have been something else.

    Each algorithm has two to four hyper-parameters. Four in five act by a logarithm over three to
    six decades (whole numbers over fewer) or by a root; one in ten does so from the high end. Good
    settings often lie within a thousandth of the range.

    Parameters
    ----------
    seed : int
        Draws the scales and what is best on them.
    algorithms : int
        How many there are; the first has the lowest loss.

    Returns
    -------
    Problem
        With an ``optimum`` of 0.

    Examples
    --------
    >>> problem = ill_scaled(0)
    >>> any(parameter.log for parameter in problem.space.parameters)
    False
    """
    for name, value, least in (("seed", seed, 0), ("algorithms", algorithms, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise DefinitionError(
                f"ill_scaled: {name} must be a whole number of at least {least}. "
                f"Got {value!r}; such as 3."
            )
    rng = np.random.default_rng([seed, _KEY])
    floors: dict[str, float] = {}
    effects: dict[str, dict[str, Effect]] = {}
    listed = []
    for j in range(algorithms):
        name = f"model{j}"
        floors[name] = float(j and rng.uniform(0.2, 1.0))
        drawn = [_draw(rng) for _ in range(int(rng.integers(2, 5)))]
        effects[name] = {f"x{d}": effect for d, (_, effect) in enumerate(drawn)}
        listed.append(Algorithm(name, {f"x{d}": p for d, (p, _) in enumerate(drawn)}))
    space = Space([Module("model", listed)])
    return Problem(space, IllScaledMeasure(floors, effects), objective="loss", optimum=0.0)


def _draw(rng: np.random.Generator) -> tuple[Parameter, Effect]:
    kind = rng.choice(
        ["linear", "ratio", "from zero", "whole", "power", "mirrored"],
        p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1],
    )
    ratio, unit = float(10.0 ** rng.uniform(3.0, 6.0)), float(10.0 ** rng.integers(-1, 3))
    best, weight = float(rng.uniform(0.15, 0.85)), float(rng.uniform(1.0, 10.0))
    if kind == "whole":
        most = round(10.0 ** rng.uniform(2.5, 4.5))
        effect = Effect(1.0, most, "logarithm", most, False, best, weight)
        # The best setting is a whole number itself, so that the optimum is 0.
        return Integer(1, most), replace(effect, best=effect.place(round(most**best)))
    scale: Scale = "logarithm"
    if kind == "linear":
        scale = "linear"
    elif kind == "power":
        scale, ratio = "power", float(rng.uniform(3.0, 6.0))
    low = unit / ratio if kind == "ratio" else 0.0
    return Real(low, unit), Effect(low, unit, scale, ratio, kind == "mirrored", best, weight)

"""Problems on which an algorithm that is soon good hides another that is better once it is tuned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Parameter, Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

_KEY = 1_503
"""Of the generator, so that a seed here draws nothing that it draws elsewhere."""


@dataclass(frozen=True, slots=True)
class Basin:
    """The loss of one algorithm: a basin in a plain, as learners have it around good settings."""

    floor: float
    height: float
    width: float
    centre: tuple[float, ...]

    def __call__(self, point: tuple[float, ...]) -> float:
        """Return the loss; `floor` at the centre, `floor` + `height` far from it."""
        squared = math.fsum((x - c) ** 2 for x, c in zip(point, self.centre, strict=True))
        return self.floor - self.height * math.expm1(-squared / self.width**2)


@dataclass(frozen=True, slots=True)
class DecoyMeasure:
    """Measures a space of one module, with a basin for each algorithm."""

    basins: Mapping[str, Basin]
    metrics: tuple[str, ...] = ("loss",)

    def __call__(
        self, configuration: Mapping[str, Choice], fidelity: float = 1.0
    ) -> dict[str, float]:
        """Return the loss; there is no cheaper version for a lower fidelity."""
        choice = configuration["model"]
        point = tuple(float(x) for x in choice.params.values())  # type: ignore[arg-type]
        return {"loss": self.basins[choice.algorithm](point)}


def decoy(seed: int, others: int = 4) -> Problem:
    """Return a choice between an algorithm that is soon good and one that is better once tuned.

    "ready" has two hyper-parameters that hardly matter and is near its best loss, .03 to .06,
    almost everywhere. "tuned" has two to four; at most settings its loss is far higher, and near
    the right ones it goes down to 0, the optimum. The other algorithms are good nowhere. A search
    that stays with what is best so far spends its evaluations on the last digits of "ready".

    Parameters
    ----------
    seed : int
        Draws the basins.
    others : int
        Algorithms beside the two.

    Returns
    -------
    Problem
        With an ``optimum`` of 0.

    Examples
    --------
    >>> [a.name for a in decoy(0).space.modules[0].algorithms]
    ['ready', 'tuned', 'other1', 'other2', 'other3', 'other4']
    """
    for name, value in (("seed", seed), ("others", others)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise DefinitionError(
                f"decoy: {name} must be a whole number of at least 0. Got {value!r}; such as 4."
            )
    rng = np.random.default_rng([seed, _KEY])

    def basin(floor: float, height: float, width: float, dimensions: int) -> Basin:
        centre = rng.uniform(0.15, 0.85, dimensions)
        return Basin(floor, height, width, tuple(float(c) for c in centre))

    basins = {
        "ready": basin(rng.uniform(0.03, 0.06), rng.uniform(0.05, 0.15), 1.5, 2),
        "tuned": basin(0.0, rng.uniform(0.2, 0.6), rng.uniform(0.6, 1.2), int(rng.integers(2, 5))),
    }
    for k in range(1, others + 1):
        floor, height = rng.uniform(0.1, 0.3), rng.uniform(0.1, 0.4)
        basins[f"other{k}"] = basin(floor, height, 1.0, int(rng.integers(1, 4)))
    algorithms = []
    for name, drawn in basins.items():
        params: dict[str, Parameter] = {f"x{d}": Real(0.0, 1.0) for d in range(len(drawn.centre))}
        algorithms.append(Algorithm(name, params))
    space = Space([Module("model", algorithms)])
    return Problem(space, DecoyMeasure(basins), objective="loss", optimum=0.0)

"""The problems on which the solvers of ADMM's sub-problems are compared, one or two of each kind."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

import fenceline as fl
from fenceline.problem.configuration import Choice, Configuration
from fenceline.problems import artificial, branin, gramacy, mixed_rosenbrock

FIDELITIES = (1 / 27, 1 / 9, 1 / 3)
NOISE = 0.3
"""Of the noisy problems, in standard deviations of random points."""


def _draw(*words: object) -> float:
    """Return a standard normal number that depends on the words alone: measuring twice gives the same."""
    seed = zlib.crc32(repr(words).encode())
    return float(np.random.default_rng(seed).standard_normal())


@dataclass(frozen=True)
class Blurred:
    """A measure with noise, or one that fewer rows blur and worsen, as a learning curve does.

    Parameters
    ----------
    measure : callable
        The truth.
    scale : float
        The deviation of the loss over random pipelines.
    seed : int
        Of the noise.
    noisy : bool
        Whether full measurements are noisy, too.
    """

    measure: Callable[[Configuration], Mapping[str, float]]
    scale: float
    seed: int
    noisy: bool = False
    fidelities: tuple[float, ...] = FIDELITIES

    def __call__(self, configuration: Configuration, fidelity: float = 1.0) -> dict[str, float]:
        measured = dict(self.measure(configuration))
        worse = 1.0 / math.sqrt(fidelity) - 1.0
        key = (self.seed, configuration.key)
        slope = 0.1 * (1.0 + 0.5 * math.tanh(_draw(*key, "slope")))
        blur = 0.1 * worse * _draw(*key, fidelity)
        noise = NOISE * _draw(*key, "noise") if self.noisy else 0.0
        measured["loss"] += self.scale * (slope * worse + blur + noise)
        return measured


@dataclass(frozen=True)
class Frozen:
    """The choices of a space alone: every algorithm keeps the hyper-parameters it was given."""

    problem: fl.Problem
    theta: tuple[float, ...]

    def __call__(self, configuration: Mapping[str, Choice]) -> Mapping[str, float]:
        space = self.problem.space
        z = tuple(
            [a.name for a in m.algorithms].index(configuration[m.name].algorithm)
            for m in space.modules
        )
        return self.problem.measure(space.decode(z, np.array(self.theta)))


@lru_cache(maxsize=64)
def choices(seed: int, constraints: int = 0) -> fl.Problem:
    """Return the artificial problem over z alone, with its best value by enumeration."""
    whole = (
        artificial(seed, constraints=constraints, feasible_fraction=0.1)
        if constraints
        else artificial(seed)
    )
    theta = whole.space.project(np.random.default_rng(seed).random(len(whole.space.parameters)))
    modules = [
        fl.Module(m.name, [fl.Algorithm(a.name) for a in m.algorithms]) for m in whole.space.modules
    ]
    measure = Frozen(whole, tuple(theta))
    space = fl.Space(modules)
    bare = fl.Problem(space, measure, constraints=whole.constraints)
    optimum = math.inf
    for z in product(*(range(len(m.algorithms)) for m in modules)):
        metrics = measure(space.decode(z, np.empty(0)))
        if bare.violation(metrics) == 0.0:
            optimum = min(optimum, metrics["loss"])
    return fl.Problem(space, measure, constraints=whole.constraints, optimum=optimum)


def rippled(seed: int) -> fl.Problem:
    """Return a bowl with ripples in six dimensions, whose minimum lies elsewhere for each seed."""
    centre = np.random.default_rng(seed).uniform(0.2, 0.8, 6)
    space = fl.Space(
        [fl.Module("model", [fl.Algorithm("bowl", {f"x{k}": fl.Real(0.0, 1.0) for k in range(6)})])]
    )
    return fl.Problem(space, Bowl(tuple(centre)), optimum=0.0)


@dataclass(frozen=True)
class Bowl:
    """A bowl with ripples; 0 at its centre."""

    centre: tuple[float, ...]

    def __call__(self, configuration: Mapping[str, Choice]) -> Mapping[str, float]:
        x = np.array([*map(float, configuration["model"].params.values())]) - self.centre
        return {"loss": float(x @ x + 0.05 * (1 - np.cos(12.0 * x)).sum())}


def blurred(problem: fl.Problem, seed: int, *, noisy: bool = False) -> fl.Problem:
    """Return a problem whose looks inform, or whose measurements are noisy."""
    rng = np.random.default_rng(1)
    losses = [problem.measure(problem.space.sample(rng))["loss"] for _ in range(100)]
    # Half the distance between the quartiles: a few huge losses say nothing of the usual ones.
    low, high = np.quantile(losses, [0.25, 0.75])
    measure = Blurred(problem.measure, float(high - low) / 1.35, seed, noisy)
    return fl.Problem(
        problem.space, measure, constraints=problem.constraints, optimum=problem.optimum
    )


def _noisy(make: Callable[[int], fl.Problem], seed: int) -> fl.Problem:
    return blurred(make(seed), seed, noisy=True)


def _looked_at(make: Callable[[int], fl.Problem], seed: int) -> fl.Problem:
    return blurred(make(seed), seed)


@dataclass(frozen=True)
class Kind:
    """A kind of problem, for the solvers of one block."""

    name: str
    block: str
    make: Callable[[int], fl.Problem]
    precision: int = 100
    fidelity: bool = False


KINDS = (
    Kind("few parameters (Branin, 2)", "theta", lambda _: branin()),
    Kind("many parameters (Rosenbrock, 12)", "theta", lambda _: mixed_rosenbrock(12, 0)),
    Kind("noise (Branin)", "theta", partial(_noisy, lambda _: branin())),
    Kind("tight fence (Gramacy)", "theta", lambda _: gramacy(), precision=25),
    Kind("fidelity (ripples, 6)", "theta", partial(_looked_at, rippled), fidelity=True),
    Kind("many choices (artificial)", "z", choices),
    Kind("noise (artificial)", "z", partial(_noisy, choices)),
    Kind("tight fence (artificial)", "z", partial(choices, constraints=2), precision=25),
    Kind("fidelity (artificial)", "z", partial(_looked_at, choices), fidelity=True),
)


def truth(problem: fl.Problem, result: fl.Result) -> NDArray[np.float64]:
    """Return the true loss of the incumbent after each evaluation, and the cost spent until then.

    Looks cost their share. What a noisy search believes to be best is judged by what it is.
    """
    measure = problem.measure
    real = measure.measure if isinstance(measure, Blurred) else measure
    spent, best, value = 0.0, math.inf, math.inf
    rows = []
    for evaluation in result.evaluations:
        spent += evaluation.fidelity
        if evaluation.feasible and evaluation.objective < best:
            best = evaluation.objective
            value = float(real(evaluation.configuration)["loss"])
        rows.append((spent, value))
    return np.array(rows)

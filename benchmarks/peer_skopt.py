"""scikit-optimize behind the interface of our own algorithms: it asks, has it measured, and is told.

It runs through :func:`fenceline.minimize` like any algorithm, so that budget, clock and
``problem.measure`` are the same for everybody. Only unconstrained problems are meant.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import skopt

from fenceline.baselines.asking import answer
from fenceline.problem.configuration import Configuration
from fenceline.problem.parameter import Categorical, Parameter, Real, Value
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Space
from fenceline.search.iterate import Iterate


@dataclass(frozen=True, slots=True)
class SkoptJoint:
    """The paper's JOPT(BO): scikit-optimize's Gaussian process over all variables at once.

    One categorical per module and every hyper-parameter of every algorithm, active or not.

    Parameters
    ----------
    base_estimator, acq_func, initial : str, str, int
        As ``skopt.Optimizer`` takes them; everything else is left at its default.
    """

    base_estimator: str = "GP"
    acq_func: str = "EI"
    initial: int = 10

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Ask and tell until the budget is spent."""
        space = problem.space
        optimizer = skopt.Optimizer(
            joint_dimensions(space),
            base_estimator=self.base_estimator,
            acq_func=self.acq_func,
            n_initial_points=self.initial,
            random_state=int(rng.integers(2**31)),
        )
        repeats, worst = 0, 0.0
        while True:
            with warnings.catch_warnings():
                # Points asked twice and length scales at their bounds are scikit-optimize's own affair.
                warnings.simplefilter("ignore")
                point = optimizer.ask()
                asked = joint_configuration(space, point)
                repeats, evaluation = answer(problem, evaluator, asked, repeats, rng)
                # It knows no failures, and an infinite loss ends it: the worst seen stands for one.
                loss = evaluation.objective if evaluation.ok else worst
                worst = max(worst, loss)
                optimizer.tell(point, loss)
        yield  # makes this a generator, as every algorithm is


def joint_dimensions(space: Space) -> list[Any]:
    """Return scikit-optimize's dimensions: the choices, then the columns of theta."""
    choices = [skopt.space.Categorical([a.name for a in m.algorithms]) for m in space.modules]
    return choices + [_dimension(p) for p in space.parameters]


def joint_configuration(space: Space, point: list[Any]) -> Configuration:
    """Return the configuration a point stands for; what is inactive is dropped."""
    values = iter(point[len(space.modules) :])
    settings = {
        (m.name, a.name): {name: _plain(next(values)) for name in a.params}
        for m in space.modules
        for a in m.algorithms
    }
    names = [(m.name, str(name)) for m, name in zip(space.modules, point, strict=False)]
    return space.configuration({m: (name, settings[m, name]) for m, name in names})


def _dimension(parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        return skopt.space.Categorical(list(parameter.choices))
    kind = skopt.space.Real if isinstance(parameter, Real) else skopt.space.Integer
    prior = "log-uniform" if parameter.log else "uniform"
    return kind(parameter.low, parameter.high, prior=prior)


def _plain(value: Any) -> Value:
    """Return a value as Python's own type, which is what a configuration holds."""
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain

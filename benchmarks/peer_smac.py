"""SMAC3 behind the interface of our own algorithms, asked and told like the others."""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.runhistory import TrialValue

from benchmarks.peers import measured
from fenceline.configuration import Configuration
from fenceline.iterate import Iterate
from fenceline.parameter import Categorical, Parameter, Real
from fenceline.problem import Evaluator, Problem
from fenceline.space import Space


@dataclass(frozen=True, slots=True)
class SMAC:
    """SMAC3's hyper-parameter facade: a random forest over the conditional space.

    Parameters
    ----------
    trials : int
        The budget it is told.
    initial : int
        Sobol points to begin with. The facade takes a quarter of its budget; so many suit one of
        100 evaluations, and let a single run be read at 50, 100 and 200.
    """

    trials: int = 200
    initial: int = 25

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Ask and tell until the budget is spent."""
        with tempfile.TemporaryDirectory() as directory:
            scenario = Scenario(
                conditional_space(problem.space),
                deterministic=True,
                n_trials=self.trials,
                seed=int(rng.integers(2**31)),
                output_directory=Path(directory),
            )
            smac = Facade(
                scenario,
                _not_called,
                initial_design=Facade.get_initial_design(scenario, n_configs=self.initial),
                logging_level=False,
                overwrite=True,
            )
            while True:
                with warnings.catch_warnings():
                    # The mean of no incumbents, before there are any, is SMAC's own affair.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    info = smac.ask()
                value = measured(evaluator, pipeline(problem.space, dict(info.config)))
                # Writing the run to disk after each trial is not the optimiser's work.
                smac.tell(info, TrialValue(cost=value), save=False)
        yield  # makes this a generator, as every algorithm is


def conditional_space(space: Space) -> ConfigSpace.ConfigurationSpace:
    """Return ConfigSpace's view: a hyper-parameter is active when its algorithm is chosen."""
    view = ConfigSpace.ConfigurationSpace()
    for module in space.modules:
        chosen = ConfigSpace.Categorical(module.name, [a.name for a in module.algorithms])
        view.add(chosen)
        for algorithm in module.algorithms:
            for name, parameter in algorithm.params.items():
                own = _variable(f"{module.name}.{algorithm.name}.{name}", parameter)
                view.add(own)
                view.add(ConfigSpace.EqualsCondition(own, chosen, algorithm.name))
    return view


def pipeline(space: Space, values: dict[str, Any]) -> Configuration:
    """Return the configuration that a point of :func:`conditional_space` stands for."""
    choices = {}
    for module in space.modules:
        algorithm = next(a for a in module.algorithms if a.name == values[module.name])
        params = {}
        for name, parameter in algorithm.params.items():
            value = values[f"{module.name}.{algorithm.name}.{name}"]
            if isinstance(parameter, Categorical):
                value = parameter.choices[int(value)]
            params[name] = value
        choices[module.name] = (algorithm.name, params)
    return space.configuration(choices)


def _variable(name: str, parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        # By index: ConfigSpace turns values of mixed types into one type.
        return ConfigSpace.Categorical(name, list(range(len(parameter.choices))))
    kind = ConfigSpace.Float if isinstance(parameter, Real) else ConfigSpace.Integer
    return kind(name, (parameter.low, parameter.high), log=parameter.log)


def _not_called(config: Any, seed: int = 0) -> float:
    """Stand where SMAC wants its target function; asked and told, it never calls it."""
    raise AssertionError("SMAC is asked and told")

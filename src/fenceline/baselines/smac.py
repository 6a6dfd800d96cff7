"""SMAC3, which knows no constraints, on the loss plus a penalty, asked and told."""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fenceline.baselines.asking import answer
from fenceline.errors import MissingDependencyError
from fenceline.problem.configuration import Configuration
from fenceline.problem.parameter import Categorical, Parameter, Real
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Space
from fenceline.search.iterate import Iterate


@dataclass(frozen=True, slots=True)
class SMAC:
    """A random forest over the conditional space; needs ``fenceline[smac]``.

    Parameters
    ----------
    penalty : float
        Added to the loss per scaled violation.
    trials : int
        The budget it is told.
    initial : int
        Sobol points to begin with. SMAC3 takes a quarter of its budget; so many suit one of 100
        evaluations, and let a single run be read at 50, 100 and 200.
    """

    penalty: float = 10.0
    trials: int = 200
    initial: int = 25

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Ask and tell until the budget is spent."""
        try:
            import ConfigSpace
            import smac
            from smac.main.exceptions import ConfigurationSpaceExhaustedException
            from smac.runhistory import TrialValue
        except ImportError as missing:
            raise MissingDependencyError(
                "SMAC needs SMAC3. Install it with: pip install 'fenceline[smac]'."
            ) from missing
        facade = smac.HyperparameterOptimizationFacade
        worst, repeats = 0.0, 0
        with tempfile.TemporaryDirectory() as directory:
            scenario = smac.Scenario(
                _conditional_space(ConfigSpace, problem.space),
                deterministic=True,
                n_trials=self.trials,
                seed=int(rng.integers(2**31)),
                output_directory=Path(directory),
            )
            optimizer = facade(
                scenario,
                _not_called,
                initial_design=facade.get_initial_design(scenario, n_configs=self.initial),
                logging_level=False,
                overwrite=True,
            )
            while True:
                with warnings.catch_warnings():
                    # The mean of no incumbents, before there are any, is SMAC's own affair.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    try:
                        info = optimizer.ask()
                    except ConfigurationSpaceExhaustedException:
                        # It has seen all it can think of; the rest of a small space is drawn.
                        evaluator.submit(problem.sample(rng))
                        continue
                configuration = _pipeline(problem.space, dict(info.config))
                repeats, evaluation = answer(problem, evaluator, configuration, repeats, rng)
                if evaluation.ok:
                    cost = evaluation.objective + self.penalty * evaluation.violation
                    cost = float(np.clip(cost, -1e100, 1e100))
                    worst = max(worst, cost)
                # Writing the run to disk after each trial is not the optimiser's work.
                value = TrialValue(cost=cost if evaluation.ok else worst)
                optimizer.tell(info, value, save=False)
        yield  # makes this a generator, as every algorithm is


def _conditional_space(cs: Any, space: Space) -> Any:
    """Return ConfigSpace's view: a hyper-parameter is active when its algorithm is chosen."""
    view = cs.ConfigurationSpace()
    for module in space.modules:
        chosen = cs.Categorical(module.name, [a.name for a in module.algorithms])
        view.add(chosen)
        for algorithm in module.algorithms:
            for name, parameter in algorithm.params.items():
                own = _variable(cs, f"{module.name}.{algorithm.name}.{name}", parameter)
                view.add(own)
                view.add(cs.EqualsCondition(own, chosen, algorithm.name))
    return view


def _pipeline(space: Space, values: dict[str, Any]) -> Configuration:
    """Return the configuration that a point of the conditional space stands for."""
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


def _variable(cs: Any, name: str, parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        # By index: ConfigSpace turns values of mixed types into one type.
        return cs.Categorical(name, list(range(len(parameter.choices))))
    kind = cs.Float if isinstance(parameter, Real) else cs.Integer
    return kind(name, (parameter.low, parameter.high), log=parameter.log)


def _not_called(config: Any, seed: int = 0) -> float:
    """Stand where SMAC wants its target function; asked and told, it never calls it."""
    raise AssertionError("SMAC is asked and told")

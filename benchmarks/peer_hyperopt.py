"""Hyperopt behind the interface of our own algorithms, asked and told like the others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hyperopt import JOB_STATE_DONE, STATUS_OK, Trials, hp, tpe
from hyperopt.base import Domain

from fenceline.baselines.asking import answer
from fenceline.problem.configuration import Configuration
from fenceline.problem.parameter import Categorical, Integer, Parameter, Value
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Space
from fenceline.search.iterate import Iterate


@dataclass(frozen=True, slots=True)
class HyperoptTPE:
    """Hyperopt's tree-structured Parzen estimator with its defaults, over nested choices."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Ask and tell until the budget is spent."""
        space = problem.space
        domain, trials = Domain(_not_called, nested_choices(space)), Trials()
        repeats = 0
        while True:
            trials.refresh()
            (trial,) = tpe.suggest(
                trials.new_trial_ids(1), domain, trials, int(rng.integers(2**31)), verbose=False
            )
            asked = pipeline(space, trial["misc"]["vals"])
            repeats, evaluation = answer(problem, evaluator, asked, repeats, rng)
            result = {"loss": evaluation.objective, "status": STATUS_OK}
            trial |= {"state": JOB_STATE_DONE, "result": result}
            trials.insert_trial_docs([trial])
        yield  # makes this a generator, as every algorithm is


def nested_choices(space: Space) -> dict[str, Any]:
    """Return Hyperopt's view: a choice per module, each branch with its own hyper-parameters."""
    return {
        module.name: hp.choice(
            module.name,
            [
                {
                    "algorithm": algorithm.name,
                    **{
                        name: _variable(f"{module.name}.{algorithm.name}.{name}", parameter)
                        for name, parameter in algorithm.params.items()
                    },
                }
                for algorithm in module.algorithms
            ],
        )
        for module in space.modules
    }


def pipeline(space: Space, values: Mapping[str, Sequence[Any]]) -> Configuration:
    """Return the configuration that a trial stands for; what is inactive has no value."""
    choices = {}
    for module in space.modules:
        algorithm = module.algorithms[int(values[module.name][0])]
        choices[module.name] = (
            algorithm.name,
            {
                name: _value(parameter, values[f"{module.name}.{algorithm.name}.{name}"][0])
                for name, parameter in algorithm.params.items()
            },
        )
    return space.configuration(choices)


def _variable(label: str, parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        return hp.choice(label, list(range(len(parameter.choices))))
    low, high = parameter.low, parameter.high
    if isinstance(parameter, Integer):
        if parameter.log:
            return hp.qloguniform(label, math.log(low), math.log(high), 1)
        return hp.uniformint(label, low, high)
    if parameter.log:
        return hp.loguniform(label, math.log(low), math.log(high))
    return hp.uniform(label, low, high)


def _value(parameter: Parameter, drawn: Any) -> Value:
    if isinstance(parameter, Categorical):
        return parameter.choices[int(drawn)]
    inside = min(max(float(drawn), parameter.low), parameter.high)
    return round(inside) if isinstance(parameter, Integer) else inside


def _not_called(*_: Any) -> float:
    """Stand where Hyperopt wants its objective; its suggestions are measured by ours."""
    raise AssertionError("Hyperopt is only asked for suggestions")

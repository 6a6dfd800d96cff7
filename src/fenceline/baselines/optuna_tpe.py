"""Optuna's tree-structured Parzen estimator with constraints, asked and told."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenceline.baselines.asking import answer
from fenceline.errors import MissingDependencyError
from fenceline.problem.parameter import Categorical, Parameter, Real, Value
from fenceline.problem.problem import Evaluator, Problem
from fenceline.problem.space import Module
from fenceline.search.iterate import Iterate


@dataclass(frozen=True, slots=True)
class OptunaTPE:
    """TPE over the conditional space; needs ``fenceline[optuna]`` with Optuna 5 or newer.

    Constraints go through ``trial.set_constraint``, divided by their scale, for TPE adds violations
    up as they come: in raw units milliseconds would swamp ratios.

    Parameters
    ----------
    group : bool
        Multivariate within each group of hyper-parameters that are active together; otherwise
        the sampler's defaults.
    """

    group: bool = False

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Ask and tell until the budget is spent."""
        try:
            import optuna
        except ImportError as missing:
            raise MissingDependencyError(
                "OptunaTPE needs Optuna. Install it with: pip install 'fenceline[optuna]'."
            ) from missing
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            # None leaves it to Optuna how jointly it samples: a rival is run as it comes.
            sampler = optuna.samplers.TPESampler(
                seed=int(rng.integers(2**31)), multivariate=self.group or None, group=self.group
            )
        study = optuna.create_study(sampler=sampler)
        repeats = 0
        while True:
            trial = study.ask()
            choices = {m.name: _suggested(trial, m) for m in problem.space.modules}
            configuration = problem.space.configuration(choices)
            repeats, evaluation = answer(problem, evaluator, configuration, repeats, rng)
            if not evaluation.ok:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            for c in problem.constraints:
                error = evaluation.errors.get(c.metric, 0.0)
                beyond = c.beyond(evaluation.metrics[c.metric], error)
                trial.set_constraint(str(c), beyond / c.scale)
            study.tell(trial, evaluation.objective)
        yield  # makes this a generator, as every algorithm is


def _suggested(trial: Any, module: Module) -> tuple[str, dict[str, Value]]:
    """Let a trial choose an algorithm, then that algorithm's own hyper-parameters."""
    by_name = {a.name: a for a in module.algorithms}
    chosen = by_name[trial.suggest_categorical(module.name, list(by_name))]
    prefix = f"{module.name}.{chosen.name}"
    return chosen.name, {n: _suggest(trial, f"{prefix}.{n}", p) for n, p in chosen.params.items()}


def _suggest(trial: Any, name: str, parameter: Parameter) -> Value:
    value: Value
    if isinstance(parameter, Categorical):
        value = trial.suggest_categorical(name, list(parameter.choices))
    elif isinstance(parameter, Real):
        value = trial.suggest_float(name, parameter.low, parameter.high, log=parameter.log)
    else:
        value = trial.suggest_int(name, parameter.low, parameter.high, log=parameter.log)
    return value

"""A run for other tools: an Optuna study, a CSV or Parquet table, MLflow runs."""

import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenceline.errors import MissingDependencyError
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Categorical, Parameter, Real
from fenceline.problem.printable import printable
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space
from fenceline.store.stored_run import Measured, Run, read

if TYPE_CHECKING:
    import pandas as pd
    from optuna import Study


def to_optuna(run: Run, *, storage: Any = None, name: str | None = None) -> "Study":
    """Return a run as an Optuna study, for optuna-dashboard and Optuna's plots.

    Parameters
    ----------
    run : path or Result
        What to export.
    storage : str or optuna.storages.BaseStorage, optional
        Where the study is kept, such as ``"sqlite:///run.db"``; in memory by default.
    name : str, optional
        The study's name; it must be new in its storage.

    Returns
    -------
    optuna.Study
        One trial for each evaluation. Parameters are named ``module`` for the choice of an
        algorithm and ``module.algorithm.parameter``; a constraint's value is how many of its
        scales a trial lies beyond the bound, so at most 0 inside. Failed evaluations are FAIL, looks
        at a part of the rows PRUNED, which Optuna never takes for the best.
    """
    optuna = _import("optuna", "to_optuna needs Optuna", "pip install 'fenceline[optuna]'")
    measured = read(run)
    problem = measured.problem
    distributions = {
        column: _distribution(optuna.distributions, parameter)
        for column, parameter in _columns(problem.space)
    }
    study: Study = optuna.create_study(storage=storage, study_name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names([problem.objective])
    trials = []
    for evaluation in measured.evaluations:
        params = _params(evaluation.configuration)
        state = optuna.trial.TrialState.COMPLETE if evaluation.ok else optuna.trial.TrialState.FAIL
        if evaluation.ok and evaluation.look:
            state = optuna.trial.TrialState.PRUNED
        trials.append(
            optuna.trial.create_trial(
                state=state,
                value=evaluation.objective if evaluation.ok else None,
                params=params,
                distributions={column: distributions[column] for column in params},
                user_attrs={**evaluation.columns, **_verdict(evaluation)},
                constraints=dict(_beyond(problem, evaluation)) if evaluation.ok else None,
            )
        )
    study.add_trials(trials)
    return study


def to_csv(run: Run, path: str | Path) -> None:
    """Write a run as a table of comma-separated values, one row per evaluation.

    Parameters
    ----------
    run : path or Result
        What to export.
    path : str or Path
        The file to write.
    """
    _frame(read(run)).to_csv(path, index=False, errors="backslashreplace")


def to_parquet(run: Run, path: str | Path) -> None:
    """Write a run as a Parquet table, one row per evaluation; needs pyarrow.

    Parameters
    ----------
    run : path or Result
        What to export.
    path : str or Path
        The file to write.
    """
    _import("pyarrow", "to_parquet needs pyarrow, and to_csv does not", "pip install pyarrow")
    frame = _frame(read(run)).rename(columns=printable)
    for column in frame.columns:
        # A column of Parquet has one type, and choices such as [1, "sqrt"] have two.
        if len({type(value) for value in frame[column].dropna()}) > 1:
            frame[column] = frame[column].map(str, na_action="ignore")
        if frame[column].dtype == object:
            frame[column] = frame[column].map(_writable)
    frame.to_parquet(path, engine="pyarrow", index=False)


def to_mlflow(run: Run, *, name: str = "fenceline") -> str:
    """Log a run to MLflow: one run that has one nested run for each evaluation.

    Where it is logged is MLflow's own setting: ``mlflow.set_tracking_uri``, ``set_experiment``.

    Parameters
    ----------
    run : path or Result
        What to export.
    name : str
        The name of the outer run.

    Returns
    -------
    str
        The id of the outer run.
    """
    mlflow = _import("mlflow", "to_mlflow needs MLflow", "pip install mlflow")
    measured = read(run)
    problem = measured.problem
    constraints = ", ".join(map(str, problem.constraints))
    with mlflow.start_run(run_name=name) as parent:
        mlflow.log_params({"objective": problem.objective, "constraints": constraints})
        client = mlflow.MlflowClient()
        for number, evaluation in enumerate(measured.evaluations):
            nested = client.create_run(
                parent.info.experiment_id,
                run_name=f"{name}-{number}",
                tags={"mlflow.parentRunId": parent.info.run_id, **_verdict(evaluation)},
            )
            # All at once: a database takes as long for one of them as for all.
            client.log_batch(nested.info.run_id, **_mlflow_batch(mlflow.entities, evaluation))
            status = "FINISHED" if evaluation.ok else "FAILED"
            client.set_terminated(nested.info.run_id, status)
        feasible = [e.objective for e in measured.evaluations if e.feasible]
        if feasible:
            mlflow.log_metric(mlflow_name(problem.objective), min(feasible))
    found: str = parent.info.run_id
    return found


def _import(package: str, need: str, remedy: str) -> Any:
    try:
        return import_module(package)
    except ImportError as missing:
        raise MissingDependencyError(f"{need}. Install it with: {remedy}") from missing


def _frame(measured: Measured) -> "pd.DataFrame":
    import pandas as pd

    problem = measured.problem
    columns = [column for column, _ in _columns(problem.space)]
    rows = [
        {
            **_params(e.configuration),
            **e.columns,
            **{f"standard error of {name}": error for name, error in e.errors.items()},
            "feasible": e.feasible,
            "violation": e.violation,
            "cpu_seconds": e.cpu_seconds,
            "megabytes": e.megabytes,
            **_verdict(e),
        }
        for e in measured.evaluations
    ]
    frame = pd.DataFrame(rows, columns=None if rows else columns)
    # In the order of the space, however the first pipelines were chosen.
    first = [column for column in columns if column in frame.columns]
    return frame[[*first, *(column for column in frame.columns if column not in first)]]


def _writable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def _columns(space: Space) -> Iterator[tuple[str, Parameter]]:
    """Yield a name for every choice and hyper-parameter of a space."""
    for module in space.modules:
        yield module.name, Categorical([a.name for a in module.algorithms])
        for algorithm in module.algorithms:
            for name, parameter in algorithm.params.items():
                yield f"{module.name}.{algorithm.name}.{name}", parameter


def _params(configuration: Configuration) -> dict[str, Any]:
    """Return the active choices and hyper-parameters under the names of `_columns`."""
    params: dict[str, Any] = {}
    for module, choice in configuration.items():
        params[module] = choice.algorithm
        params |= {f"{module}.{choice.algorithm}.{k}": v for k, v in choice.params.items()}
    return params


def _verdict(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "status": evaluation.status,
        "fidelity": evaluation.fidelity,
        "seconds": evaluation.seconds,
        "message": evaluation.message,
    }


def _beyond(problem: Problem, evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    """Yield by how many scales each constraint is missed; negative inside."""
    for c in problem.constraints:
        error = evaluation.errors.get(c.metric, 0.0)
        yield str(c), c.beyond(evaluation.metrics[c.metric], error) / c.scale


def _distribution(distributions: Any, parameter: Parameter) -> Any:
    if isinstance(parameter, Categorical):
        return distributions.CategoricalDistribution(parameter.choices)
    kind = (
        distributions.FloatDistribution
        if isinstance(parameter, Real)
        else distributions.IntDistribution
    )
    return kind(parameter.low, parameter.high, log=parameter.log)


def _mlflow_batch(entities: Any, evaluation: Evaluation) -> dict[str, list[Any]]:
    """Return the parameters and metrics of an evaluation as MLflow's own."""
    metrics = {"seconds": evaluation.seconds}
    if evaluation.ok:
        metrics |= {"violation": evaluation.violation, **evaluation.columns}
    now = int(1000 * time.time())
    return {
        "params": [
            entities.Param(mlflow_name(key), str(value))
            for key, value in _params(evaluation.configuration).items()
        ],
        "metrics": [
            entities.Metric(mlflow_name(key), value, now, 0) for key, value in metrics.items()
        ],
    }


def mlflow_name(name: str) -> str:
    """Return a name in the letters MLflow takes; ours may carry brackets."""
    return "".join(letter if letter.isalnum() or letter in "_-./ " else "_" for letter in name)

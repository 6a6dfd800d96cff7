"""What an estimator is asked for, in the terms of a problem: objective and constraints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fenceline.errors import ConstraintError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.registry import as_metric
from fenceline.metrics.scores import loss
from fenceline.metrics.trial import Task
from fenceline.problem.constraint import Constraint, parse_constraint

_OBJECTIVES: Mapping[Task, str] = {
    "binary": "roc_auc",
    "multiclass": "neg_log_loss",
    "regression": "r2",
}


def fence(given: object) -> tuple[list[Constraint], dict[str, PipelineMetric]]:
    """Return constraints under their metrics' canonical names, and the metrics by name."""
    if isinstance(given, str | Constraint) or not isinstance(given, Sequence):
        raise ConstraintError(f"constraints must be a list. Got {given!r}.")
    constraints = []
    metrics: dict[str, PipelineMetric] = {}
    for one in given:
        constraint = parse_constraint(one) if isinstance(one, str) else one
        if not isinstance(constraint, Constraint):
            raise ConstraintError(
                f"{one!r} is not a constraint; write metrics.size_mb() <= 5 or 'size_mb <= 5'."
            )
        metric = as_metric(constraint)
        metrics[metric.name] = metric
        constraints.append(replace(constraint, metric=metric.name))
    return constraints, metrics


def objective_metric(given: object, task: Task) -> PipelineMetric:
    """Return what is minimised: a metric, or the loss of one whose larger values are better."""
    metric = as_metric(_OBJECTIVES[task] if given is None else given)
    return loss(metric) if metric.larger_is_better else metric

"""How a model treats each group: rates with their counts and intervals, or residuals."""

import numpy as np

from fenceline.certificate.inspection.numbers import residuals
from fenceline.certificate.inspection.record import GroupRow, Groups, Rate, rate, short
from fenceline.errors import FencelineError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.scores import Loss, Score
from fenceline.metrics.scoring import scored
from fenceline.metrics.trial import Grouping, Rows, Trial
from fenceline.problem.objective import named

MOST_GROUPS = 12
"""A column that no constraint compares is shown if it has no more values than this."""


def by_group(trial: Trial, metrics: list[PipelineMetric], confidence: float) -> list[Groups]:
    """Return every column of groups: those that metrics compare, then others that were given.

    Parameters
    ----------
    trial : Trial
        The model, and rows it has not seen.
    metrics : list of PipelineMetric
        What was measured, the objective first.
    confidence : float
        Of every interval by itself.
    """
    compared = dict.fromkeys(grouping for metric in metrics for grouping in metric.groupings)
    given: list[Grouping] = [(name, ()) for name in trial.table.groups]
    named = {name for name, _ in compared}
    columns = [*compared, *(grouping for grouping in given if grouping[0] not in named)]
    found: list[Groups] = []
    for name, bins in columns:
        try:
            labels, codes = trial.grouping(name, bins)
        except FencelineError:  # a column given beside those compared, with a gap or a single value
            continue
        if (name, bins) in compared or len(labels) <= MOST_GROUPS:
            each = [np.flatnonzero(codes == i) for i in range(len(labels))]
            rows = [
                _row(label, at, trial, _scorer(metrics[0]), confidence)
                for label, at in zip(labels, each, strict=True)
                if at.size
            ]
            found.append({"column": name, "groups": rows})
    return found


def _row(label: str, at: Rows, trial: Trial, scorer: str | None, confidence: float) -> GroupRow:
    numbers = trial.table.task == "regression"
    return {
        "label": label,
        "rows": int(at.size),
        "score": None if scorer is None else _score(scorer, trial, at),
        "rates": {} if numbers else _rates(at, trial, confidence),
        "residuals": residuals(trial, at, confidence) if numbers else None,
    }


def _scorer(objective: PipelineMetric) -> str | None:
    """Return the scorer, if the objective is the loss of a plain score."""
    plain = isinstance(objective, Loss) and isinstance(objective.of, Score)
    return objective.scored_by if plain else None


def _score(scorer: str, trial: Trial, at: Rows) -> float | None:
    """Return a score of some rows, as people call it: errors are not negative."""
    try:
        value = scored(scorer, trial, at)
    except (FencelineError, ValueError):  # a group of one class has no AUROC
        return None
    return short(value if named(f"loss({scorer})").larger_is_better else -value)


def _rates(at: Rows, trial: Trial, confidence: float) -> dict[str, Rate]:
    predicted, truth = trial.answers.predict(np.arange(len(trial.rows))), trial.target
    right = predicted == truth
    claims = {"accuracy": (right, at)}
    if trial.table.task == "binary":
        chosen, positive = predicted == 1, truth[at] == 1
        claims = {
            "positives": (truth == 1, at),
            "predicted positive": (chosen, at),
            "true-positive rate": (chosen, at[positive]),
            "false-positive rate": (chosen, at[~positive]),
            "precision": (right, at[chosen[at]]),
        } | claims
    found = {name: rate(claim, of, trial, confidence) for name, (claim, of) in claims.items()}
    return {name: value for name, value in found.items() if value is not None}

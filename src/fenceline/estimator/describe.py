"""What a search was about, in a few numbers, so that a model can say so when the data are gone."""

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from scipy import sparse

from fenceline.errors import MeasurementError
from fenceline.metrics.fairness import EqualizedOdds, GroupMetric, ScoreGap
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table, Task, Trial


class Column(TypedDict):
    """One column of the table."""

    name: str
    kind: str
    missing: int


class Group(TypedDict):
    """One group on the rows of the certificate, with what the metric compares, by name."""

    label: str
    rows: int
    compared: dict[str, float]


class DataSummary(TypedDict):
    """The table of a search, and how the groups of the fence fared on unseen rows.

    Plain types throughout, so that it can be saved with a model. `target` holds the classes with
    their numbers of rows, or quantiles of a numeric target; `groups` has one list for each metric.
    """

    task: Task
    search_rows: int
    unseen_rows: int
    columns: list[Column]
    target: dict[str, float]
    groups: dict[str, list[Group]]


def describe(trial: Trial, metrics: Mapping[str, PipelineMetric], search: Rows) -> DataSummary:
    """Describe the data of a search.

    Parameters
    ----------
    trial : Trial
        The pipeline that was chosen, the whole table, and the rows kept from the search.
    metrics : mapping of str to PipelineMetric
        What was measured.
    search : array of int
        The rows of the search.
    """
    groups = {
        name: _groups(metric, trial)
        for name, metric in metrics.items()
        if isinstance(metric, GroupMetric)
    }
    return {
        "task": trial.table.task,
        "search_rows": len(search),
        "unseen_rows": len(trial.rows),
        "columns": _columns(trial.table.X),
        "target": _target(trial.table),
        "groups": {name: found for name, found in groups.items() if found},
    }


def _columns(X: Any) -> list[Column]:
    if isinstance(X, pd.DataFrame):
        names, kinds = [*map(str, X.columns)], [*map(str, X.dtypes)]
        missing = X.isna().sum().tolist()
    else:
        count = X.shape[1]
        names, kinds = [f"column {i}" for i in range(count)], [str(X.dtype)] * count
        missing = [0] * count if sparse.issparse(X) else np.isnan(X).sum(axis=0).tolist()
    return [
        {"name": name, "kind": kind, "missing": int(absent)}
        for name, kind, absent in zip(names, kinds, missing, strict=True)
    ]


def _target(table: Table) -> dict[str, float]:
    if table.task == "regression":
        shares = {"smallest": 0.0, "median": 0.5, "largest": 1.0}
        return {name: float(np.quantile(table.y, share)) for name, share in shares.items()}
    sizes = np.bincount(table.target, minlength=len(table.classes))
    return {str(c): float(n) for c, n in zip(table.classes, sizes, strict=True)}


def _groups(metric: GroupMetric, trial: Trial) -> list[Group]:
    """Return what a metric compares, by group; nothing where unseen rows leave it undefined."""
    if not trial.rows.size:
        return []
    labels, codes = trial.grouping(metric.group, metric.bins)
    try:
        parts = metric.parts(trial).reshape(metric.blocks, -1)
    except MeasurementError:
        return []
    names = _compared(metric)
    return [
        {
            "label": label,
            "rows": int(np.sum(codes == i)),
            "compared": {name: float(v) for name, v in zip(names, parts[:, i], strict=True)},
        }
        for i, label in enumerate(labels)
    ]


def _compared(metric: GroupMetric) -> tuple[str, ...]:
    """Name what a metric compares, in the order of its parts."""
    if isinstance(metric, EqualizedOdds):
        return ("false-positive rate", "true-positive rate")
    return (metric.scorer,) if isinstance(metric, ScoreGap) else ("share predicted positive",)

"""Permutation importance (Breiman 2001): how much of the score is lost when one column is shuffled."""

import math
import time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fenceline.certificate.inspection.record import Column, Importance, short
from fenceline.errors import MeasurementError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Trial
from fenceline.problem.objective import NamedScore

SHUFFLES = 8
"""Of each column, where time allows; the standard error is then a third of one shuffle's spread."""
ROWS = 2000
"""Rows that are shuffled: a drop of the AUROC by 0.01 is seen with them, and a shuffle takes milliseconds."""
LISTED = 30


def importance(
    trial: Trial,
    metric: PipelineMetric,
    score: NamedScore,
    rng: np.random.Generator,
    until: float,
) -> Importance:
    """Shuffle one column after the other, as often as time allows.

    Parameters
    ----------
    trial : Trial
        The model, and rows it has not seen.
    metric : PipelineMetric
        What is lost; smaller values are better.
    score : NamedScore
        How people call it.
    rng : numpy.random.Generator
        Of the shuffles, and of the rows where there are many.
    until : float
        Of :func:`time.monotonic`. Columns are taken in a random order, so that those for which
        there is no time are not the last of every table.
    """
    if sparse.issparse(trial.table.X):
        raise MeasurementError("a sparse table has too many columns to shuffle")
    at = np.arange(len(trial.rows))
    if len(at) > ROWS:
        at = np.sort(rng.choice(at, ROWS, replace=False))
    rows, cuts = trial.rows[at], None if trial.cuts is None else trial.cuts[at]
    part = Trial(trial.pipeline, trial.table, rows, trial.train_seconds, cuts=cuts)
    base = metric.value(part)
    names = _names(part.X)
    drops: list[list[float]] = [[] for _ in names]
    for _ in range(SHUFFLES):
        for i in rng.permutation(len(names)):
            if time.monotonic() >= until:
                return _sorted(names, drops, score, len(rows))
            shuffled = part.on(_shuffled(part.X, int(i), rng.permutation(len(rows))))
            drops[i].append(metric.value(shuffled) - base)
    return _sorted(names, drops, score, len(rows))


def _sorted(names: list[str], drops: list[list[float]], score: NamedScore, rows: int) -> Importance:
    columns: list[Column] = []
    for name, found in zip(names, drops, strict=True):
        if found:
            error = None
            if len(found) > 1:
                error = short(float(np.std(found, ddof=1)) / math.sqrt(len(found)))
            drop = short(float(np.mean(found)))
            columns.append({"name": name, "drop": drop, "error": error, "shuffles": len(found)})
    columns.sort(key=lambda column: -column["drop"])
    return {
        "score": score.name,
        "rows": rows,
        "columns": columns[:LISTED],
        "further": len(columns[LISTED:]),
        "left_out": len(names) - len(columns),
    }


def _names(X: Any) -> list[str]:
    if isinstance(X, pd.DataFrame):
        return [*map(str, X.columns)]
    return [f"column {i}" for i in range(X.shape[1])]


def _shuffled(X: Any, column: int, order: Rows) -> Any:
    """Return the table with one column in another order."""
    other = X.copy()
    if isinstance(X, pd.DataFrame):
        other.isetitem(column, X.iloc[order, column].array)
    else:
        other[:, column] = X[order, column]
    return other

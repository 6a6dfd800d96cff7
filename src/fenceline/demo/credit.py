"""The demo's question: who gets a loan, decided fast, with few bad loans, and as well for the young as for the old."""

from typing import TYPE_CHECKING

import numpy as np

from fenceline import data, metrics
from fenceline.estimator.estimators import FencelineClassifier
from fenceline.evaluation.engines.local import processors
from fenceline.metrics import Table
from fenceline.pipelines import drop, named_space
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.prepare import preparation
from fenceline.problem.constraint import Constraint
from fenceline.problem.space import Space

if TYPE_CHECKING:
    import pandas as pd

OBJECTIVE = "balanced_accuracy"
BATCH = 1000
_TIMINGS = 5


def applicants() -> "tuple[pd.DataFrame, pd.Series[str]]":
    """Return the bundled applicants and what became of their loans."""
    table = data.credit()
    return table, table.pop("Status")


def space() -> Space:
    """Return the default space without neural networks, one of which may take a fifth of a minute."""
    return drop(named_space("default"), "estimator", "MLP")


def simplest_us(table: "pd.DataFrame", status: "pd.Series[str]") -> float:
    """Return the latency of the first pipeline of the space: this machine's yardstick."""
    simplest = space().initial
    measure = CrossValidation(
        Table(table, status.to_numpy(), "binary"), {}, preparation=preparation(table)
    )
    rows = np.arange(len(table))
    trial = measure.trial(simplest, rows, rows)
    return min(metrics.latency_us(BATCH).value(trial) for _ in range(_TIMINGS))


def fence(latency_us: float, gap: float, bad_loans: float) -> list[Constraint]:
    """Return the three constraints."""
    return [
        metrics.latency_us(BATCH) <= latency_us,
        metrics.score_gap("roc_auc", group="Age", bins=[35]) <= gap,
        # In order the labels are bad and good: a false positive is a bad loan that is granted.
        metrics.false_positive_rate() <= bad_loans,
    ]


def model(constraints: list[Constraint], seconds: float, seed: int) -> FencelineClassifier:
    """Return the estimator that the demo fits."""
    return FencelineClassifier(
        objective=OBJECTIVE,
        constraints=constraints,
        space=space(),
        seconds=seconds,
        workers=min(2, processors()),
        random_state=seed,
        verbose=1,
    )

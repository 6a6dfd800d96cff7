"""The record of an inspection: plain types throughout, so that it is saved with a model and drawn by a page."""

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from fenceline.certificate.shares import exact_rate
from fenceline.metrics.trial import Rows, Task, Trial

FORMAT = 1
DIGITS = 6
"""Of every number that is kept: a page shows four, and a curve of 200 points stays below 4 kB."""

Basis: TypeAlias = Literal["unseen", "fold"]
"""Rows kept from the search; or those of one fold, answered by the same pipeline fitted without them."""


class Rate(TypedDict):
    """A share of rows, with the counts it comes from and its interval."""

    events: int
    cases: int
    value: float
    low: float
    high: float


class Objective(TypedDict):
    """The score that was asked for, in its own name and direction."""

    name: str
    larger_is_better: bool
    value: float
    low: float | None
    high: float | None
    searched: float


class Threshold(TypedDict):
    """Where decisions between two classes change."""

    value: float
    kind: Literal["probability", "decision value"]


class ClassRow(TypedDict):
    """One class: how many of its rows are found, and how many of those called so are."""

    label: str
    rows: int
    recall: Rate
    precision: Rate | None


class Curve(TypedDict):
    """Points of a curve, and the area below it."""

    x: list[float]
    y: list[float]
    area: float


class Bin(TypedDict):
    """Rows with similar probabilities, and how often what they say came true."""

    predicted: float
    observed: Rate


class Calibration(TypedDict):
    """Probabilities against what happened."""

    bins: list[Bin]
    brier: float
    error: float
    """Mean distance between the two, weighted by rows."""


class ThresholdMetrics(TypedDict):
    """Metrics of decisions over thresholds, as the folds of the search measured them."""

    thresholds: list[float]
    chosen: float | None
    """The one at which the folds chose the share of rows that the model chooses."""
    selected: list[float | None]
    metrics: dict[str, list[float | None]]


class GroupRow(TypedDict):
    """One group; what does not belong to the task is None."""

    label: str
    rows: int
    score: float | None
    rates: dict[str, Rate]
    residuals: "Residuals | None"


class Groups(TypedDict):
    """The groups of one column."""

    column: str
    groups: list[GroupRow]


class Column(TypedDict):
    """How much of the score is lost when a column is shuffled."""

    name: str
    drop: float
    error: float | None
    """Standard error of the shuffling; None after one shuffle."""
    shuffles: int


class Importance(TypedDict):
    """Permutation importance of the table's columns, the largest first."""

    score: str
    rows: int
    columns: list[Column]
    further: int
    """Columns that were measured and matter less than those listed."""
    left_out: int
    """Columns for which there was no time."""


class Residuals(TypedDict):
    """True minus predicted."""

    mean: float
    low: float
    high: float
    absolute: float
    quantiles: list[float]
    """5, 25, 50, 75 and 95 percent."""


class Numbers(TypedDict):
    """Predicted numbers against true ones."""

    true: list[float]
    predicted: list[float]
    residuals: Residuals


class Inspection(TypedDict):
    """What a model does; a part that does not belong to the task, or failed, is None."""

    format: int
    basis: Basis
    rows: int
    task: Task
    confidence: float
    seconds: float
    allowed: float
    """Seconds that the inspection had."""
    classes: list[str]
    objective: Objective | None
    scores: dict[str, float]
    threshold: Threshold | None
    confusion: list[list[int]] | None
    """Rows of the matrix are true classes, columns predicted ones; rows of the table are counted."""
    by_class: list[ClassRow] | None
    roc: Curve | None
    precision_recall: Curve | None
    calibration: Calibration | None
    threshold_metrics: ThresholdMetrics | None
    groups: list[Groups] | None
    importance: Importance | None
    numbers: Numbers | None
    missing: dict[str, str]
    """Part -> why it is not there."""


def short(value: float, digits: int = DIGITS) -> float:
    """Round a number for the record."""
    return float(f"{float(value):.{digits}g}")


def shorts(values: Iterable[float]) -> list[float]:
    """Round numbers for the record."""
    return [short(value) for value in values]


def rate(claim: NDArray[np.bool_], at: Rows, trial: Trial, confidence: float) -> Rate | None:
    """Return the share of the rows at these positions of which a claim is true; None without rows.

    Weighted rows count as many as rows of equal weight would tell (Kish's effective number).

    Parameters
    ----------
    claim : array of bool
        One for each row of the trial.
    at : array of int
        Positions of rows.
    trial : Trial
        Whose rows they are.
    confidence : float
        That the two-sided interval holds the true share (Clopper and Pearson).
    """
    if not at.size:
        return None
    value, size = float(np.mean(claim[at])), float(at.size)
    if trial.weights is not None:
        weights = trial.weights[at]
        value = float(np.average(claim[at], weights=weights))
        size = float(weights.sum() ** 2 / np.square(weights).sum())
    _, low, high = exact_rate(value * size, size, (1 - confidence) / 2)
    return {
        "events": int(claim[at].sum()),
        "cases": int(at.size),
        "value": short(value),
        "low": short(low),
        "high": short(high),
    }


def finite(value: float) -> float | None:
    """Return a number that JSON has a word for, or None."""
    return short(value) if math.isfinite(value) else None

"""Whether a fitted model answers in one direction when a column grows, other things being equal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fenceline.metrics.metric import Reading
from fenceline.metrics.ranges import SHARE, Range
from fenceline.metrics.resources import Resource
from fenceline.metrics.trial import Trial
from fenceline.problem.constraint import Constraint

NAME = "monotone_violation"
_ROWS, _VALUES = 100, 9
"""Rows that are varied, and values that each column takes in them: 900 predictions for a column."""
_TOLERANCE = 1e-6
"""Boosters that add up in single precision are off by 1e-7."""


@dataclass(frozen=True, slots=True, eq=False)
class MonotoneViolation(Resource):
    """The share of rows in which the answer moves against the direction that a column was given.

    It is a property of the fitted model, not of the labels: one model is enough to know it.
    """

    directions: tuple[tuple[int, int], ...]
    """Positions of columns, and 1 or -1."""

    @property
    def range(self) -> Range:
        """A share of rows."""
        return SHARE

    def read(self, trial: Trial) -> Reading:
        """Vary one column after the other in some rows, and see where the answer turns back."""
        some = trial.rows[np.linspace(0, len(trial.rows) - 1, _ROWS).astype(np.intp)]
        rows = Trial(trial.pipeline, trial.table, np.unique(some))
        wrong = np.zeros(len(rows.rows), dtype=bool)
        for column, direction in self.directions:
            varied = _varied(rows.X, column, trial.X)
            if varied:
                answers = np.array([_answers(rows.on(X)) for X in varied])
                steps = direction * np.diff(answers, axis=0)
                wrong |= (steps < -_TOLERANCE * np.ptp(answers)).any(axis=0)
        return Reading(np.array([float(wrong.mean())]), 0.0)


def monotone_constraint(
    directions: tuple[tuple[int, int], ...],
) -> tuple[Constraint, MonotoneViolation]:
    """Return that nothing may be violated, and what measures it."""
    return Constraint(NAME, "<=", 0.0), MonotoneViolation(NAME, directions)


def _varied(X: Any, column: int, seen: Any) -> list[Any]:
    """Return the rows with one column set to each of several values, from the smallest to the largest."""
    framed = isinstance(X, pd.DataFrame)
    values = np.asarray(seen.iloc[:, column] if framed else seen[:, column], dtype=np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        return []
    made = []
    for value in np.unique(np.quantile(values, np.linspace(0, 1, _VALUES))):
        other = X.copy()
        if framed:
            other[other.columns[column]] = float(value)
        else:
            other[:, column] = value
        made.append(other)
    return made


def _answers(trial: Trial) -> NDArray[np.float64]:
    """Return the probability of the positive class, or the number that is predicted."""
    if trial.response is not None:
        return trial.response
    return np.asarray(trial.answers.predict(np.arange(len(trial.rows))), dtype=np.float64)

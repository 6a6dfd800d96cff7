"""Everything measured, encoded: a row of choices, hyper-parameters and metrics per pipeline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Evaluator, Problem
from fenceline.search.lagrangian import Scales
from fenceline.search.structured.looks import Looks
from fenceline.search.structured.rows import Rows

Array = NDArray[np.float64]


class Data:
    """What is known of the problem: all pipelines measured, and what was measured of each.

    `z`, `theta` and `ok` have a row per pipeline; `loss` and `excess` a row per *successful* one.
    They are views that the next :meth:`refresh` may leave behind: whoever keeps a row copies it.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self.problem = problem
        self.evaluator = evaluator
        space, constraints = problem.space, problem.constraints
        self._z = Rows(len(space.modules), np.intp)
        self._theta = Rows(len(space.parameters))
        self._ok = Rows(1, np.bool_)
        self._loss = Rows(1)
        self._excess = Rows(len(constraints))
        self._soft = Rows(len(constraints))
        self._loss_error = Rows(1)
        self._equal = np.array([c.equality for c in constraints], dtype=np.bool_)
        self._tolerances = np.array([c.tolerance for c in constraints])
        self._scales = np.array([c.scale for c in constraints])
        self._read = 0
        self._rows: dict[Configuration, int] = {}
        self.looks = Looks(problem)

    @property
    def z(self) -> NDArray[np.intp]:
        """The chosen algorithms."""
        return self._z.view

    @property
    def theta(self) -> Array:
        """The hyper-parameters, in the unit cube; NaN where not active."""
        return self._theta.view

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether a pipeline was measured without failing."""
        return self._ok.view[:, 0]

    @property
    def loss(self) -> Array:
        """f of the successful ones."""
        return self._loss.view[:, 0]

    @property
    def excess(self) -> Array:
        """g - eps of the successful ones, a column per constraint."""
        return self._excess.view

    def refresh(self) -> bool:
        """Take in what has been measured since the last call; tell whether a value changed."""
        history, changed = self.evaluator.history, False
        for evaluation in history[self._read :]:
            if evaluation.look:
                if evaluation.ok:
                    self.looks.append(evaluation)
                if not evaluation.failed:
                    continue  # what fails with few rows is taken for a failure
            row = self._rows.get(evaluation.configuration)
            if row is None:
                self._append(evaluation)
            elif evaluation.ok:
                self._measured(row, evaluation)
                changed = True
        self._read = len(history)
        return changed

    def row(self, index: int) -> tuple[tuple[int, ...], Array]:
        """Return z and theta of a successful evaluation."""
        at = np.flatnonzero(self.ok)[index]
        return tuple(int(j) for j in self.z[at]), self.theta[at].copy()

    def losses(self, scales: Scales) -> Array:
        """Return f of the successful evaluations, scaled."""
        return self.loss / scales.loss

    def excesses(self, scales: Scales) -> Array:
        """Return g - eps of the successful evaluations, scaled."""
        return self.excess / scales.constraints

    def feasible(self, room: float = 0.0) -> NDArray[np.intp]:
        """Return which successful evaluations satisfy every constraint, and by so many errors."""
        inside = self._inside
        if room:
            inside = inside - room * self._errors
        return np.flatnonzero((inside >= 0).all(axis=1))

    @property
    def best_first(self) -> NDArray[np.intp]:
        """Places of the successful evaluations: feasible ones by loss, then the others by violation.

        Sorted by an augmented Lagrangian with multipliers instead, searches ended no better: on 12
        problems with 1 to 4 constraints 44 of 104 did, 60 ended worse.
        """
        beyond = np.maximum(-self._inside, 0.0) / self._scales
        return np.lexsort((self.loss, beyond.sum(axis=1)))

    @property
    def typical_error(self) -> Array:
        """The median of each constraint's errors, of those that feasibility leaves out."""
        soft = self._soft.view
        return np.median(soft, axis=0) if soft.size else np.zeros(soft.shape[1])

    @property
    def typical_loss_error(self) -> float:
        """The median of the errors of f; 0 where they are not known."""
        errors = self._loss_error.view
        return float(np.median(errors)) if errors.size else 0.0

    def within_reach(self, room: float) -> float:
        """Return how many errors to stay inside: at most one more than any pipeline is known to."""
        if not room or not self.problem.constraints:
            return 0.0
        errors, feasible = self._errors, self.feasible()
        if not len(feasible) or not errors.any():
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.where(errors > 0, self._inside / errors, np.inf)[feasible].min(axis=1)
        return min(room, float(known.max()) + 1.0)

    @property
    def _errors(self) -> Array:
        """Of each constraint at each pipeline, never below the typical one.

        A few folds may show too small an error by luck; but a weak model's is larger than most.
        """
        return np.asarray(np.maximum(self._soft.view, self.typical_error))

    @property
    def _inside(self) -> Array:
        """How far inside each constraint the successful evaluations are; negative outside."""
        excess = self.excess
        return self._tolerances - np.where(self._equal, np.abs(excess), excess)

    def _append(self, evaluation: Evaluation) -> None:
        z, theta = self.problem.space.encode(evaluation.configuration)
        self._z.append(z)
        self._theta.append(theta)
        self._ok.append(evaluation.ok)
        if evaluation.ok:
            row = self._rows[evaluation.configuration] = len(self.loss)
            for rows in (self._loss, self._loss_error, self._excess, self._soft):
                rows.append(0.0)
            self._measured(row, evaluation)

    def _measured(self, row: int, evaluation: Evaluation) -> None:
        """Write down, or replace, what is known of a pipeline."""
        self._loss.view[row] = evaluation.objective
        self._loss_error.view[row] = _error(evaluation, self.problem.objective)
        for m, c in enumerate(self.problem.constraints):
            value, error = evaluation.metrics[c.metric], evaluation.errors.get(c.metric)
            self._excess.view[row, m] = c.excess(value, error or 0.0)
            # The errors that feasibility leaves out, those of a score over folds for example.
            self._soft.view[row, m] = _spread(evaluation, c.metric) if error is None else 0.0


def _error(evaluation: Evaluation, metric: str) -> float:
    """Return the error of a metric, of repeated readings or of folds; 0 where neither is known."""
    error = evaluation.errors.get(metric)
    return _spread(evaluation, metric) if error is None else error


def _spread(evaluation: Evaluation, metric: str) -> float:
    spread = evaluation.spreads.get(metric)
    return (spread and spread.error) or 0.0

"""Everything measured, encoded, and the models that learn from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluation, Evaluator, Problem
from fenceline.search.lagrangian import Scales
from fenceline.search.structured.acquisition import Chance, Promise
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.prices import balance, gradient, reals
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Part, Structure

Array = NDArray[np.float64]


@dataclass
class Memory:
    """Everything measured, encoded, and the models that learn from it."""

    problem: Problem
    evaluator: Evaluator
    transform: bool = True
    z: NDArray[np.intp] = field(init=False)
    theta: Array = field(init=False)
    ok: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        space = self.problem.space
        self.structure = Structure(space)
        self.lattice = Lattice(space)
        self.z = np.empty((0, len(space.modules)), dtype=np.intp)
        self.theta = np.empty((0, len(space.parameters)))
        self.ok = np.empty(0, dtype=np.bool_)
        self._loss = np.empty(0)
        self._excess = np.empty((0, len(self.problem.constraints)))
        self._soft = np.empty((0, len(self.problem.constraints)))
        self._models = [
            MetricModel(self.structure, self.transform) for _ in range(1 + self._excess.shape[1])
        ]
        self._equal = np.array([c.sense == "==" for c in self.problem.constraints], dtype=np.bool_)
        self._failure = MetricModel(self.structure, transform=False)
        self._read = 0
        self._rows: dict[Configuration, int] = {}

    def refresh(self) -> None:
        """Take in what has been measured since the last call."""
        history = self.evaluator.history
        for evaluation in history[self._read :]:
            row = self._rows.get(evaluation.configuration)
            if row is None:
                self._append(evaluation)
            elif evaluation.ok:
                self._replace(row, evaluation)
        self._read = len(history)

    def _append(self, evaluation: Evaluation) -> None:
        z, theta = self.problem.space.encode(evaluation.configuration)
        self.z = np.vstack([self.z, z])
        self.theta = np.vstack([self.theta, theta])
        self.ok = np.append(self.ok, evaluation.ok)
        if evaluation.ok:
            self._rows[evaluation.configuration] = len(self._loss)
            self._loss = np.append(self._loss, evaluation.objective)
            self._excess = np.vstack([self._excess, self._excess_of(evaluation)])
            self._soft = np.vstack([self._soft, self._soft_of(evaluation)])

    def _replace(self, row: int, evaluation: Evaluation) -> None:
        """Let a pipeline that was measured again stand for what was known of it."""
        self._loss[row] = evaluation.objective
        self._excess[row] = self._excess_of(evaluation)
        self._soft[row] = self._soft_of(evaluation)
        for model in self._models:
            model.process = None  # it has learned from the old value

    def _excess_of(self, evaluation: Evaluation) -> Array:
        metrics, errors = evaluation.metrics, evaluation.errors
        excess = [
            c.excess(metrics[c.metric], errors.get(c.metric, 0.0)) for c in self.problem.constraints
        ]
        return np.array(excess)

    def _soft_of(self, evaluation: Evaluation) -> list[float]:
        """Return the errors that feasibility leaves out, those of a score over folds for example."""
        return [
            0.0 if c.metric in evaluation.errors else evaluation.metrics.get(f"{c.metric}/se", 0.0)
            for c in self.problem.constraints
        ]

    def row(self, index: int) -> tuple[tuple[int, ...], Array]:
        """Return z and theta of a successful evaluation."""
        at = np.flatnonzero(self.ok)[index]
        return tuple(int(j) for j in self.z[at]), self.theta[at]

    def losses(self, scales: Scales) -> Array:
        """Return f of the successful evaluations, scaled."""
        return self._loss / scales.loss

    def excesses(self, scales: Scales) -> Array:
        """Return g - eps of the successful evaluations, scaled."""
        return self._excess / scales.constraints

    def promise(self, *, learn_failures: bool, room: float = 0.0) -> Promise:
        """Return the acquisition under everything known, with what is pending taken at its prediction.

        Parameters
        ----------
        learn_failures : bool
            Whether the chance to fail counts.
        room : float
            How many typical errors, of those that feasibility leaves out, to stay inside the fence;
            at most one more than some pipeline is known to.
        """
        room = self._within_reach(room)
        typical = self._typical
        parts = self.structure.parts(self.z, self.theta)
        good = [part[np.flatnonzero(self.ok)] for part in parts]
        columns = [self._loss, *self._excess.T]
        processes = [model.update(good, y) for model, y in zip(self._models, columns, strict=True)]
        chances = []
        for model, process, constraint, error in zip(
            self._models[1:], processes[1:], self.problem.constraints, typical, strict=True
        ):
            within, low = constraint.tolerance - room * error, -np.inf
            if constraint.sense == "==":
                within = max(within, 0.0)
                low = model.warped(-within)
            chances.append(Chance(process, low, model.warped(within)))
        if learn_failures and not self.ok.all():
            failure = self._failure.update(parts, (~self.ok).astype(np.float64))
            chances.append(Chance(failure, -np.inf, self._failure.warped(0.5)))
        best = self._best(processes[0], good, self._feasible(room))
        promise = Promise(processes[0], best, tuple(chances))
        pending = self.evaluator.pending
        if not pending:
            return promise
        z, theta = zip(*(self.problem.space.encode(c) for c in pending), strict=True)
        return promise.believing(self.structure.parts(np.array(z), np.array(theta)))

    def multipliers(self, scales: Scales) -> Array | None:
        """Return what the constraints press with at the best feasible pipeline, scaled.

        None while nothing feasible is known, or where no real hyper-parameter is active: between
        the points of a lattice a bound has no price.
        """
        feasible = self._feasible()
        if len(feasible) == 0 or self._models[0].process is None:
            return None
        best = int(feasible[np.argmin(self._loss[feasible])])
        z, theta = self.row(best)
        columns = reals(self.structure.space, z)
        if len(columns) == 0:
            return None
        values = [self._loss[best], *self._excess[best]]
        slopes = np.array(
            [
                gradient(model, self.structure, z, theta, float(y))
                for model, y in zip(self._models, values, strict=True)
            ]
        )
        return balance(
            slopes[0] / scales.loss,
            slopes[1:] / scales.constraints[:, None],
            self._excess[best] / scales.constraints,
            self._equal,
            theta[columns],
        )

    def _best(
        self, process: SharedProcess, good: list[Part], feasible: NDArray[np.intp]
    ) -> float | None:
        """Return the best feasible loss with its noise taken out, as the model sees it."""
        if len(feasible) == 0:
            return None
        top = feasible[np.argsort(self._loss[feasible], kind="stable")[:10]]
        return float(process.predict_pipelines([part[top] for part in good])[0].min())

    def _feasible(self, room: float = 0.0) -> NDArray[np.intp]:
        """Return which successful evaluations satisfy every constraint, and by so many errors."""
        inside = self._inside
        if room:
            inside = inside - room * np.maximum(self._soft, self._typical)
        return np.flatnonzero((inside >= 0).all(axis=1))

    @property
    def _inside(self) -> Array:
        """How far inside each constraint the successful evaluations are; negative outside."""
        slack = np.array([c.tolerance for c in self.problem.constraints])
        return slack - np.where(self._equal, np.abs(self._excess), self._excess)

    @property
    def _typical(self) -> Array:
        """The median of each constraint's errors, of those that feasibility leaves out."""
        return np.median(self._soft, axis=0) if len(self._soft) else np.zeros(self._soft.shape[1])

    def _within_reach(self, room: float) -> float:
        """Return how many errors to stay inside: at most one more than any pipeline is known to."""
        # A few folds may show too small an error by luck; but a weak model's is larger than most.
        errors = np.maximum(self._soft, self._typical)
        feasible = self._feasible()
        if not room or not len(feasible) or not errors.any():
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.where(errors > 0, self._inside / errors, np.inf)[feasible].min(axis=1)
        return min(room, float(known.max()) + 1.0)

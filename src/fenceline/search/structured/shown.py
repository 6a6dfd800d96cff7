"""What a measurement shows of a pipeline: its loss and its constraints, with more or less room to the fence.

A certificate needs room, and the pipeline that is best right at the fence is another than the one that
is best with room: with equalised odds on one table their ranks over a search had a correlation of .2. Where
a measurement has a curve over decision thresholds, every distance from the fence can be read from it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem

SHARES = (1.0, 2 / 3, 1 / 3)
"""Of the room that a certificate needs, how much is left; the most that leaves pipelines worth something counts."""


@dataclass(frozen=True, slots=True)
class Showing:
    """A pipeline with some share of that room."""

    loss: float
    excess: NDArray[np.float64]
    """g - eps, and the room where it is left."""
    kept: Collection[str] = ()
    """The constrained metrics that leave room."""
    idle: float = math.nan
    """The loss of decisions that are the same for everybody, where it is known."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Reads measurements at every share of the room, or all as they are.

    Parameters
    ----------
    problem : Problem
        Whose measure knows of such room.
    with_room : bool
        Whether to ask it.
    """

    problem: Problem
    with_room: bool

    def __call__(self, evaluation: Evaluation) -> list[Showing]:
        """Return what was measured, at one share after the other."""
        return [self._at(evaluation, share) for share in SHARES]

    def _at(self, evaluation: Evaluation, share: float) -> Showing:
        constraints, errors = self.problem.constraints, evaluation.errors
        # Without the margin of an error: what looks show of a bound is to be taken hopefully.
        errors = {} if evaluation.look else errors
        found = self.problem.with_room(evaluation, share) if self.with_room else None
        if found is None:
            excess = [
                c.excess(evaluation.metrics[c.metric], errors.get(c.metric, 0.0))
                for c in constraints
            ]
            return Showing(evaluation.objective, np.array(excess))
        metrics = {**evaluation.metrics, **found.metrics}
        excess = []
        for c in constraints:
            beyond = c.excess(metrics[c.metric], errors.get(c.metric, 0.0))
            room = found.rooms.get(c.metric, 0.0)
            excess.append(beyond - room if c.equality and beyond < 0 else beyond + room)
        return Showing(metrics[self.problem.objective], np.array(excess), found.rooms, found.idle)

"""Looks at pipelines with a part of the rows, and what every measurement took, as growing tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.problem import Problem
from fenceline.search.structured.rows import Rows

Array = NDArray[np.float64]

# A pipeline that ran out of time would have taken longer; as if by this factor.
_CENSORED = 2.0
# Of a suggestion, in seconds: a look cannot be cheaper than what it takes to think of it.
OVERHEAD = 0.1
# A full measurement has usually three, a look one.
SPLITS = 3.0
# With ten times the rows a fit takes 10**GROWTH times as long, where nothing is known of the algorithm.
GROWTH = 0.75


class Encoded:
    """Pipelines and the share of the rows that each was measured with."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._z = Rows(len(problem.space.modules), np.intp)
        self._theta = Rows(len(problem.space.parameters))
        self._share = Rows(1)

    def __len__(self) -> int:
        return len(self.share)

    @property
    def z(self) -> NDArray[np.intp]:
        """The chosen algorithms."""
        return self._z.view

    @property
    def theta(self) -> Array:
        """The hyper-parameters, in the unit cube; NaN where not active."""
        return self._theta.view

    @property
    def share(self) -> Array:
        """The shares of the rows; 1 for a full measurement."""
        return self._share.view[:, 0]

    def _encode(self, evaluation: Evaluation) -> None:
        z, theta = self.problem.space.encode(evaluation.configuration)
        self._z.append(z)
        self._theta.append(theta)
        self._share.append(evaluation.fidelity)


class Looks(Encoded):
    """The looks that succeeded, and the metrics they showed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._loss = Rows(1)
        self._excess = Rows(len(problem.constraints))
        self.pipelines: dict[Configuration, None] = {}
        """Each once, in the order in which they were first looked at."""

    @property
    def loss(self) -> Array:
        """f, as looks show it."""
        return self._loss.view[:, 0]

    @property
    def excess(self) -> Array:
        """g - eps, as looks show it, a column per constraint."""
        return self._excess.view

    def append(self, evaluation: Evaluation) -> None:
        """Take in a look."""
        constraints = self.problem.constraints
        self.pipelines[evaluation.configuration] = None
        self._encode(evaluation)
        self._loss.append(evaluation.objective)
        # Without the margin of an error: what looks show of a bound is to be taken hopefully.
        self._excess.append([c.excess(evaluation.metrics[c.metric]) for c in constraints])


class Costs(Encoded):
    """The seconds that measurements took; of one that was stopped, at least so many."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._log_seconds = Rows(1)
        self._read = 0
        self.in_looks = self.in_full = 0.0
        """Seconds spent with a part of the rows, and with all."""
        self.limit = math.inf
        """What a measurement may take, as far as one is known to have been stopped."""

    def expected_share(self, configuration: Configuration, fidelity: float) -> float:
        """Return the seconds of a look beside a full measurement's, as they usually grow with the rows."""
        if fidelity == 1.0:
            return 1.0
        growth = self.problem.growth(configuration)
        return float(fidelity ** (GROWTH if growth is None else growth) / SPLITS)

    @property
    def log_seconds(self) -> Array:
        """The logarithms of the seconds, those of a suggestion among them."""
        return self._log_seconds.view[:, 0]

    def refresh(self, history: Sequence[Evaluation]) -> None:
        """Take in what has been measured since the last call."""
        for evaluation in history[self._read :]:
            seconds = max(evaluation.seconds, 1e-3)
            if evaluation.look:
                self.in_looks += seconds + OVERHEAD
            else:
                self.in_full += seconds + OVERHEAD
            if evaluation.status == "timeout":
                self.limit = min(self.limit, seconds)
                seconds *= _CENSORED
            # How long a mistake takes to be noticed says nothing of those who make none.
            if evaluation.status in ("ok", "timeout"):
                self._encode(evaluation)
                # As if all rows had been used: models then learn how far from linear the time is.
                share = self.expected_share(evaluation.configuration, evaluation.fidelity)
                self._log_seconds.append(math.log(seconds / share + OVERHEAD))
        self._read = len(history)

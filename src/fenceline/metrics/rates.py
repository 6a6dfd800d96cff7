"""Error rates of hard decisions between two classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.errors import MeasurementError
from fenceline.metrics.metric import Parts, PipelineMetric
from fenceline.metrics.trial import Rows, Task, Trial


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRate(PipelineMetric):
    """Among the rows of one class, the share that is taken for the other."""

    truth: int
    """0: negatives taken for positives; 1: positives taken for negatives."""

    tasks: ClassVar[tuple[Task, ...]] = ("binary",)

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the rate."""
        events, cases = self._count(trial, at)
        return np.array([events / cases])

    def rates(self, trial: Trial) -> list[tuple[int, int]]:
        """Return the errors and the rows of the class."""
        return [self._count(trial, None)]

    def _count(self, trial: Trial, at: Rows | None) -> tuple[int, int]:
        at = np.arange(len(trial.rows)) if at is None else at
        cases = at[trial.target[at] == self.truth]
        if not cases.size:
            raise MeasurementError(f"{self.name}: no row has the class that it is about.")
        wrong = trial.answers.predict(cases) != self.truth
        return int(wrong.sum()), int(cases.size)


def false_positive_rate() -> ErrorRate:
    """Return the share of negatives predicted positive; the positive class is the last in order."""
    return ErrorRate("false_positive_rate", 0)


def false_negative_rate() -> ErrorRate:
    """Return the share of positives predicted negative; the positive class is the last in order."""
    return ErrorRate("false_negative_rate", 1)

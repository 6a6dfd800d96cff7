"""Error rates of hard decisions between two classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenceline.errors import MeasurementError
from fenceline.metrics.decisions import Floats, Sweep, confusion, rate
from fenceline.metrics.metric import Cases, Parts, PipelineMetric
from fenceline.metrics.trial import Rows, Task, Trial


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRate(PipelineMetric):
    """Among the rows of one class, the share that is taken for the other."""

    truth: int
    """0: negatives taken for positives; 1: positives taken for negatives."""

    tasks: ClassVar[tuple[Task, ...]] = ("binary",)

    @property
    def only_class(self) -> int:
        """The class that is taken for the other."""
        return self.truth

    @property
    def unit(self) -> bool:
        """A rate lies between 0 and 1."""
        return True

    @property
    def decides(self) -> bool:
        """Errors are wrong decisions."""
        return True

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the rate."""
        cases, wrong = self._errors(trial, at)
        return np.array([trial.share(wrong, cases)])

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows of the class, and its errors."""
        return [self._errors(trial, None)] if trial.weights is None else None

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep:
        """Return the rate at many thresholds."""
        n = confusion(trial, cuts)
        wrong, right = (n.fn, n.tp) if self.truth else (n.fp, n.tn)
        return Sweep(*rate(wrong, wrong + right))

    def _errors(self, trial: Trial, at: Rows | None) -> Cases:
        """Return the rows of the class, and which of them are taken for the other."""
        at = np.arange(len(trial.rows)) if at is None else at
        cases = at[trial.target[at] == self.truth]
        if not cases.size:
            raise MeasurementError(f"{self.name}: no row has the class that it is about.")
        return cases, trial.answers.predict(cases) != self.truth


def false_positive_rate() -> ErrorRate:
    """Return the share of negatives predicted positive; the positive class is the last in order."""
    return ErrorRate("false_positive_rate", 0)


def false_negative_rate() -> ErrorRate:
    """Return the share of positives predicted negative; the positive class is the last in order."""
    return ErrorRate("false_negative_rate", 1)

"""The end of patience: a search whose first pipelines all fail in the same way need not go on."""

from fenceline.errors import MeasurementError
from fenceline.evaluation.evaluator import Progress

FAILURES = 5
"""How many pipelines may fail with the same words before it is clear that it is not their fault."""


class Patience:
    """Ends a search at once when a metric always raises, say, instead of spending the whole budget."""

    def __init__(self) -> None:
        self._reasons: list[str] = []

    def __call__(self, progress: Progress) -> None:
        """Look at one of the first pipelines."""
        if len(self._reasons) == FAILURES:
            return
        evaluation = progress.evaluation
        # Time and memory may well be short for one pipeline after the other.
        self._reasons.append(evaluation.message if evaluation.status == "error" else "")
        if len(self._reasons) == FAILURES and len(set(self._reasons)) == 1 and self._reasons[0]:
            raise MeasurementError(
                f"The first {FAILURES} pipelines all failed with: {self._reasons[0].rstrip('.')}. Mend "
                "the metric, the data or the space, and search anew."
            )

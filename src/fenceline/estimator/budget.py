"""How the budget of a `fit` is divided: the search, the votes or the certificate, one pipeline."""

import math
import time
from dataclasses import dataclass
from typing import Any

from fenceline.certificate.inspection import allowance
from fenceline.evaluation import Limits

DEFAULT_SECONDS = 60.0
"""The budget when none is given."""
ENSEMBLE_SHARE = 0.25
"""How much of the budget is left to choose who votes, where pipelines may."""
RESERVED_SHARE = 0.15
"""The most of the budget that is reserved for the fits and tests of the certificate ..."""
RESERVED_SECONDS, RESERVED_PER_ROW = 2.0, 2e-4
"""... and how much of it a table of some rows needs: four pipelines on 8,000 rows took 1.5 s, and the controls one."""
VOTES_SHARE = 0.15
"""How much of the budget several fits of the model may take at its end, where such fits vote."""
LONGEST_SHARE, LONGEST_FLOOR, LONGEST_MOST = 0.25, 5.0, 0.5
"""How much of the search, but at least how many seconds, one pipeline may take to be measured; of a very
short search no more than the last ..."""
FOLDS_SHARE = 0.7
"""... and how much of that its folds: one may take longer than those before it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may spend, and when everything after it has to be done."""

    evaluations: int | None
    seconds: float | None
    """Of the search alone; None where evaluations alone decide."""
    deadline: float
    """Of :func:`time.monotonic`, when the certificate is to be done."""
    limits: Limits | None
    """The user's, or one that keeps a slow pipeline from using up the budget."""
    inspection: float
    """Seconds for a look at what the model does, after everything else."""
    reserved: float = 0.0
    """Seconds between the search and the deadline, for the votes or the certificate."""

    @classmethod
    def begin(cls, estimator: Any, *, certified_rows: int = 0) -> "Budget":
        """Start the clock.

        Parameters
        ----------
        estimator : FencelineEstimator
            Its settings.
        certified_rows : int
            How many rows there are where something is certified, else 0.
        """
        seconds, evaluations = estimator.seconds, estimator.evaluations
        if seconds is None and evaluations is None:
            seconds = DEFAULT_SECONDS
        if seconds is None:
            return cls(evaluations, None, math.inf, estimator.limits, allowance(None))
        inspection = allowance(seconds)
        # All but the inspection, which comes last.
        seconds -= inspection
        deadline = time.monotonic() + seconds
        # Time to choose who votes serves the certificate, too.
        left = ENSEMBLE_SHARE * seconds if estimator.ensemble else reserve(seconds, certified_rows)
        limits = estimator.limits
        if limits is None and isinstance(estimator.engine, str | None):  # others have their own
            searched = seconds - left
            floor = min(LONGEST_FLOOR, LONGEST_MOST * searched)
            limits = Limits(seconds=max(floor, LONGEST_SHARE * searched))
        return cls(evaluations, seconds - left, deadline, limits, inspection, left)

    @property
    def vote_seconds(self) -> float:
        """How long several fits of the best model may take."""
        return math.inf if self.seconds is None else VOTES_SHARE * self.seconds

    @property
    def fold_seconds(self) -> float | None:
        """How long folds of one pipeline may go on, so that it ends within its limit."""
        if self.limits is None or self.limits.seconds is None:
            return None
        return FOLDS_SHARE * self.limits.seconds


def reserve(seconds: float, rows: int) -> float:
    """Return the seconds that a search leaves for the fits and tests of a table with some rows."""
    if not rows:
        return 0.0
    return min(RESERVED_SHARE * seconds, RESERVED_SECONDS + RESERVED_PER_ROW * rows)

"""Rows with their scores, decided at thresholds of its own for each group."""

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from fenceline.metrics.decisions import Confusion, Floats, confusion
from fenceline.metrics.trial import Grouping, Rows, Trial


class ScoredRows(Trial):
    """What is left of a trial once its rows are scored, to be asked about many combinations of thresholds.

    The pipeline is not kept: metrics that are functions of counts need no more.

    Parameters
    ----------
    trial : Trial
        With a response.
    grouping : pair of str and tuple
        Name and bins of the groups that have thresholds of their own.
    cuts : sequence of array
        Of each group, its thresholds in the unit of the response, in growing order.
    """

    def __init__(self, trial: Trial, grouping: Grouping, cuts: Sequence[Floats]) -> None:
        super().__init__(None, trial.table, trial.rows)
        self.response = trial.response
        self.grids = cuts
        self.codes = self.grouping(*grouping)[1]
        self.positions: Rows = np.zeros((1, len(cuts)), dtype=np.intp)
        """Combinations to count at: of each, the place of every group's threshold."""

    def counts(self, group: Grouping | None) -> Confusion:
        """Count rows at each combination, all together or by group."""
        key = ("counts", group)
        if key not in self.memo:
            self.memo[key] = [self._own(code, group) for code in range(len(self.grids))]
        parts = [
            [getattr(own, cell)[self.positions[:, code]] for code, own in enumerate(self.memo[key])]
            for cell in ("tn", "fp", "fn", "tp")
        ]
        return Confusion(*(reduce(add, cell) for cell in parts))

    def _own(self, code: int, group: Grouping | None) -> Confusion:
        """Count the rows of one group at each of its thresholds."""
        at = np.flatnonzero(self.codes == code)
        own = Trial(None, self.table, self.rows[at])
        assert self.response is not None
        own.response = self.response[at]
        if self.weights is not None:
            # As many rows of equal weight as all groups together are worth.
            own.weights = self.weights[at]
        return confusion(own, self.grids[code], group, whole=self.weights)

"""One pipeline, fitted once without each fold; the fits vote.

What cross-validation has measured are the fits of the folds. Fitted once more on all rows, a pipeline is
another model: on five tables its differences between groups lay 1.0 to 1.3 standard errors from those of the
folds, those of the vote .7 to 1.0. So the vote is more nearly what the folds said of it, and passes a
test on unseen rows more often (docs/decisions/0024).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor

from fenceline.metrics.trial import Rows, Table, Trial
from fenceline.pipelines.cross_validation import CrossValidation, steps_of
from fenceline.pipelines.ensemble import can_vote, voting
from fenceline.pipelines.fitting.trees import told_by_held_out
from fenceline.pipelines.fitting.votes import fits_that_vote
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation


def fitting(
    measure: CrossValidation,
    table: Table,
    search: Rows,
    votes: bool | None,
    best: Evaluation | None = None,
) -> CrossValidation:
    """Return what fits finalists on the rows of a search: once, or several times with a vote each.

    Parameters
    ----------
    measure : CrossValidation
        What measured pipelines on the rows of the search alone.
    table : Table
        All rows.
    search : array of int
        Which of them the search had.
    votes : bool or None
        Whether the fits of the folds vote; None leaves it to the fence.
    best : Evaluation, optional
        The best of the search. Where nothing is bounded, there may be time to fit its model several times.
    """
    whole = replace(measure, table=table, sparing=measure.spared, pace=measure.paced)
    if votes is None:
        votes = votes_help(measure) and len(search) < len(table.y)
        if best is not None and not votes:
            return replace(whole, votes=measure.votes_after(best))
    if not votes:
        return whole
    same = {f.name: getattr(whole, f.name) for f in fields(whole) if f.init}
    return FoldVotes(**same, search=search, fits=[search[train] for train, _ in measure.splits])


def votes_help(measure: CrossValidation) -> bool:
    """Tell whether a test of the fence gains from votes, and no bound loses by them.

    With bounds on rates alone, one fit was better: in 14 of 25 searches, and by .007 on average.
    """
    bounded = [measure.metrics[constraint.metric] for constraint in measure.constraints]
    return (
        isinstance(measure.folds, int)
        and any(metric.contrast in ("gap", "ratio") for metric in bounded)
        and not any(metric.resource for metric in bounded)
    )


def votes_are_free(measure: CrossValidation) -> bool:
    """Tell whether nothing stands against several fits of the model: no bound, and no threshold of one fit.

    The threshold that folds compute is one for scores of a single fit; those of a mean are milder.
    """
    objective = measure.objective
    decides = objective is not None and measure.metrics[objective].decides
    resource = any(metric.resource for metric in measure.metrics.values())
    return isinstance(measure.folds, int) and not (measure.constraints or decides or resource)


@dataclass(frozen=True)
class FoldVotes(CrossValidation):
    """Fits a pipeline on the rows of every fold of a search instead of once on all of them."""

    search: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False)
    """All rows that the fits may see."""
    fits: Sequence[Rows] = field(default=(), repr=False)
    """The rows of each fit."""

    def trial(
        self,
        configuration: Configuration,
        train: Rows,
        valid: Rows,
        trees: float | None = None,
        *,
        held_out: bool = False,
    ) -> Trial:
        """Fit a configuration once for each fold of the search; once, if such fits have no vote.

        On other rows than those of the search it is fitted once, too: the fits of the folds may have
        seen what they are to be measured on.
        """
        if not np.array_equal(train, self.search):
            return super().trial(configuration, train, valid, trees, held_out=held_out)
        # As they were measured: each finds out for itself when to stop, unless the rest of its fold told it.
        own = trees if told_by_held_out(steps_of(configuration)) else None
        trials = [
            super(FoldVotes, self).trial(configuration, rows, valid, own) for rows in self.fits
        ]
        if not all(map(can_vote, trials)):
            return super().trial(configuration, train, valid, trees)
        return voting(trials, [1] * len(trials), (configuration,))

    def seconds_of_fit(self, seconds: float, folds: float | None) -> float:
        """Return how long all fits together are likely to take, by the seconds of some folds."""
        return seconds / (folds or 1) * len(self.fits)


def voters(pipeline: Any) -> int:
    """Return how many fits vote in a model: whole pipelines, or models in the last step; 1 where none do."""
    model = getattr(pipeline, "estimator_", getattr(pipeline, "estimator", pipeline))
    if isinstance(model, VotingClassifier | VotingRegressor):
        return len(model.estimators_)
    return fits_that_vote(pipeline)

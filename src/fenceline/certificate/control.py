"""A control: a plain booster that shares its luck on unseen rows with whatever is tested there.

Rows that happen to be easy are easy for every model. How lucky the unseen rows are with a booster
that was chosen without looking is told by the rows of the search, out of fold; as much of it as a
tested pipeline shares, row by row, is taken out of its value, and out of its error. So a certificate
has the rows of the search on its side, too, though the pipeline was chosen and fitted on them: the
booster was not. (A control variate, as in CUPED, https://doi.org/10.1145/2433396.2433413; errors of
folds as in Bayle and others 2020, https://arxiv.org/abs/2007.12671; docs/decisions/0034.)
"""

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fenceline.certificate.parts import Part, parts_of
from fenceline.errors import MeasurementError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.thresholds import choosing, decided
from fenceline.pipelines.folds import cut
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.threads import one_thread

FOLDS = 3
MOST_ROWS = 10_000
"""To fit on: a control need not be strong, and is to take no time."""
SHARED = 0.6
"""Of the variance of a rate or an AUROC on the same rows, how much a tested pipeline and the control usually share: half to four fifths."""
_BOOSTER = Space([Module("estimator", [Algorithm("HistGradientBoosting")])]).initial


def error_left(searched: int, unseen: int) -> float:
    """Return which share of the error of a test on unseen rows a control is likely to leave."""
    return math.sqrt(1 - SHARED * searched / (searched + unseen))


@dataclass(frozen=True)
class Control:
    """Models of the folds of the search, on rows that none of them was fitted on."""

    searched: Sequence[Trial]
    """Each on the rows of its own fold."""
    unseen: Sequence[Trial]
    """Each on all unseen rows."""

    @classmethod
    def fit(
        cls, measure: CrossValidation, search: Rows, unseen: Rows, until: float
    ) -> "Control | None":
        """Fit a booster in folds of the search, as many as there is time for; None if there is none.

        Parameters
        ----------
        measure : CrossValidation
            On the whole table.
        search, unseen : array of int
            The rows to fit on, and those to certify on, which have to be like them.
        until : float
            Of :func:`time.monotonic`: no fold is begun that is likely to end later.
        """
        measure = replace(measure, votes=1)
        table = replace(measure.table, X=np.empty((len(measure.table.y), 0)))  # none is looked at
        metrics, seed = measure.metrics.values(), measure.random_state
        folds = cut(table.take(search), metrics, FOLDS, seed)
        rng = np.random.default_rng(seed)
        searched: list[Trial] = []
        longest = 0.0
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            for train, valid in folds:
                began = time.monotonic()
                if began + longest > until:
                    break
                if len(train) > MOST_ROWS:
                    train = rng.choice(train, MOST_ROWS, replace=False)
                searched.append(measure.trial(_BOOSTER, search[train], search[valid]))
                longest = max(longest, time.monotonic() - began)
        on_unseen = [Trial(trial.pipeline, trial.table, unseen) for trial in searched]
        return cls(searched, on_unseen) if searched else None

    @property
    def rows(self) -> int:
        """How many rows of the search tell of luck."""
        return sum(len(trial.rows) for trial in self.searched)

    def without_its_luck(
        self, metric: PipelineMetric, trial: Trial, parts: list[Part]
    ) -> list[Part]:
        """Return the parts of a metric of a trial on the unseen rows, without the luck shared with the control.

        Where the metric is about decisions the control chooses as many of the unseen rows.
        """
        places: list[float | None] = [None] * len(self.unseen)
        if metric.decides and trial.table.task == "binary":
            share = float(np.mean(trial.answers.predict(np.arange(len(trial.rows))) == 1))
            places = [choosing(one, share) for one in self.unseen]
        try:
            seen, learnt = (
                [_parts(metric, one, place) for one, place in zip(some, places, strict=True)]
                for some in (self.unseen, self.searched)
            )
        except MeasurementError:
            return parts  # a fold may lack what the metric is about
        same = zip(parts, zip(*seen, strict=True), zip(*learnt, strict=True), strict=True)
        return [part.less_common(there, here) for part, there, here in same]


def _parts(metric: PipelineMetric, trial: Trial, place: float | None) -> list[Part]:
    """Return the parts of a metric of a model that decides at some log-odds, or as it is."""
    if place is not None and trial.response is not None:
        trial = decided(trial, place)
    found = parts_of(metric, trial)
    if found is None:
        raise MeasurementError(f"{metric.name} has no parts here.")
    return found

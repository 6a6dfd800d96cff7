"""Controls: plain models that share their luck on unseen rows with whatever is tested there.

Rows that happen to be easy are easy for every model. How lucky the unseen rows are with models that
were chosen without looking is told by the rows of the search, out of fold; as much of it as a tested
pipeline shares, row by row, is taken out of its value, and out of its error. So a certificate has the
rows of the search on its side, too, though the pipeline was chosen and fitted on them: the controls
were not. (Control variates, as in CUPED, https://doi.org/10.1145/2433396.2433413; errors of folds as in
Bayle and others 2020, https://arxiv.org/abs/2007.12671; docs/decisions/0034 and 0037.)
"""

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fenceline.certificate.parts import Part, Shared, parts_of
from fenceline.errors import MeasurementError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.group_thresholds import decided_by_group
from fenceline.pipelines.fitting.thresholds import choosing, decided
from fenceline.pipelines.folds import cut
from fenceline.problem.configuration import Configuration
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.threads import one_thread

KINDS = ("HistGradientBoosting", "LightGBM", "LogisticRegression", "ExtraTrees")
"""What is fitted, in the order in which time is spent on it.

On fifteen tuning searches with bounds on gaps, a test's error fell to .80 with the first alone, to .75 with logistic regression
beside it, to .735 with LightGBM, to .72 with extra trees. A second booster whose rows are reweighed added nothing to all four."""
FOLDS = 3
MOST_ROWS = 10_000
"""To fit on: a control need not be strong, and is to take no time."""
SHARED = 0.7
"""Of the variance of a rate or an AUROC on the same rows, how much a tested pipeline and the controls usually share."""


def error_left(searched: int, unseen: int) -> float:
    """Return which share of the error of a test on unseen rows controls are likely to leave."""
    return math.sqrt(1 - SHARED * searched / (searched + unseen))


@dataclass(frozen=True)
class Control:
    """Models of one kind, one for each fold of the search, on rows that none of them was fitted on."""

    searched: Sequence[Trial]
    """Each on the rows of its own fold."""
    unseen: Sequence[Trial]
    """Each on all unseen rows."""

    def like(self, metric: PipelineMetric, trial: Trial) -> "Control":
        """Return the control as it is, or where a metric is about decisions one that chooses as many rows as a trial.

        Of each group as many, where groups are compared: a pipeline whose groups count differently in
        fitting shares its luck with a control that chooses as it does.
        """
        if not metric.decides or trial.table.task != "binary":
            return self
        chosen = trial.answers.predict(np.arange(len(trial.rows))) == 1
        pairs = zip(self.searched, self.unseen, strict=True)
        found = [_choosing_like(chosen, metric, *pair) for pair in pairs]
        return Control([one for one, _ in found], [other for _, other in found])

    def parts(self, metric: PipelineMetric) -> list[Shared]:
        """Return what the models say of each part of a metric."""
        seen = [_parts(metric, trial) for trial in self.unseen]
        learnt = [_in_table(trial, _parts(metric, trial)) for trial in self.searched]
        both = zip(zip(*seen, strict=True), zip(*learnt, strict=True), strict=True)
        return [Shared(there, here) for there, here in both]


@dataclass(frozen=True)
class Controls:
    """Models of several kinds, in the order in which they count where rows are too few for all."""

    kinds: Sequence[Control]

    @classmethod
    def fit(
        cls, measure: CrossValidation, search: Rows, unseen: Rows, until: float
    ) -> "Controls | None":
        """Fit models in folds of the search, as many as there is time for; None if there is none.

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
        folds = cut(table.take(search), measure.metrics.values(), FOLDS, measure.random_state)
        rng = np.random.default_rng(measure.random_state)
        folds = [
            (
                np.sort(rng.choice(search[train], min(len(train), MOST_ROWS), replace=False)),
                search[valid],
            )
            for train, valid in folds
        ]
        kinds: list[Control] = []
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            for kind in KINDS:
                fitted = _fitted(measure, kind, folds, until)
                # All but the first are of use only where they know the same rows.
                if len(fitted) < (len(folds) if kinds else 1):
                    continue
                there = [Trial(trial.pipeline, trial.table, unseen) for trial in fitted]
                kinds.append(Control(fitted, there))
        return cls(kinds) if kinds else None

    @property
    def rows(self) -> int:
        """How many rows of the search tell of luck."""
        return sum(len(trial.rows) for trial in self.kinds[0].searched)

    def without_their_luck(
        self, metric: PipelineMetric, trial: Trial, parts: list[Part]
    ) -> list[Part]:
        """Return the parts of a metric of a trial on the unseen rows, without the luck shared with the controls."""
        try:
            known = [control.like(metric, trial).parts(metric) for control in self.kinds]
        except MeasurementError:
            return parts  # a fold may lack what the metric is about
        return [part.less_common(shared) for part, *shared in zip(parts, *known, strict=True)]


def _fitted(
    measure: CrossValidation, kind: str, folds: Sequence[tuple[Rows, Rows]], until: float
) -> list[Trial]:
    """Return models of one kind, each on the rows of its fold; none if the table is nothing for it."""
    alone: Configuration = Space([Module("estimator", [Algorithm(kind)])]).initial
    found: list[Trial] = []
    longest = 0.0
    for train, valid in folds:
        began = time.monotonic()
        if began + longest > until:
            break
        try:
            trial = measure.trial(alone, train, valid)
            _ = trial.response  # asked for here, so that the clock counts it
        except Exception:
            return []
        found.append(trial)
        longest = max(longest, time.monotonic() - began)
    return found


def _choosing_like(
    chosen: NDArray[np.bool_], metric: PipelineMetric, searched: Trial, unseen: Trial
) -> tuple[Trial, Trial]:
    """Return a model's trials where it decides so that as many unseen rows are chosen, in each group that is compared."""
    if unseen.response is None:
        return searched, unseen
    if metric.groupings:
        grouping = metric.groupings[0]
        codes = unseen.grouping(*grouping)[1]
        groups = [np.flatnonzero(codes == i) for i in range(codes.max() + 1)]
        places = [choosing(unseen, float(np.mean(chosen[at])), at) for at in groups if at.size]
        known = tuple(place for place in places if place is not None)
        if len(known) == len(searched.grouping(*grouping)[0]):
            return decided_by_group(searched, known, grouping), decided_by_group(
                unseen, known, grouping
            )
    place = choosing(unseen, float(np.mean(chosen)))
    if place is None:
        return searched, unseen
    return decided(searched, place), decided(unseen, place)


def _parts(metric: PipelineMetric, trial: Trial) -> list[Part]:
    found = parts_of(metric, trial)
    if found is None:
        raise MeasurementError(f"{metric.name} has no parts here.")
    return found


def _in_table(trial: Trial, parts: list[Part]) -> list[Part]:
    """Return parts that name the rows of the table, for models of different folds know different ones."""
    return [replace(part, rows=trial.rows[part.rows]) for part in parts]

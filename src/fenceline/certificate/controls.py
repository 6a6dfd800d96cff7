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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fenceline.certificate.parts import Part, Shared, parts_of
from fenceline.errors import MeasurementError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Trial, take
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.group_thresholds import decided_by_group
from fenceline.pipelines.fitting.thresholds import choosing, decided
from fenceline.pipelines.folds import cut
from fenceline.problem.configuration import Choice, Configuration, FrozenParams
from fenceline.problem.parameter import Value
from fenceline.threads import one_thread


def _alone(algorithm: str, params: Mapping[str, Value], scaler: str = "none") -> Configuration:
    steps = ("scaler", Choice(scaler)), ("estimator", Choice(algorithm, FrozenParams(params)))
    return Configuration(steps)


_TREES: Mapping[str, Value] = {"n_estimators": 100, "learning_rate": 0.1, "early_stopping": False}
_PARTS: Mapping[str, Value] = {"subsample": 0.7, "colsample_bytree": 0.7}
KINDS = (
    _alone("LightGBM", {**_TREES, "num_leaves": 15}),
    _alone("LogisticRegression", {}, "StandardScaler"),
    _alone("ExtraTrees", {"n_estimators": 40, "min_samples_leaf": 5}),
    _alone("LightGBM", {**_TREES, **_PARTS, "num_leaves": 31}),
)
"""What is fitted; those that come first count where rows are too few for all. Each takes a tenth of a second for 5,000 rows.

On fifteen tuning searches with bounds on gaps, a test's error fell to .80 with a booster alone, to .75 with logistic regression
beside it, to .72 with a second booster and extra trees. A booster whose rows are reweighed added nothing to these (docs/decisions/0037)."""
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

    searched: list[Trial]
    """Each on the rows of its own fold."""
    unseen: list[Trial]
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
        rng = np.random.default_rng(measure.random_state)
        kinds = {kind: Control([], []) for kind in KINDS}
        longest = 0.0
        with warnings.catch_warnings(), one_thread(None):
            warnings.simplefilter("ignore")
            for train, valid in cut(
                table.take(search), measure.metrics.values(), FOLDS, measure.random_state
            ):
                began = time.monotonic()
                if began + longest > until:
                    break
                if len(train) > MOST_ROWS:
                    train = rng.choice(train, MOST_ROWS, replace=False)
                for kind in [*kinds]:
                    try:
                        both = _fitted(measure, kind, search[train], search[valid], unseen)
                    except Exception:
                        del kinds[kind]  # the table is nothing for it
                        continue
                    kinds[kind].searched.append(both[0])
                    kinds[kind].unseen.append(both[1])
                longest = max(longest, time.monotonic() - began)
        found = [control for control in kinds.values() if control.searched]
        return cls(found) if found else None

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
    measure: CrossValidation, kind: Configuration, train: Rows, valid: Rows, unseen: Rows
) -> tuple[Trial, Trial]:
    """Return a model on the rows of its fold and on unseen ones, which are prepared together."""
    rows = np.concatenate([valid, unseen])
    both = measure.trial(kind, train, rows)
    here, there = np.split(np.arange(len(rows)), [len(valid)])
    return _at(both, here), _at(both, there)


def _at(trial: Trial, places: Rows) -> Trial:
    """Return a trial on some of its rows."""
    reached = None if trial.reached is None else take(trial.reached, places)
    part = Trial(trial.pipeline, trial.table, trial.rows[places], reached=reached)
    _ = part.response  # asked for here, so that the clock counts it
    return part


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
            pair = [decided_by_group(one, known, grouping) for one in (searched, unseen)]
            return pair[0], pair[1]
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

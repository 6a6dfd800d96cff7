"""Cross-validated measurement of one configuration: what a run calls for every pipeline."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError, MeasurementError
from fenceline.evaluation.incumbent import Incumbent
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Grouping, Rows, Table, Trial
from fenceline.pipelines.fit_time import Pace, growth
from fenceline.pipelines.fitting.group_weights import compared, emphasised, split_emphasis
from fenceline.pipelines.fitting.prefix import Fold, Prefixes, fit_fold
from fenceline.pipelines.fitting.thresholds import split_threshold
from fenceline.pipelines.fitting.votes import FEWEST, PARTS, gains_by_votes
from fenceline.pipelines.fold_checks import Folds, check_folds, check_group_sizes
from fenceline.pipelines.fold_readings import THRESHOLD, FoldReadings
from fenceline.pipelines.folds import cut, strata
from fenceline.pipelines.spaces.operators import Setting
from fenceline.pipelines.subsets import MOST_VALIDATION_ROWS, shares, subset
from fenceline.problem.configuration import Choice, Configuration
from fenceline.problem.constraint import Constraint
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.measurement import Measurement
from fenceline.threads import one_thread

CACHE_MEGABYTES = 256.0
"""Half of what a guarded child may grow by before it is replaced, and all that it keeps with it."""

SPARING_ROWS = 3_000
"""From so many rows to fit on, models may keep some aside to know when to stop ..."""
FEWEST_OF_A_CLASS = 20
"""... if there are so many of each class: a tenth of them is more than one."""


FIT_SHARE = 0.75
"""Of the seconds of all folds, how many one fit may take before it has to do with fewer trees."""
SINGLE_SHARE = 0.5
"""Of these seconds, how many are enough where rows are many and nothing is bounded: one fold tells pipelines apart."""


class Sparing(NamedTuple):
    """Whether models keep rows aside to know when to stop."""

    many: bool
    """Rows are so many that they do, unless told otherwise."""
    rare: bool
    """A class has so few that they never do."""


@dataclass(frozen=True)
class CrossValidation:
    """Measures every metric of a configuration by cross-validation, cheap constraints first.

    Called with a configuration it returns a :class:`Measurement`: the value of every metric, with
    its standard error and its value in each fold among the ``spreads``; the error of a time is
    among the ``errors``, too, because measuring again can make it smaller. Beside the metrics there
    are ``folds`` (how many were measured), ``warnings`` (how many were raised) and, of a booster that
    stops early, ``stopped_after`` (its trees, on average). Where two
    classes are decided about, ``threshold`` is the best threshold inside the fence, computed from the
    scores of the folds; all values are those at it, and ``details`` holds the curve over thresholds
    (:class:`ThresholdCurve`). A pipeline
    that surely breaks a constraint on time, size or memory, or cannot beat the best one so far and
    does not keep farther inside a bound on a score, stops after the first folds, and what those
    showed is its measurement: never a value below the best. A pipeline that fails raises; a run
    records the reason.

    Parameters
    ----------
    table : Table
        The rows of the search.
    metrics : mapping of str to PipelineMetric
        What to measure, by name.
    constraints : sequence of Constraint
        What may end a measurement early.
    preparation : transformer
        What makes the table numeric; fitted anew within every fold.
    folds : int, float or list of pairs
        A number of folds, or the share of rows held out once. The same for every pipeline, and
        stratified by class, and by group as far as groups are large enough. Or the folds
        themselves: rows to fit on and rows to measure on.
    random_state : int
        Of the folds and of every pipeline.
    cache_megabytes : float
        Memory, in each process, for fitted first steps that pipelines share; 0 shares nothing.
        Measurements do not depend on it, only the time they take.
    objective : str, optional
        The metric by which the decision threshold between two classes is chosen where metrics depend
        on it; if the objective itself does not, the balanced accuracy chooses. By default, and for
        configurations with a threshold of their own, none is computed.
    threshold_group : pair of str and tuple, optional
        Name and bins of the groups that have decision thresholds of their own.
    fold_seconds : float, optional
        No fold is begun that is likely to end after so many seconds: what the folds before it showed
        is the measurement. So a slow pipeline on many rows is known by one fold, not by a timeout.
    fits_after : int
        How many times the best pipeline is fitted after the search, within the same seconds: never,
        once on all rows, or once without each fold.
    vote_seconds : float
        How long several fits of one model may take, where such fits vote in what is delivered.
    votes : int
        How many fits of the model vote in a pipeline, if it gains by that.
    weighted_groups : tuple of pairs, optional
        Names and bins of the groups, crossed with each other, whose rows may count differently in
        fitting; by default those that the metrics compare.
    directions : tuple of int, optional
        For each column 1, -1 or 0: whether the model's last class, or number, must grow or fall with it.
    sparing : Sparing, optional
        Whether models keep rows aside to know when to stop: by default as the rows of a fold say. A
        model that is fitted on more rows than were measured stops as it did when it was measured.
    pace : Pace, optional
        How long a model that grows by trees may take, before it has to do with fewer: by default as
        `fold_seconds` allow.
    """

    # Not in the repr: messages would print the data.
    table: Table = field(repr=False)
    metrics: Mapping[str, PipelineMetric]
    constraints: Sequence[Constraint] = ()
    preparation: Any = None
    folds: Folds = 3
    random_state: int = 0
    cache_megabytes: float = field(default=CACHE_MEGABYTES, compare=False)
    objective: str | None = None
    weighted_groups: tuple[Grouping, ...] | None = None
    directions: tuple[int, ...] = ()
    threshold_group: Grouping | None = None
    fold_seconds: float | None = field(default=None, repr=False)
    fits_after: int = field(default=0, repr=False)
    vote_seconds: float = field(default=0.0, repr=False)
    votes: int = field(default=1, repr=False)
    sparing: Sparing | None = field(default=None, repr=False)
    pace: Pace | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, metric in self.metrics.items():
            if self.table.task not in metric.tasks:
                raise DefinitionError(
                    f"{name} is for tasks that are {' or '.join(metric.tasks)}; this one is {self.table.task}."
                )
        check_folds(self.folds)
        if not self.cache_megabytes >= 0:
            raise DefinitionError(
                f"cache_megabytes must be 0 or more. Got {self.cache_megabytes!r}."
            )
        for metric in self.metrics.values():
            check_group_sizes(self.table, metric, self._parts)
        if self.objective is not None and THRESHOLD in self.metrics:
            raise DefinitionError(
                f"A metric cannot be called {THRESHOLD!r}, for that is the computed threshold; "
                "rename it, or keep to even odds."
            )

    def __call__(
        self,
        configuration: Configuration,
        fidelity: float = 1.0,
        incumbent: Incumbent | None = None,
    ) -> Measurement:
        """Measure one configuration.

        Parameters
        ----------
        configuration : Configuration
            Of a space whose algorithms the catalogue knows.
        fidelity : float
            The share of the training rows to fit on, in (0, 1]. Below 1 it is a look: one fold, and
            not all of its rows to measure on either.
        incumbent : Incumbent, optional
            The best pipeline so far, measured by the same folds: what cannot beat it stops early.
        """
        searched = self.threshold(configuration) is not None
        folds = FoldReadings(
            self.metrics,
            self.constraints,
            None if searched else self.objective,
            self.threshold_group,
        )
        began, splits = time.monotonic(), self.splits if fidelity == 1 else [self._part(fidelity)]
        with one_thread(None), warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            for done, (train, valid) in enumerate(splits, 1):
                folds.read(self.fold(configuration, train, valid), incumbent)
                if folds.enough(incumbent) or self._late(began, done):
                    break
        return folds.summary(incumbent, warnings=float(len(raised)))

    @property
    def fidelities(self) -> tuple[float, ...]:
        """The shares of the training rows that are worth a cheap look; none where rows are few."""
        return shares(len(self._looked_at[0]), self._balance)

    @property
    def parts(self) -> int:
        """How many times longer a pipeline may take in all than in the least that measures it."""
        return 1 if self.fold_seconds is None else len(self.splits)

    def growth(self, configuration: Configuration) -> float:
        """Return the power of the rows with which the seconds of a configuration grow."""
        return growth(steps_of(configuration))

    def seconds_after(self, best: Evaluation) -> float:
        """Return what the last fit is likely to take, on all rows, if the best pipeline has one."""
        folds = best.metrics.get("folds")
        if self.fits_after > 1:
            return self.fits_after * best.seconds / (folds or 1)
        one = self.seconds_of_fit(best.seconds, folds) if self.fits_after else 0.0
        return one * self.votes_after(best)

    def votes_after(self, best: Evaluation) -> int:
        """Return how many fits of the best pipeline's model there is time for; 1 where one is as good."""
        if not self.vote_seconds or not self._gains_by_votes(best.configuration):
            return 1
        one = self.seconds_of_fit(best.seconds, best.metrics.get("folds"))
        votes = PARTS if PARTS * one <= self.vote_seconds else int(self.vote_seconds / one)
        return votes if votes >= FEWEST else 1

    def seconds_of_fit(self, seconds: float, folds: float | None) -> float:
        """Return how long the fit on all rows is likely to take, by the seconds of some folds."""
        whole = self.folds if isinstance(self.folds, int) else 2
        return self.votes * seconds / (folds or 1) * whole / (whole - 1)

    @cached_property
    def splits(self) -> list[tuple[Rows, Rows]]:
        """The rows to fit on and the rows to measure on, fold by fold."""
        return cut(self.table, self.metrics.values(), self.folds, self.random_state)

    def fold(self, configuration: Configuration, train: Rows, valid: Rows) -> Trial:
        """Fit a configuration in a fold, whose other rows tell boosters that stop by such when to do so."""
        return self.trial(configuration, train, valid, held_out=True)

    def trial(
        self,
        configuration: Configuration,
        train: Rows,
        valid: Rows,
        trees: float | None = None,
        *,
        held_out: bool = False,
    ) -> Trial:
        """Fit a configuration on some rows, to be measured on others.

        Parameters
        ----------
        configuration : Configuration
            What to fit.
        train, valid : array of int
            The rows to fit on and the rows to measure on.
        trees : float, optional
            How many trees the folds had, where they stopped by themselves or had no time for more.
        held_out : bool
            Whether the rows to measure on may tell a booster when to stop; never those that certify.
        """
        table, sparing = self.table, self.spared
        rare = sparing.rare or self._rare_class(train)
        setting = Setting(
            table.task,
            len(train),
            table.X.shape[1],
            random_state=self.random_state,
            positive=None if table.task == "regression" else table.classes[-1],
            directions=self.directions,
            spare_rows=sparing.many and not rare,
            rare_class=rare,
            trees=trees,
            seconds=None if self.paced is None else self.paced.at(len(train)),
            outputs=len(table.classes) if table.task == "multiclass" else 1,
            votes=self.votes if self._gains_by_votes(configuration) else 1,
            held_out=held_out and trees is None and len(valid) > 0,
        )
        weights = None if table.weights is None else table.weights[train]
        fold = Fold(table.X, table.y[train], setting, self.preparation, weights, train, valid)
        if setting.held_out:
            told = None if table.weights is None else table.weights[valid]
            fold = replace(fold, held_out_y=table.y[valid], held_out_weights=told)
        steps, emphasis = split_emphasis(configuration)
        groups = self.weighted_groups
        if groups is None:
            groups = compared(table, self.metrics.values())
        if emphasis is not None and groups:
            fold = replace(
                fold,
                model_weights=emphasised(emphasis, table, train, groups),
                held_out_weights=emphasised(emphasis, table, valid, groups)
                if setting.held_out
                else None,
            )
        pipeline, fitted = fit_fold(steps, fold, self.prefixes)
        return Trial(pipeline, table, valid, fitted.seconds, fitted.valid, trees=fitted.trees)

    def threshold(self, configuration: Configuration) -> float | None:
        """Return the log-odds of the threshold that a configuration has of its own, if it has one."""
        return split_threshold(configuration)[1]

    @cached_property
    def prefixes(self) -> Prefixes:
        """First steps that pipelines share; every process has its own."""
        return Prefixes(self.cache_megabytes)

    @cached_property
    def paced(self) -> Pace | None:
        """How long a fit may take: the same for looks, folds and voters; None where that is not limited."""
        if self.pace is not None or self.fold_seconds is None:
            return self.pace
        return Pace(FIT_SHARE * self.fold_seconds, len(self._looked_at[0]))

    @cached_property
    def spared(self) -> Sparing:
        """Whether models keep rows aside: the same in looks, in folds and in the last fit."""
        if self.sparing is not None:
            return self.sparing
        train = self._looked_at[0]
        return Sparing(len(train) >= SPARING_ROWS, self._rare_class(train))

    def _rare_class(self, train: Rows) -> bool:
        """Tell whether a class has too few rows to keep some aside."""
        if self.table.task == "regression":
            return False
        sizes = np.bincount(self.table.target[train])
        return int(sizes[sizes > 0].min()) < FEWEST_OF_A_CLASS

    def _late(self, began: float, done: int) -> bool:
        """Tell whether one more fold like those that are done would take too long."""
        if self.fold_seconds is None:
            return False
        share = SINGLE_SHARE if self.fidelities and not self.constraints else 1.0
        return (time.monotonic() - began) * (1 + 1 / done) > share * self.fold_seconds

    def _gains_by_votes(self, configuration: Mapping[str, Choice]) -> bool:
        return gains_by_votes(steps_of(configuration), self.table.task)

    def _part(self, fidelity: float) -> tuple[Rows, Rows]:
        """Return the rows of a look: a share of one fold's, both to fit and to measure on."""
        train, valid = self._looked_at
        cells = self._cells
        most = min(1.0, MOST_VALIDATION_ROWS / len(valid))
        return (
            subset(train, fidelity, None if cells is None else cells[train]),
            subset(valid, most, None if cells is None else cells[valid]),
        )

    @property
    def _balance(self) -> float:
        """What a row tells of two classes beside one where they are even: the variance of the target."""
        if self.table.task != "binary":
            return 1.0
        rare = float(np.mean(self.table.target))
        return 4 * rare * (1 - rare)

    @property
    def _looked_at(self) -> tuple[Rows, Rows]:
        """The fold of a look: the first, or of given folds the largest, for those of a time series grow."""
        if isinstance(self.folds, int | float):
            return self.splits[0]
        return max(self.splits, key=lambda fold: len(fold[0]))

    @cached_property
    def _cells(self) -> NDArray[np.intp] | None:
        """The class crossed with groups of every row; None in regression."""
        if self.table.task == "regression":
            return None
        return strata(self.table, self.metrics.values(), self._parts)

    @property
    def _parts(self) -> int:
        """How many parts the rows are cut into."""
        return self.folds if isinstance(self.folds, int) else 2


def steps_of(configuration: Mapping[str, Choice]) -> Mapping[str, Choice]:
    """Return the choices that are steps of a pipeline: neither weights of groups nor a threshold."""
    return split_threshold(split_emphasis(configuration)[0])[0]


@dataclass(frozen=True)
class Finished:
    """Stands in a result for what measured it: the data of the search are not kept with a model."""

    metrics: tuple[str, ...]

    delivered_elsewhere: ClassVar[bool] = True
    """The model that came out of the search need not be the best of it."""

    def __call__(self, configuration: Configuration) -> Mapping[str, float]:
        """Refuse to measure."""
        raise MeasurementError("The data of this search are gone; fit again to measure more.")

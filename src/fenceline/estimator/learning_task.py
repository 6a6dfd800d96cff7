"""What an estimator is asked for, checked as a whole and put in the terms of a problem."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenceline.errors import DefinitionError, SpaceError
from fenceline.estimator import row_checks
from fenceline.estimator import validation as check
from fenceline.estimator.budget import Budget
from fenceline.estimator.fence import fence, objective_metric
from fenceline.estimator.second_table import Given
from fenceline.metrics.custom import Custom
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.monotone import monotone_constraint
from fenceline.metrics.ranges import check_bound
from fenceline.metrics.resources import warn_of_single_rows
from fenceline.metrics.scorer_traits import for_numbers
from fenceline.metrics.scores import Loss, Robustness
from fenceline.metrics.trial import Grouping, Rows, Table, Task, reversed_order, take
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting import encoders
from fenceline.pipelines.fitting import group_weights as emphasis
from fenceline.pipelines.fitting.group_thresholds import UNLAWFUL
from fenceline.pipelines.fitting.monotone import monotone_only
from fenceline.pipelines.fitting.prepare import (
    has_categories,
    preparation,
    warn_of_empty_columns,
)
from fenceline.pipelines.fitting.thresholds import MODULE, THRESHOLD, searches_threshold
from fenceline.pipelines.fitting.weights import check_weighable, weighable_only
from fenceline.pipelines.fold_checks import Folds
from fenceline.pipelines.fold_votes import votes_are_free
from fenceline.pipelines.spaces.catalogue import named_space
from fenceline.pipelines.spaces.operators import Setting, make_middle
from fenceline.pipelines.splitting import Splitting
from fenceline.pipelines.starts.portfolio import expected, starts
from fenceline.problem.configuration import Configuration
from fenceline.problem.constraint import Constraint, check_consistent
from fenceline.problem.problem import Problem
from fenceline.problem.space import Space
from fenceline.problem.template import SHAPE

FITTED = 0.6
"""Share of the rows, about, that a pipeline is fitted on in a fold."""
_TWO_CLASSES = {
    "average_precision": "roc_auc_ovr",
    "f1": "f1_macro",
    "jaccard": "jaccard_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "roc_auc": "roc_auc_ovr",
}
"""Scores of two classes, and what comes nearest to them with more."""


@dataclass(frozen=True, kw_only=True)
class LearningTask:
    """A table, a space of pipelines, and what they are judged by."""

    table: Table
    space: Space
    objective: str
    constraints: list[Constraint]
    metrics: dict[str, PipelineMetric]
    folds: Folds | Splitting
    computes_threshold: bool
    """Whether each measurement is to compute the threshold between two classes."""
    weighted_groups: tuple[Grouping, ...]
    """The groups whose rows may count differently in fitting."""
    threshold_group: Grouping | None
    """The groups that have decision thresholds of their own, where that was asked for."""
    unseen: float | Rows | None
    """The share of rows to certify on, or the rows themselves, where that was asked for."""
    seed: int
    """For all that is random."""
    starts: tuple[Configuration, ...] = ()
    """Pipelines with which a search begins."""
    expected: tuple[tuple[Configuration, float], ...] = ()
    """What was good on other tables, and how good."""
    directions: tuple[int, ...] = ()
    """For each column, whether the model's own last class, or number, must grow or fall with it."""

    @property
    def draws_unseen(self) -> bool:
        """Whether the rows to certify on are drawn at random, and so are like those of the search."""
        apart = isinstance(self.folds, Splitting) and self.folds.keeps_apart
        return not apart and not isinstance(self.unseen, np.ndarray)

    def measure(
        self, search: Rows, budget: Budget | None = None, *, votes: bool | None = False
    ) -> CrossValidation:
        """Return what measures pipelines on some of the rows, or say that these are too few.

        Parameters
        ----------
        search : array of int
            The rows.
        budget : Budget, optional
            What a search may spend.
        votes : bool or None
            Whether the best pipeline will be fitted once without each fold; None leaves it to the
            fence whether fits vote.
        """
        row_checks.check_groups_among(self.table, search, self.metrics.values())
        table = self.table.take(search)
        folds: Folds
        if isinstance(self.folds, Splitting):
            folds = self.folds.take(search).pairs(table)
        else:
            folds = row_checks.folds_among(self.folds, search, len(self.table.y))
        fits = folds if votes and isinstance(folds, int) else 1
        measure = CrossValidation(
            table,
            self.metrics,
            self.constraints,
            preparation(self.table.X),
            folds,
            self.seed,
            objective=self.objective if self.computes_threshold else None,
            weighted_groups=self.weighted_groups,
            directions=self.directions,
            threshold_group=self.threshold_group,
            fold_seconds=None if budget is None else budget.fold_seconds,
            fits_after=0 if budget is None or budget.reserved else fits,
        )
        row_checks.check_splits(measure)
        if votes is None and budget is not None and votes_are_free(measure):
            return replace(measure, vote_seconds=budget.vote_seconds)
        return measure

    def problem(self, measure: CrossValidation) -> Problem:
        """Return the problem that a search is to solve."""
        return Problem(
            self.space,
            measure,
            self.objective,
            self.constraints,
            starts=self.starts,
            expected=self.expected,
        )


def pose(estimator: Any, given: Given) -> LearningTask:
    """Check everything a user handed in, before any time is spent.

    Rows of weight 0 are left out: to a search they are not there.
    """
    check.check_settings(estimator)
    constraints, metrics = fence(estimator.constraints)
    X = check.check_X(estimator, given.X, reset=True)
    y = check.check_y(estimator, X, given.y)
    weights = check.check_weights(X, given.sample_weight)
    counted = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    task = check.task_of(estimator, y[counted])
    if task != "regression":
        row_checks.check_class_sizes(y[counted], estimator.cv)
    positive = check.positive_class(estimator.positive, y[counted], task)
    moves = check.directions(estimator.monotone, X, task)
    if moves:
        constraint, violation = monotone_constraint(moves)
        constraints.append(constraint)
        metrics[violation.name] = violation
    objective = objective_metric(estimator.objective, task)
    metrics[objective.name] = objective
    _check_metrics(metrics, task, weights is not None)
    _check_bounds(constraints, metrics)
    needed = {name for metric in metrics.values() for name in metric.groups}
    if estimator.cv_group is not None:
        needed.add(estimator.cv_group)
    known = row_checks.check_groups(X, given.groups, needed)
    table = Table(
        X if weights is None else take(X, counted),
        y[counted],
        task,
        {name: values[counted] for name, values in known.items()},
        None if weights is None else weights[counted],
        positive,
    )
    warn_of_empty_columns(table.X)
    space = search_space(
        estimator.space, task, weighted=weights is not None, categories=has_categories(table.X)
    )
    space = monotone_only(space) if moves else space
    # A module of that name is the user's own threshold, or would be confused with it in every table.
    named = any(module.name == MODULE for module in space.modules)
    weighted = emphasis.compared(table, metrics.values())
    space = emphasis.searched(space, table, weighted, wanted=estimator.search_emphasis)
    computes = estimator.search_threshold and task == "binary" and not named
    unseen = estimator.unseen if given.unseen is None else given.unseen
    rows = round(FITTED * len(table.y))
    return LearningTask(
        table=table,
        space=space,
        objective=objective.name,
        constraints=constraints,
        metrics=metrics,
        folds=row_checks.folds_of(
            estimator,
            table.groups,
            counted,
            len(y),
            0 if given.unseen is None else len(given.unseen),
        ),
        computes_threshold=computes,
        weighted_groups=weighted,
        threshold_group=_threshold_group(estimator.group_thresholds, computes, metrics),
        unseen=row_checks.unseen_among(unseen, counted, len(y)),
        seed=check.seed(estimator.random_state),
        starts=starts(space, task, rows, constraints),
        expected=expected(space, task, rows),
        directions=_directions(table, moves),
    )


def _check_bounds(constraints: Sequence[Constraint], metrics: Mapping[str, PipelineMetric]) -> None:
    """Refuse bounds that contradict each other or make no sense of their metric."""
    check_consistent(constraints)
    for constraint in constraints:
        check_bound(constraint, metrics[constraint.metric])
        warn_of_single_rows(constraint, metrics[constraint.metric])


def _directions(table: Table, moves: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return the direction of every column as models know it: of the last class in order, or the number."""
    if not moves:
        return ()
    turned = -1 if table.task == "binary" and reversed_order(table.classes) else 1
    known = dict(moves)
    return tuple(turned * known.get(i, 0) for i in range(table.X.shape[1]))


def search_space(
    given: str | Space, task: Task, *, weighted: bool, categories: bool = False
) -> Space:
    """Return the space to search.

    Parameters
    ----------
    given : str or Space
        A name, or the user's own.
    task : {"binary", "multiclass", "regression"}
        What is predicted.
    weighted : bool
        Whether models must take weights. Those that do not are left out of a named space, and
        refused in a user's own.
    categories : bool
        Whether the table has texts or categories; the default space then searches how they are
        encoded.
    """
    if isinstance(given, str):
        space = named_space(given, task)
        if given in ("default", "wide") and categories:
            space = encoders.with_encoder(space)
    else:
        space = given
        _check_algorithms(space, task)
    if searches_threshold(space) and task != "binary":
        raise SpaceError(
            f"The space searches the decision threshold of two classes, and this task is {task}; "
            "leave out its last module."
        )
    if weighted and isinstance(given, str):
        space = weighable_only(space, task)
    elif weighted:
        check_weighable(space, task)
    return space


def _check_algorithms(space: Space, task: Task) -> None:
    """Refuse algorithms that do not exist, or not with such hyper-parameters."""
    setting = Setting(task, rows=100, columns=10)
    for module in space.modules:
        for algorithm in module.algorithms:
            threshold = algorithm.name == THRESHOLD and module is space.modules[-1]
            shapes = module.name == SHAPE and space.shapes is not None
            step = module.name != emphasis.MODULE and not encoders.encodes(module) and not shapes
            if step and not threshold:
                make_middle(algorithm, setting)


def _threshold_group(
    wanted: bool, computes: bool, metrics: Mapping[str, PipelineMetric]
) -> Grouping | None:
    """Return the groups that are to have thresholds of their own; warn of what that means."""
    if not wanted:
        return None
    found = list(dict.fromkeys(g for metric in metrics.values() for g in metric.groupings))
    names = sorted({name for name, _ in found})
    remedy = "leave out group_thresholds."
    if not computes:
        raise DefinitionError(
            "group_thresholds=True computes a threshold between two classes for each group, and here "
            f"none is computed (search_threshold, the space and the classes decide); {remedy}"
        )
    if not found:
        raise DefinitionError(
            "group_thresholds=True, and neither constraints nor objective compare groups; add such as "
            f"demographic_parity_difference(sex) <= 0.1, or {remedy}"
        )
    if len(found) > 1:
        raise DefinitionError(
            f"group_thresholds=True, and the fence compares several groups ({', '.join(names)}); keep "
            f"one, give a group that crosses them in fit(..., groups=...), or {remedy}"
        )
    if not any(metric.decides for metric in metrics.values()):
        raise DefinitionError(
            "group_thresholds=True, and neither constraints nor objective depend on decisions; bound "
            f"a rate or a difference of rates, or {remedy}"
        )
    for name, metric in metrics.items():
        of = metric.of if isinstance(metric, Loss) else metric
        if metric.decides and (isinstance(of, Custom | Robustness) or not metric.weighable):
            raise DefinitionError(
                f"group_thresholds=True, and {name} takes more than the numbers of decisions that "
                f"thresholds by group are computed from; use another metric, or {remedy}"
            )
    warnings.warn(UNLAWFUL.format(found[0][0]), UserWarning, stacklevel=5)
    return found[0]


def _check_metrics(metrics: Mapping[str, PipelineMetric], task: Task, weighted: bool) -> None:
    for name, metric in metrics.items():
        scorer = metric.scored_by
        if scorer is not None and for_numbers(scorer) != (task == "regression"):
            what, given = ("classes", "numbers") if task == "regression" else ("numbers", "classes")
            usual = "'r2'" if task == "regression" else "'roc_auc' or 'accuracy'"
            raise DefinitionError(
                f"{name} is about predicted {what}, and y holds {given}; use {usual}, say."
            )
        if task == "multiclass" and scorer in _TWO_CLASSES:
            raise DefinitionError(
                f"{scorer!r} is for two classes, and y has more; use '{_TWO_CLASSES[scorer]}'."
            )
        if weighted and not metric.weighable:
            raise DefinitionError(
                f"sample_weight is given, and {name} lets all rows count the same; use another "
                "metric, or leave out the weights."
            )

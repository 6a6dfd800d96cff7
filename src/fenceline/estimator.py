"""FencelineClassifier and FencelineRegressor: the best scikit-learn pipeline inside the fence."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from fenceline.certify import Certificate, certify, uncertified
from fenceline.constraint import Constraint
from fenceline.errors import InfeasibleError, MeasurementError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table, Task, Trial
from fenceline.pipelines import check
from fenceline.pipelines.catalogue import named_space
from fenceline.pipelines.fence import fence, objective_metric, set_aside
from fenceline.pipelines.measure import CrossValidation, Finished
from fenceline.pipelines.prepare import preparation, warn_of_empty_columns
from fenceline.problem import Evaluation, Problem
from fenceline.result import Result
from fenceline.run import minimize
from fenceline.space import Space

DEFAULT_SECONDS = 60.0
"""The budget when none is given."""
CANDIDATES = 3
"""How many of the best pipelines may be tried on the rows kept from the search."""


def _delegated(method: str) -> Callable[[Any], Any]:
    """Offer a method only if the pipeline that was found has it."""

    def offers(model: Any) -> bool:
        return not hasattr(model, "best_pipeline_") or hasattr(model.best_pipeline_, method)

    offered: Callable[[Any], Any] = available_if(offers)
    return offered


class FencelineEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """What classifier and regressor share."""

    def __init__(
        self,
        objective: str | PipelineMetric | Callable[..., float] | None = None,
        constraints: Sequence[Constraint | str] = (),
        space: str | Space = "default",
        *,
        seconds: float | None = None,
        evaluations: int | None = None,
        workers: int = 1,
        cv: int | float = 3,
        random_state: Any = 0,
        run_dir: str | Path | None = None,
        on_infeasible: Literal["raise", "warn"] = "raise",
        confidence: float = 0.95,
    ) -> None:
        self.objective = objective
        self.constraints = constraints
        self.space = space
        self.seconds = seconds
        self.evaluations = evaluations
        self.workers = workers
        self.cv = cv
        self.random_state = random_state
        self.run_dir = run_dir
        self.on_infeasible = on_infeasible
        self.confidence = confidence

    def fit(self, X: Any, y: Any, groups: Mapping[str, Any] | None = None) -> Self:
        """Search for the best pipeline inside the fence, and fit it.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (rows, columns)
            A raw table; numbers, texts, categories, dates and missing values are prepared inside
            the pipeline.
        y : array of shape (rows,)
            What to predict.
        groups : mapping of str to array, optional
            Values, one per row, that constraints compare by name; columns of X need not be given.

        Raises
        ------
        InfeasibleError
            No pipeline satisfies every constraint; ``result_`` and ``certificate_`` say more.
        """
        constraints, metrics = fence(self.constraints)
        check.check_settings(self)
        X = check.check_X(self, X, reset=True)
        y = check.check_y(self, X, y, self._kind)
        task = self._task(y)
        if task != "regression":
            check.check_class_sizes(y, self.cv)
        objective = objective_metric(self.objective, task)
        metrics[objective.name] = objective
        needed = {name for metric in metrics.values() for name in metric.groups}
        table = Table(X, y, task, check.check_groups(X, groups, needed))
        warn_of_empty_columns(X)
        seed = check.seed(self.random_state)
        search, unseen = set_aside(table, metrics, self.cv if constraints else None, seed)
        measure = CrossValidation(
            table.take(search), metrics, constraints, preparation(X), self.cv, seed
        )
        space = named_space(self.space, task) if isinstance(self.space, str) else self.space
        problem = Problem(space, measure, objective.name, constraints)
        result = self._search(problem, seed)
        finished = Finished(tuple(metrics))
        self.result_ = replace(result, problem=replace(problem, measure=finished))
        candidates = self._candidates(result)
        self._refit(candidates, problem, replace(measure, table=table), search, unseen)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the pipeline that was found."""
        return np.asarray(self._ask("predict", X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    _kind = "classification"

    @abstractmethod
    def _task(self, y: NDArray[Any]) -> Task:
        """Return which kind of problem the target poses."""

    def _ask(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "best_pipeline_")
        X = check.check_X(self, X, reset=False)
        framed = self._framed_
        if framed and not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X)
        elif not framed and isinstance(X, pd.DataFrame):
            X = X.to_numpy()
        return getattr(self.best_pipeline_, method)(X)

    def _search(self, problem: Problem, seed: int) -> Result:
        seconds = self.seconds
        if seconds is None and self.evaluations is None:
            seconds = DEFAULT_SECONDS
        result = minimize(
            problem,
            evaluations=self.evaluations,
            seconds=seconds,
            workers=self.workers,
            run_dir=self.run_dir,
            seed=seed,
            # A clock can only stop a fit that runs in a process of its own.
            engine=None if seconds is None else "local",
        )
        if any(e.ok for e in result.evaluations) or result.ended != "seconds":
            return result
        # The budget was too small for even one pipeline: measure the first, so that there is a model.
        return minimize(problem, evaluations=1, seed=seed)

    def _candidates(self, result: Result) -> list[Evaluation]:
        """Return the pipelines to try on unseen rows, the best first."""
        if result.best is not None:
            feasible = [e for e in result.evaluations if e.feasible]
            return sorted(feasible, key=lambda e: e.objective)[:CANDIDATES]
        if result.nearest_miss is None:
            if result.ended == "interrupted" and not result.evaluations:
                raise KeyboardInterrupt
            raise MeasurementError(result.message)
        if self.on_infeasible == "raise":
            raise InfeasibleError(result.message)
        warnings.warn(result.message, UserWarning, stacklevel=4)
        return [result.nearest_miss]

    def _refit(
        self,
        candidates: Sequence[Evaluation],
        problem: Problem,
        measure: CrossValidation,
        search: Rows,
        unseen: Rows,
    ) -> None:
        """Fit the best candidate on all rows of the search that unseen rows confirm."""
        tried: list[tuple[Evaluation, Trial, Certificate | None]] = []
        for candidate in candidates:
            with warnings.catch_warnings(), threadpool_limits(limits=1):
                warnings.simplefilter("ignore")  # counted when the candidate was measured
                trial = measure.trial(candidate.configuration, search, unseen)
                certificate = self._certificate(problem, candidate, measure, trial)
            tried.append((candidate, trial, certificate))
            if certificate is None or certificate.status == "certified" or not unseen.size:
                break
        ranks = ("certified", "feasible", "infeasible")
        best = min(tried, key=lambda t: 0 if t[2] is None else ranks.index(t[2].status))
        candidate, trial, self.certificate_ = best
        self.best_pipeline_ = trial.pipeline
        self.best_configuration_ = candidate.configuration
        self.best_metrics_ = dict(candidate.metrics)
        self._framed_ = isinstance(measure.table.X, pd.DataFrame)
        if self._kind == "classification":
            self.classes_ = measure.table.classes
        if self.certificate_ is not None and self.certificate_.status == "infeasible":
            self._report_infeasible()

    def _certificate(
        self, problem: Problem, candidate: Evaluation, measure: CrossValidation, trial: Trial
    ) -> Certificate | None:
        if not problem.constraints:
            return None
        if not trial.rows.size:
            return uncertified(problem.constraints, candidate.metrics)
        try:
            return certify(
                trial,
                problem.constraints,
                measure.metrics,
                confidence=self.confidence,
                candidates=CANDIDATES,
                random_state=measure.random_state,
            )
        except MeasurementError:
            # A metric may not be defined on few rows, for want of a group, say.
            return uncertified(problem.constraints, candidate.metrics)

    def _report_infeasible(self) -> None:
        if self.result_.best is None:
            return  # the search said so already
        message = (
            f"No pipeline that the search found feasible is confirmed by unseen rows.\n{self.certificate_}\n"
            "Tighten the bounds of the search, give it more rows, or loosen the constraint."
        )
        if self.on_infeasible == "raise":
            raise InfeasibleError(message)
        warnings.warn(message, UserWarning, stacklevel=4)


class FencelineClassifier(ClassifierMixin, FencelineEstimator):  # type: ignore[misc]
    """Finds the scikit-learn pipeline that classifies best inside the fence.

    Parameters
    ----------
    objective : str, metric or callable, optional
        What is optimised: a scikit-learn scorer's name (its loss is minimised), a metric of
        :mod:`fenceline.metrics`, or a function of pipeline, X, y and groups to minimise. By
        default ``"roc_auc"`` for two classes, ``"neg_log_loss"`` for more.
    constraints : list of Constraint or str
        What must hold, such as ``metrics.latency_us(batch=1000) <= 10``.
    space : str or Space
        ``"default"``, ``"paper"``, ``"small"`` or your own.
    seconds, evaluations : float, int
        The budget of the search, whichever ends first; 60 seconds if neither is given. The
        certificate and the last fit come after it.
    workers : int
        Pipelines measured at the same time.
    cv : int or float
        Folds, or the share of rows to hold out once.
    random_state : int, RandomState or None
        Same number, same search.
    run_dir : path, optional
        Where the search is written down, to be continued after a crash.
    on_infeasible : {"raise", "warn"}
        What happens when nothing inside the fence is found, or confirmed by unseen rows: an
        error, or the nearest miss with a warning.
    confidence : float
        Of the certificate as a whole.

    Attributes
    ----------
    best_pipeline_ : Pipeline
        Plain scikit-learn, fitted.
    best_metrics_ : dict
        What cross-validation measured of it.
    best_configuration_ : Configuration
        Its place in the space.
    certificate_ : Certificate or None
        What rows kept from the search say about it; None without constraints.
    result_ : Result
        The whole search; ``result_.to_frame()`` is a table of it.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    def _task(self, y: NDArray[Any]) -> Task:
        return check.classification_task(y)

    @_delegated("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self._ask("predict_proba", X))

    @_delegated("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values, if the pipeline has them."""
        return np.asarray(self._ask("decision_function", X))


class FencelineRegressor(RegressorMixin, FencelineEstimator):  # type: ignore[misc]
    """Finds the scikit-learn pipeline that predicts numbers best inside the fence.

    Parameters and attributes are those of :class:`FencelineClassifier`, without classes; the
    objective is ``"r2"`` by default, and the space ``"default"`` or your own.
    """

    _kind = "regression"

    def _task(self, y: NDArray[Any]) -> Task:
        return "regression"

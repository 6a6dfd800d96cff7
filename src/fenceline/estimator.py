"""FencelineClassifier and FencelineRegressor: the best scikit-learn pipeline inside the fence."""

import math
import time
import warnings
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

from fenceline.constraint import Constraint
from fenceline.desk import Progress
from fenceline.errors import InfeasibleError, MeasurementError
from fenceline.evaluation import Engine, Limits
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Table
from fenceline.pipelines import check
from fenceline.pipelines.describe import describe
from fenceline.pipelines.ensemble import check_ensemble
from fenceline.pipelines.fence import set_aside
from fenceline.pipelines.hooks import Announcer, CallbackSupportMixin, with_callbacks
from fenceline.pipelines.measure import CrossValidation, Finished, Folds
from fenceline.pipelines.patience import Patience
from fenceline.pipelines.prepare import preparation, warn_of_empty_columns
from fenceline.pipelines.question import pose
from fenceline.pipelines.results import cv_results
from fenceline.problem import Problem
from fenceline.refit import Finalist, Refit
from fenceline.result import Result
from fenceline.run import minimize
from fenceline.space import Space

DEFAULT_SECONDS = 60.0
"""The budget when none is given."""
ENSEMBLE_SHARE = 0.25
"""How much of the budget is left to choose who votes, where pipelines may."""


def _delegated(method: str) -> Callable[[Any], Any]:
    """Offer a method only if the pipeline that was found has it."""

    def offers(model: Any) -> bool:
        return not hasattr(model, "best_pipeline_") or hasattr(model.best_pipeline_, method)

    offered: Callable[[Any], Any] = available_if(offers)
    return offered


class FencelineEstimator(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
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
        cv: Folds = 3,
        random_state: Any = 0,
        run_dir: str | Path | None = None,
        on_infeasible: Literal["raise", "warn"] = "raise",
        confidence: float = 0.95,
        search_threshold: bool = True,
        ensemble: int | None = None,
        engine: str | Engine | None = None,
        limits: Limits | None = None,
        callbacks: Sequence[Callable[[Progress], None]] = (),
        verbose: int = 0,
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
        self.search_threshold = search_threshold
        self.ensemble = ensemble
        self.engine = engine
        self.limits = limits
        self.callbacks = callbacks
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator] # scikit-learn is untyped
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Mapping[str, Any] | pd.DataFrame | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Search for the best pipeline inside the fence, and fit it.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (rows, columns)
            A raw table; numbers, texts, categories, dates and missing values are prepared inside
            the pipeline.
        y : array of shape (rows,)
            What to predict.
        groups : mapping of str to array, or DataFrame, optional
            Values, one per row, that constraints compare by name; columns of X need not be given.
            Tools that split rows, such as `cross_validate`, can split a DataFrame.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in fitting and in every metric but a function of your own;
            0 leaves a row out. Models that take no weights (nearest neighbours, say) are left out
            of the named spaces then, and refused in a space of your own; scalers and selectors
            that take none are fitted without.

        Raises
        ------
        InfeasibleError
            No pipeline satisfies every constraint; ``result_`` and ``certificate_`` say more.
        """
        check_ensemble(self.ensemble)
        asked = pose(self, X, y, groups, sample_weight)
        table, metrics, constraints = asked.table, asked.metrics, asked.constraints
        warn_of_empty_columns(table.X)
        seed = check.seed(self.random_state)
        search, unseen = set_aside(table, metrics, asked.folds if constraints else None, seed)
        folds = check.folds_among(asked.folds, search, len(table.y))
        measure = CrossValidation(
            table.take(search), metrics, constraints, preparation(table.X), folds, seed
        )
        check.check_splits(measure)
        problem = Problem(asked.space, measure, asked.objective, constraints)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        announcer = Announcer(self, self.evaluations, X=X, y=y, metadata=metadata)
        whole = replace(measure, table=table)
        deadline = time.monotonic() + (self._seconds or math.inf)
        refit = Refit(problem, whole, search, unseen, self.confidence, deadline)
        self._keep(self._search(problem, seed, announcer))
        result, candidates = refit.candidates(self.result_, measure, self.ensemble or 0)
        self._keep(result)
        if result.ended == "interrupted" and not result.evaluations:
            raise KeyboardInterrupt
        if not candidates:
            raise MeasurementError(result.message)
        if result.best is None:
            self._infeasible(result.message)
        best = refit.best(candidates)
        self.data_ = describe(best.trial, metrics, search)
        self._adopt(best, table)
        announcer.end()
        return self

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Every pipeline that was measured, as scikit-learn's searches show theirs."""
        return cv_results(self.result_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the pipeline that was found."""
        return np.asarray(self._ask("predict", X))

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that :func:`fenceline.load` reads, without pickle.

        Parameters
        ----------
        path : str or Path
            Of the file; one that is there is replaced. The data of the search are not in it, and
            functions of your own (metrics, callbacks) are named in it but not stored.
        """
        # skops takes a second to import.
        from fenceline.saving import write

        write(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    _kind = "classification"

    def _ask(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "best_pipeline_")
        X = check.check_X(self, X, reset=False)
        framed = self._framed_
        if framed and not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X)
        elif not framed and isinstance(X, pd.DataFrame):
            X = X.to_numpy()
        return getattr(self.best_pipeline_, method)(X)

    @property
    def _seconds(self) -> float | None:
        """The budget in seconds; None where evaluations alone decide."""
        given = self.seconds is not None or self.evaluations is not None
        return self.seconds if given else DEFAULT_SECONDS

    def _search(self, problem: Problem, seed: int, announcer: Announcer) -> Result:
        seconds = self._seconds
        if seconds is not None and self.ensemble:
            seconds *= 1 - ENSEMBLE_SHARE
        return minimize(
            problem,
            evaluations=self.evaluations,
            seconds=seconds,
            workers=self.workers,
            run_dir=self.run_dir,
            seed=seed,
            # A clock can only stop a fit that runs in a process of its own.
            engine=self.engine or (None if seconds is None else "local"),
            limits=self.limits,
            callbacks=[*self.callbacks, announcer, Patience(), *self._displays(problem, seconds)],
        )

    def _keep(self, result: Result) -> None:
        """Keep the result, without the data of the search."""
        measure = Finished(tuple(result.problem.measure.metrics))  # type: ignore[attr-defined]
        self.result_ = replace(result, problem=replace(result.problem, measure=measure))

    def _displays(
        self, problem: Problem, seconds: float | None
    ) -> list[Callable[[Progress], None]]:
        """Return what shows the run to the user: nothing unless asked."""
        if not self.verbose:
            return []
        from fenceline import progress

        return [
            progress.Progress(
                problem, seconds=seconds, evaluations=self.evaluations, verbosity=self.verbose
            )
        ]

    def _adopt(self, best: Finalist, table: Table) -> None:
        """Become the model that was chosen."""
        members = best.candidate.members
        self.certificate_ = best.certificate
        self.best_pipeline_ = best.trial.pipeline
        self.best_configuration_ = members[0] if len(set(members)) == 1 else members
        self.best_metrics_ = dict(best.candidate.metrics)
        self._framed_ = isinstance(table.X, pd.DataFrame)
        if self._kind == "classification":
            self.classes_ = table.classes
        searched = self.result_.best is not None  # if not, the search said so already
        if searched and best.certificate is not None and best.certificate.status == "infeasible":
            self._infeasible(
                "No pipeline that the search found feasible is confirmed by unseen rows.\n"
                f"{best.certificate}\n"
                "Tighten the bounds of the search, give it more rows, or loosen the constraint."
            )

    def _infeasible(self, message: str) -> None:
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
        The budget of the search, whichever ends first; 60 seconds if neither is given. One
        last fit and the certificate come after it, further candidates only within five seconds.
    workers : int
        Pipelines measured at the same time.
    cv : int, float or list of pairs
        Folds, or the share of rows to hold out once; or pairs of row numbers to fit on and to
        measure on, as scikit-learn's splitters yield them. Rows for the certificate are drawn
        at random, and taken out of such pairs.
    random_state : int, RandomState or None
        Same number, same search.
    run_dir : path, optional
        Where the search is written down, to be continued after a crash.
    on_infeasible : {"raise", "warn"}
        What happens when nothing inside the fence is found, or confirmed by unseen rows: an
        error, or the nearest miss with a warning.
    confidence : float
        Of the certificate as a whole.
    search_threshold : bool
        Whether the decision threshold between two classes is searched like a hyper-parameter when
        the objective or a constraint depends on decisions (error rates, accuracy, F1, shares
        selected, functions of your own). False keeps to even odds. A space that has a module
        "threshold" is left as it is; :func:`fenceline.pipelines.with_threshold` adds it with a
        range of your own.
    ensemble : int, optional
        How many votes a committee of pipelines may have. It is chosen among the feasible ones, and
        kept only if it is feasible as a whole and better than the best alone; a quarter of
        `seconds` is spent on it. 0 or None looks for a single pipeline.
    engine, limits, callbacks
        Where pipelines are measured, what one measurement may use, and who is told: as in
        :func:`fenceline.minimize`.
    verbose : int
        0 prints nothing, 1 shows the search as it goes, 2 every pipeline that is measured.

    Attributes
    ----------
    best_pipeline_ : Pipeline
        Plain scikit-learn, fitted; with `ensemble` it may be a voter of several.
    best_metrics_ : dict
        What cross-validation measured of it.
    best_configuration_ : Configuration
        Its place in the space; for a voter a tuple, each member as often as it has votes.
    certificate_ : Certificate or None
        What rows kept from the search say about it; None without constraints.
    data_ : dict
        The table in a few numbers, and how groups fared on unseen rows.
    result_ : Result
        The whole search; ``result_.to_frame()`` is a table of it, and ``cv_results_`` the same as
        a dict of arrays.
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

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

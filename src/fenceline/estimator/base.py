"""What classifier and regressor share: pose the problem, search, refit, certify."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fenceline.certificate.advice import advice
from fenceline.certificate.certify import Certificate
from fenceline.certificate.finalists import Delivered, Delivery, Preference, search_room
from fenceline.certificate.holdout import Holdout, set_aside
from fenceline.certificate.inspection import inspect
from fenceline.certificate.refits import Fitted
from fenceline.certificate.sequence import Option
from fenceline.certificate.terms import Terms, luck_is_told
from fenceline.errors import InfeasibleError, MeasurementError
from fenceline.estimator import validation as check
from fenceline.estimator.budget import Budget
from fenceline.estimator.callbacks import Announcer, CallbackSupportMixin, with_callbacks
from fenceline.estimator.cv_results import cv_results
from fenceline.estimator.describe import describe
from fenceline.estimator.learning_task import LearningTask, pose
from fenceline.estimator.search import search
from fenceline.estimator.second_table import joined
from fenceline.estimator.spent import counted
from fenceline.evaluation import Engine, Limits
from fenceline.evaluation.evaluator import Progress
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Grouping
from fenceline.pipelines.fitting.group_thresholds import GroupThresholds, by_group
from fenceline.pipelines.fitting.plain import plain
from fenceline.pipelines.fold_checks import Folds
from fenceline.pipelines.fold_votes import fitting
from fenceline.problem.constraint import Constraint
from fenceline.problem.space import Space

NOTHING_USEFUL = (
    "There is nothing useful inside the fence: what keeps to it is hardly better than a model that "
    "says the same of every row. {} Loosen the constraint that binds, or give a larger budget."
)
# What a fit that ends without a model must not leave behind from the one before.
_OF_A_FIT = (
    "best_configuration_",
    "best_metrics_",
    "best_pipeline_",
    "certificate_",
    "data_",
    "finalists_",
    "inspection_",
    "result_",
)


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
        workers: int | None = None,
        cv: Folds | Any = 3,
        cv_group: str | None = None,
        random_state: Any = 0,
        run_dir: str | Path | None = None,
        on_infeasible: Literal["raise", "warn"] = "raise",
        confidence: float = 0.95,
        joint: bool = False,
        unseen: float | Sequence[int] | None = None,
        prefer: Preference = "certainty",
        search_threshold: bool = True,
        search_emphasis: bool = True,
        group_thresholds: bool = False,
        ensemble: int | None = None,
        fold_votes: bool | None = None,
        positive: Any = None,
        monotone: Mapping[Any, int] | None = None,
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
        self.cv_group = cv_group
        self.random_state = random_state
        self.run_dir = run_dir
        self.on_infeasible = on_infeasible
        self.confidence = confidence
        self.joint = joint
        self.unseen = unseen
        self.prefer = prefer
        self.search_threshold = search_threshold
        self.search_emphasis = search_emphasis
        self.group_thresholds = group_thresholds
        self.ensemble = ensemble
        self.fold_votes = fold_votes
        self.positive = positive
        self.monotone = monotone
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
        unseen: tuple[Any, ...] | None = None,
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
        unseen : tuple, optional
            A second table to certify on, ``(X, y)``, with its groups and weights after it where
            the first table has them; the search then has all rows of the first. Certificates
            count what is tried in one `fit`: use the same rows again for another, and the risk
            is spent again.

        Raises
        ------
        InfeasibleError
            No pipeline satisfies every constraint. ``result_`` says more, and ``certificate_`` where
            unseen rows refused what the search had found.
        """
        task = pose(self, joined(X, y, groups, sample_weight, unseen))
        self._forget()
        table, fence = task.table, task.constraints
        alike = task.draws_unseen
        controlled = luck_is_told(table, alike=alike, joint=self.joint)
        rows = set_aside(
            table, task.metrics, fence, task.folds, task.seed, task.unseen, controlled=controlled
        )

        certifies = bool(fence) and rows.unseen.size > 0
        budget = Budget.begin(self, certified_rows=len(table.y) if certifies else 0)
        # Pipelines that vote with each other do not vote with themselves.
        votes = False if self.ensemble else self.fold_votes
        measure = task.measure(rows.search, budget, votes=votes)
        problem = task.problem(measure)
        terms = Terms(problem, measure, *rows, self.confidence, budget.deadline, self.joint, alike)
        announcer = Announcer(self, X, y, sample_weight)
        self.result_ = search(self, problem, measure, budget, search_room(terms), announcer)

        whole = fitting(measure, table, rows.search, votes, self.result_.best)
        terms = replace(terms, measure=whole)
        delivery = Delivery(terms, self.prefer)
        self.result_, candidates = delivery.candidates(self.result_, measure, self.ensemble or 0)
        if not candidates:
            raise MeasurementError(self.result_.message)
        inside: list[Option] = []
        if self.result_.best is None:
            self._infeasible(self.result_.message)
        elif fence:
            inside = delivery.useful(candidates, measure)
            if not inside:
                self._infeasible(NOTHING_USEFUL.format(self.result_.message))

        delivered = delivery.best(candidates, inside)
        self.inspection_ = inspect(delivered, terms, budget.inspection)
        self._adopt(delivered, task, rows)
        announcer.end()
        return self

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Every pipeline that was measured, as scikit-learn's searches show theirs."""
        return cv_results(self.result_)

    def predict(
        self, X: Any, groups: Mapping[str, Any] | pd.DataFrame | None = None
    ) -> NDArray[Any]:
        """Predict with the pipeline that was found.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (rows, columns)
            With the columns of the table that was fitted on.
        groups : mapping of str to array, or DataFrame, optional
            The group of each row by name, where the model decides by group (`group_thresholds`)
            and the group is no column of X.
        """
        check_is_fitted(self, "best_pipeline_")
        if isinstance(self.best_pipeline_, GroupThresholds):
            return np.asarray(self._ask("predict", X, groups=groups))
        return np.asarray(self._ask("predict", X))

    def to_sklearn(self) -> Any:
        """Return the pipeline that was found in steps of scikit-learn and pandas alone, fitted.

        A booster of another library stays what it is, and needs that library where it runs.
        Saved with pickle, joblib or skops it loads where this package is not installed. Its
        predictions are those of ``best_pipeline_``, whose own first step serves single rows
        many times faster. Tables go in as pandas data frames if the model was fitted on a table.
        """
        check_is_fitted(self, "best_pipeline_")
        return plain(self.best_pipeline_)

    def to_onnx(self, path: str | Path, X: Any) -> Any:
        """Write the pipeline as an ONNX file: preparation, model and threshold in one graph.

        Parameters
        ----------
        path : str or Path
            Of the file; one that is there is replaced.
        X : DataFrame or array
            Rows to predict with both, a thousand at most; the file is written only if they agree.

        Returns
        -------
        Comparison
            How many rows were compared, and the largest difference.

        Raises
        ------
        DefinitionError
            A step cannot be converted, or predictions differ; the message names it.
        MissingDependencyError
            The extra is not installed: ``pip install 'fenceline[onnx]'``.
        """
        from fenceline.estimator.onnx_file import write_onnx

        return write_onnx(self, path, X)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that :func:`fenceline.load` reads, without pickle.

        Parameters
        ----------
        path : str or Path
            Of the file; one that is there is replaced. The data of the search are not in it, and
            functions of your own (metrics, callbacks) are named in it but not stored.
        """
        # skops takes a second to import.
        from fenceline.estimator.files import write

        write(self, path)

    def _html_repr(self) -> str:
        """Show the model that was delivered in a notebook, above scikit-learn's own diagram."""
        from sklearn.utils import estimator_html_repr

        diagram = str(estimator_html_repr(self))
        if not hasattr(self, "best_pipeline_"):
            return diagram
        from fenceline.certificate.notebook import model_card

        objective = self.result_.problem.objective
        certificate = self.certificate_
        card = model_card(self.best_configuration_, objective, self.best_metrics_, certificate)
        return f"{card}{diagram}"

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same card, whichever version of scikit-learn asks."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self._html_repr()} if "text/html" in bundle else bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    _kind = "classification"

    def _ask(self, method: str, X: Any, **more: Any) -> Any:
        check_is_fitted(self, "best_pipeline_")
        X = check.check_X(self, X, reset=False)
        framed = self._framed_
        if framed and not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X)
        elif not framed and isinstance(X, pd.DataFrame):
            X = X.to_numpy()
        return getattr(self.best_pipeline_, method)(X, **more)

    def _forget(self) -> None:
        """Leave nothing of an earlier fit that this one might not replace: it may end without a model."""
        for name in _OF_A_FIT:
            self.__dict__.pop(name, None)

    def _adopt(self, delivered: Delivered, task: LearningTask, rows: Holdout) -> None:
        """Become the model that was chosen."""
        best = delivered.best
        members = best.option.pipeline
        self.certificate_ = counted(self, best.certificate, task.table, rows.unseen)
        self.finalists_ = delivered.finalists
        self.best_pipeline_ = self._deciding(best, task.threshold_group)
        self.best_configuration_ = members[0] if len(set(members)) == 1 else members
        self.best_metrics_ = dict(best.option.metrics)
        self.data_ = describe(best.trial, task.metrics, rows.search)
        self._framed_ = isinstance(task.table.X, pd.DataFrame)
        if self._kind == "classification":
            self.classes_ = np.sort(
                task.table.classes
            )  # scikit-learn's order, whichever is positive
        searched = self.result_.best is not None  # if not, the search said so already
        if searched and best.certificate is not None and best.certificate.status == "infeasible":
            how = "is confirmed by unseen rows" if rows.unseen.size else "is so once it is fitted"
            self._infeasible(
                f"No pipeline that the search found feasible {how}.\n"
                f"{best.certificate}\n"
                f"{advice(best.certificate, self.best_metrics_)}",
                best.certificate,
            )

    def _deciding(self, best: Fitted, grouping: Grouping | None) -> Any:
        """Return the pipeline that decides for rows yet to come: by group, where that was asked for."""
        decision = best.option.log_odds
        if decision is None:
            decision = best.option.candidate.decision
        if grouping is None or not isinstance(decision, tuple):
            return best.trial.pipeline
        return by_group(best.trial, decision, grouping)

    def _infeasible(self, message: str, certificate: Certificate | None = None) -> None:
        if self.on_infeasible == "raise":
            raise InfeasibleError(message, result=self.result_, certificate=certificate)
        warnings.warn(message, UserWarning, stacklevel=4)

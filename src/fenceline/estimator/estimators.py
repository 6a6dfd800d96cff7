"""FencelineClassifier and FencelineRegressor: the best scikit-learn pipeline inside the fence."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from fenceline.estimator.base import FencelineEstimator


def _delegated(method: str) -> Callable[[Any], Any]:
    """Offer a method only if the pipeline that was found has it."""

    def offers(model: Any) -> bool:
        return not hasattr(model, "best_pipeline_") or hasattr(model.best_pipeline_, method)

    offered: Callable[[Any], Any] = available_if(offers)
    return offered


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
        ``"default"``, ``"wide"``, ``"paper"``, ``"small"`` or your own.
    seconds, evaluations : float, int
        The budget, whichever ends first; 60 seconds if neither is given. Where something is to be
        certified, up to 15 percent of the seconds are reserved for the fits and tests after the
        search; no further candidate is begun that would end more than five seconds late.
    workers : int, optional
        Pipelines measured at the same time. By default one for each core if the budget is in
        seconds alone and memory allows, and one if it is in evaluations, so that the same search
        finds the same.
    cv : int, float, list of pairs or splitter
        Folds, or the share of rows to hold out once; or pairs of row numbers to fit on and to
        measure on, out of which the rows for the certificate are taken at random; or a splitter
        of scikit-learn, which splits the rows of the search. With ``TimeSeriesSplit`` the last rows
        certify, and with `cv_group` whole groups.
    cv_group : str, optional
        The group of ``fit(..., groups={...})``, or the column of X, whose rows a splitter such as
        ``GroupKFold`` keeps together.
    random_state : int, RandomState or None
        Same number, same search.
    run_dir : path, optional
        Where the search is written down, to be continued after a crash.
    on_infeasible : {"raise", "warn"}
        What happens when nothing inside the fence is found, or confirmed by unseen rows: an
        error, or the nearest miss with a warning.
    confidence : float
        With which every constraint holds if the certificate says so.
    joint : bool
        Whether all bounds of the certificate are to hold together, which divides the risk and
        certifies less. By default each holds by itself, and the confidence is that of "every
        constraint holds".
    unseen : float or sequence of int, optional
        The share of rows kept from the search for the certificate, or their row numbers. By default
        as many as the rarest group or class of the constrained metrics needs, more for close bounds
        on differences between groups, and beyond 10,000 rows to search with all that are left: 15
        to 40 percent. Bounds on time, size or memory alone keep 15, those on AUROCs of few rows 25.
        ``fit(..., unseen=(X, y))`` takes a second table instead.
    prefer : {"certainty", "objective"}
        Whether the model is the best that unseen rows certify, or the best by the folds with its
        honest verdict.
    search_threshold : bool
        Whether every measurement computes the best decision threshold between two classes inside
        the fence, when the objective or a constraint depends on decisions (error rates, accuracy,
        F1, shares selected, functions of your own). False keeps to even odds. A space that has a
        module "threshold" (:func:`fenceline.pipelines.with_threshold`) is searched for it instead.
    search_emphasis : bool
        Whether it is searched how much rows count in fitting the model, by group and class, when a
        constraint or the objective compares groups (the first column; further ones are crossed
        with it where rows are many). Models that take no weights are fitted evenly. False lets all
        rows count the same;
        :func:`fenceline.pipelines.with_emphasis` adds it to a space with a range of your own.
    group_thresholds : bool
        Whether each group that the fence compares has a decision threshold of its own: the model
        then needs the group of every row it predicts, as a column of X or in
        ``predict(X, groups={...})``. Deciding by group is unlawful in some uses.
    ensemble : int, optional
        How many votes a committee of pipelines may have. It is chosen among the feasible ones, and
        kept only if it is feasible as a whole and better than the best alone; a quarter of
        `seconds` is spent on it. 0 or None looks for a single pipeline.
    fold_votes : bool, optional
        Whether the pipeline that is delivered is fitted once without each fold of the search, and
        these fits vote, instead of once on all rows. The folds have measured just these fits, so
        that a certificate is likelier; the model is as many times larger and slower. By default
        where a constraint bounds a difference or a ratio between groups, none bounds time, size or
        memory, `cv` is a number of folds, and `ensemble` is not asked for. Where nothing is bounded
        and no threshold is computed, boosters are by default fitted eight times instead, each time
        without another eighth of the rows.
    positive : label, optional
        Which of two classes is the positive one: the one that precision, recall, error rates,
        shares selected and the threshold are about. By default the last in order.
    monotone : mapping of column to 1 or -1, optional
        Columns with which the answer may only grow or only fall, other things being equal:
        ``{"income": +1, "debt": -1}``. The answer is the probability of the positive class, or
        the number predicted. Trees and boosters are told so, linear models are measured for it,
        and everything else leaves the space, with all steps that mix columns. The constraint
        ``monotone_violation <= 0`` is added to yours, and is checked on the model that is
        delivered.
    engine, limits, callbacks
        Where pipelines are measured, what one measurement may use, and who is told: as in
        :func:`fenceline.minimize`. Unless told otherwise, one may take a quarter of `seconds`.
    verbose : int
        0 prints nothing, 1 shows the search as it goes, 2 every pipeline that is measured.

    Attributes
    ----------
    best_pipeline_ : Pipeline
        Plain scikit-learn, fitted; with `ensemble` or `fold_votes` it may be a voter of several.
    best_metrics_ : dict
        What cross-validation measured of it.
    best_configuration_ : Configuration
        Its place in the space; for a voter a tuple, each member as often as it has votes.
    certificate_ : Certificate or None
        What rows kept from the search say about it; None without constraints.
    finalists_ : tuple of Finalist
        Every pipeline, and threshold of it, that was fitted to be delivered, with its objective by
        the folds and on unseen rows and its verdict.
    data_ : dict
        The table in a few numbers, and how groups fared on unseen rows.
    inspection_ : dict
        What the model does on unseen rows: what the report draws.
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
    objective is ``"r2"`` by default, and the space ``"default"``, ``"wide"`` or your own.
    """

    _kind = "regression"

"""Rows that count differently: which algorithms can tell, and how a step is fitted with weights.

Models must take weights, or a search would compare pipelines that were asked for different things;
scalers and selectors are given weights if they take them, and are fitted without if not.
"""

import contextlib
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import has_fit_parameter

from fenceline.errors import SpaceError
from fenceline.metrics.trial import Task, take
from fenceline.pipelines.fitting.thresholds import models
from fenceline.pipelines.fitting.weighted_bins import weighted_bins_at_once
from fenceline.pipelines.spaces.edit import drop
from fenceline.pipelines.spaces.operators import Setting, make_middle
from fenceline.problem.space import Space

Weights = NDArray[np.float64] | None


class HeldOut(NamedTuple):
    """Rows that tell a booster when to stop."""

    X: Any
    y: Any
    weights: Weights


def fit_until(model: Any, X: Any, y: Any, weights: Weights, held_out: HeldOut) -> Any:
    """Fit a booster until held-out rows gain nothing from further trees."""
    rows = np.arange(len(held_out.y))
    if is_classifier(model):
        # A class of few rows may be missing among those to fit on.
        rows = np.flatnonzero(np.isin(held_out.y, y))
    told = [(take(held_out.X, rows), held_out.y[rows])]
    counting = None if held_out.weights is None else [held_out.weights[rows]]
    with warnings.catch_warnings():
        # What LightGBM 4.7 would have instead, eval_X and eval_y, knows no labels but numbers.
        warnings.filterwarnings("ignore", "The argument 'eval_set' is deprecated")
        return model.fit(X, y, eval_set=told, eval_sample_weight=counting, **_keywords(weights))


def fit_model(model: Any, X: Any, y: Any, weights: Weights) -> Any:
    """Fit what predicts, with weights if there are any."""
    if isinstance(model, VotingClassifier | VotingRegressor):
        # As above; a voter without weights of rows would refuse them as a whole.
        return model.fit(X, y, **_keywords(weights if takes_weights(model) else None))
    if isinstance(model, Pipeline):
        # Step by step: how a Pipeline passes weights on depends on scikit-learn's settings.
        for _, step in model.steps[:-1]:
            X = fit_transform(step, X, y, weights)
        fit_model(model.steps[-1][1], X, y, weights)
        return model
    with weighted_bins_at_once() if weights is not None else contextlib.nullcontext():
        return model.fit(X, y, **_keywords(weights))


def takes_weights(model: Any) -> bool:
    """Tell whether rows can count differently in fitting a model."""
    if isinstance(model, VotingClassifier | VotingRegressor):
        return all(takes_weights(voter) for _, voter in model.estimators)
    last = model[-1] if isinstance(model, Pipeline) else model
    return bool(has_fit_parameter(last, "sample_weight"))


def fit_transform(step: Any, X: Any, y: Any, weights: Weights) -> Any:
    """Fit a step and transform what it was fitted on, with weights if it takes them."""
    if isinstance(step, FeatureUnion):
        branches = [fit_transform(branch, X, y, weights) for _, branch in step.transformer_list]
        if any(sparse.issparse(branch) for branch in branches):
            return sparse.hstack(branches).tocsr()
        return np.hstack(branches)
    if isinstance(step, Pipeline):
        for _, one in step.steps:
            X = fit_transform(one, X, y, weights)
        return X
    known = weights is not None and has_fit_parameter(step, "sample_weight")
    return step.fit_transform(X, y, **_keywords(weights if known else None))


def weighable_only(space: Space, task: Task) -> Space:
    """Return the space without the models that take no weights."""
    return (
        drop(space, models(space).name, *refused) if (refused := _refused(space, task)) else space
    )


def check_weighable(space: Space, task: Task) -> None:
    """Refuse a user's space if one of its models takes no weights."""
    refused = _refused(space, task)
    if refused:
        names = ", ".join(map(repr, refused))
        raise SpaceError(
            f"sample_weight is given, and these models of the space take no weights: {refused!r}. "
            f"Leave them out with drop(space, {models(space).name!r}, {names})."
        )


def _refused(space: Space, task: Task) -> list[str]:
    setting = Setting(task, rows=100, columns=10)
    return [a.name for a in models(space).algorithms if not takes_weights(make_middle(a, setting))]


def _keywords(weights: Weights) -> dict[str, Any]:
    return {} if weights is None else {"sample_weight": weights}

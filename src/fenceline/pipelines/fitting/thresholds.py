"""The decision threshold between two classes: given to a fitted pipeline, or one more module of a space.

It comes last, does not touch the data, and wraps the fitted model that comes before it, which need
not be fitted again for another threshold. A measurement computes it; a space that has it as a module
is searched for it instead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from fenceline.errors import SpaceError
from fenceline.metrics.trial import Rows, Trial
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Real
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.problem.template import NONE, slots

MODULE = "threshold"
THRESHOLD = "Threshold"
"""The algorithm's name; a space whose last module has it searches the threshold."""
LOG_ODDS = 5.0
"""How far from even odds a threshold may lie: from 0.7 % to 99.3 %."""
MOST_LOG_ODDS = 30.0
"""Beyond it a probability cannot be told from 0 or 1."""


def with_threshold(space: Space, low: float = -LOG_ODDS, high: float = LOG_ODDS) -> Space:
    """Return the space with the decision threshold as its last module.

    Parameters
    ----------
    space : Space
        Whose last module predicts.
    low, high : float
        The range, in log-odds: 0 is a probability of 0.5, and the middle is tried first. Equal
        steps change equally many decisions wherever the probabilities of a table lie, which
        equal steps of the probability itself would not.
    """
    if searches_threshold(space):
        raise SpaceError("The space searches the decision threshold already.")
    algorithm = Algorithm(THRESHOLD, {"log_odds": Real(low, high)})
    return Space.shaped([*space.modules, Module(MODULE, [algorithm])], space.shapes)


def searches_threshold(space: Space) -> bool:
    """Tell whether the last module of a space is the decision threshold."""
    return any(a.name == THRESHOLD for a in space.modules[-1].algorithms)


def models(space: Space) -> Module:
    """Return the module that predicts: the last, or the one before the threshold.

    Where pipelines have several shapes it is the last slot of the first shape.
    """
    if space.shapes is not None:
        last = list(slots(space.shapes.templates[0]))[-1].name
        found = next(module for module in space.modules if module.name == last)
        return Module(last, [a for a in found.algorithms if a.name != NONE])
    return space.modules[-2 if searches_threshold(space) else -1]


def split_threshold(
    configuration: Mapping[str, Choice],
) -> tuple[dict[str, Choice], float | None]:
    """Return the choices that are steps of a pipeline, and the log-odds of its threshold if it has one."""
    steps = dict(configuration)
    last = next(reversed(steps))
    if steps[last].algorithm != THRESHOLD:
        return steps, None
    log_odds = steps.pop(last).params["log_odds"]
    assert isinstance(log_odds, float)
    return steps, log_odds


def decide_at(log_odds: float, model: Any, positive: Any, *, fitted: bool) -> Any:
    """Return a classifier that decides at other than even odds.

    Parameters
    ----------
    log_odds : float
        Where decisions change. For a model without probabilities it is the decision value itself,
        which is 0 at even odds and of the order of 1, as log-odds are.
    model : classifier
        Left as it is if it has neither probabilities nor decision values.
    positive : label
        The class that is chosen at or above the threshold.
    fitted : bool
        Whether the model is; it is then used, not fitted again.
    """
    if hasattr(model, "predict_proba"):
        response, threshold = "predict_proba", float(cut(log_odds, likely=True))
    elif hasattr(model, "decision_function"):
        response, threshold = "decision_function", log_odds
    else:
        return model
    decider = FixedThresholdClassifier(
        clone(model), threshold=threshold, pos_label=positive, response_method=response
    )
    if fitted:
        # What its fit would set, had it not to fit the model anew.
        decider.estimator_ = model
        if hasattr(model, "n_features_in_"):
            decider.n_features_in_ = model.n_features_in_
    return decider


def decided(trial: Trial, log_odds: float) -> Trial:
    """Return a trial of the same fitted pipeline that decides at these log-odds, and was asked as much.

    Nothing is fitted or predicted again for another threshold, whether or not the trial has one.
    """
    pipeline, positive = undecided(trial.pipeline), trial.table.classes[-1]
    if isinstance(pipeline, Pipeline):
        *before, (last, model) = pipeline.steps
        model = decide_at(log_odds, model, positive, fitted=True)
        pipeline = Pipeline([*before, (last, model)])
    else:
        pipeline = decide_at(log_odds, pipeline, positive, fitted=True)
    other = Trial(pipeline, trial.table, trial.rows, trial.train_seconds, trial.reached)
    if "X" in trial.__dict__:
        other.X = trial.X
    if "response" in trial.__dict__:
        other.response = trial.response
        likely = trial.answers.likely
        chosen = None if trial.response is None else trial.response >= cut(log_odds, likely)
        other.answers.recall(trial.answers, chosen)
    return other


def choosing(trial: Trial, share: float, some: Rows | None = None) -> float | None:
    """Return the log-odds at which a fitted pipeline chooses a share of the trial's rows, as nearly as it can.

    Never everybody or nobody. Labels have no part in it. None for a pipeline that says the same of all.

    Parameters
    ----------
    trial : Trial
        The pipeline, and the rows.
    share : float
        Of the rows, or of what they weigh.
    some : array of int, optional
        Positions of the rows it is a share of; all, if None.
    """
    if trial.response is None:
        return None
    every = slice(None) if some is None else some
    scores, at = np.unique(trial.response[every], return_inverse=True)
    if len(scores) < 2:
        return None
    weights = np.bincount(at, None if trial.weights is None else trial.weights[every])
    chosen = np.cumsum(weights[::-1])[::-1] / weights.sum()  # at or above each score
    place = 1 + int(np.argmin(np.abs(chosen[1:] - share)))
    return float(half_way(scores[place - 1], scores[place], trial.answers.likely))


def half_way(lower: Any, upper: Any, likely: bool) -> Any:
    """Return thresholds between two scores, in log-odds if they are likely: so rounding decides about no row."""
    between = (lower + upper) / 2
    if not likely:
        return between
    with np.errstate(divide="ignore"):
        return np.clip(logit(between), -MOST_LOG_ODDS, MOST_LOG_ODDS)


def threshold_of(pipeline: Any) -> float | None:
    """Return the log-odds, or the decision value, at which a fitted pipeline decides; None for even odds."""
    model = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    if not isinstance(model, FixedThresholdClassifier):
        return None
    likely = model.response_method == "predict_proba"
    return float(logit(model.threshold)) if likely else float(model.threshold)


def describe_threshold(pipeline: Any, log_odds: float) -> str:
    """Say where a fitted pipeline decides, in its own unit; of one that decides by group, where for each."""
    if hasattr(pipeline, "thresholds"):
        return str(pipeline)
    model = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    return written_threshold(log_odds, getattr(model, "response_method", "") != "decision_function")


def written_threshold(log_odds: float, likely: bool) -> str:
    """Write a threshold in the unit that people see: a probability, or a decision value."""
    if not likely:
        return f"decision value {log_odds:.4g}"
    return f"probability {cut(log_odds, likely=True):.3g}"


def cut(log_odds: Any, likely: bool) -> Any:
    """Return thresholds in the unit that they are compared in: probabilities, or decision values."""
    return expit(log_odds) if likely else log_odds


def undecided(pipeline: Any) -> Any:
    """Return a fitted pipeline that decides at even odds again."""
    if isinstance(pipeline, Pipeline):
        *before, (last, model) = pipeline.steps
        return Pipeline([*before, (last, undecided(model))])
    return pipeline.estimator_ if isinstance(pipeline, FixedThresholdClassifier) else pipeline

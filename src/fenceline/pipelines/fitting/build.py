"""From a configuration to a plain scikit-learn Pipeline, unfitted or fitted step by step."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from fenceline.pipelines.fitting.arrange import arranged, make_step
from fenceline.pipelines.fitting.encoders import encoding, split_encoder
from fenceline.pipelines.fitting.group_weights import split_emphasis
from fenceline.pipelines.fitting.prefix import Fold, Prefixes, fit_fold
from fenceline.pipelines.fitting.thresholds import decide_at, split_threshold
from fenceline.pipelines.fitting.weights import Weights
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice


def build(
    configuration: Mapping[str, Choice], setting: Setting, preparation: Any = None
) -> Pipeline:
    """Return the unfitted pipeline of a configuration.

    Parameters
    ----------
    configuration : Configuration
        One choice per module.
    setting : Setting
        The task, the rows and the *prepared* columns the pipeline will be fitted on; numbers of
        components, neighbours and the like are capped by them. Where a step changes the number
        of columns in a way that depends on the data, :func:`fit` caps more exactly.
    preparation : transformer, optional
        What comes first; see :func:`fenceline.pipelines.preparation`.
    """
    choices, encoder = split_encoder(split_emphasis(configuration)[0])
    choices, log_odds = split_threshold(choices)
    first = encoding(preparation, encoder, setting.task)
    steps = [] if first is None else [("prepare", first)]
    for module, part in arranged(choices).items():
        step = make_step(part, setting)
        components = getattr(step, "n_components", None)
        if isinstance(components, int):
            setting = replace(setting, columns=components)
        steps.append((module, step))
    if log_odds is not None:
        last, model = steps.pop()
        steps.append((last, decide_at(log_odds, model, setting.positive, fitted=False)))
    return Pipeline(steps)


def fit(
    configuration: Mapping[str, Choice],
    X: Any,
    y: Any,
    setting: Setting,
    preparation: Any = None,
    weights: Weights = None,
) -> Pipeline:
    """Fit a configuration step by step, so that every cap follows the columns that reach its step.

    Returns
    -------
    Pipeline
        Fitted, of plain scikit-learn steps.

    Raises
    ------
    MeasurementError
        A step left no column for the next.
    """
    steps, _ = split_emphasis(configuration)
    return fit_fold(steps, Fold(X, y, setting, preparation, weights), Prefixes(0))[0]

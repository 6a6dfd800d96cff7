"""From a configuration to a plain scikit-learn Pipeline, unfitted or fitted step by step."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from fenceline.configuration import Choice
from fenceline.errors import MeasurementError
from fenceline.pipelines.operators import Setting, make


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
    steps = [] if preparation is None else [("prepare", clone(preparation))]
    for module, choice in configuration.items():
        step = make(choice.algorithm, choice.params, setting)
        components = getattr(step, "n_components", None)
        if isinstance(components, int):
            setting = replace(setting, columns=components)
        steps.append((module, step))
    return Pipeline(steps)


def fit(
    configuration: Mapping[str, Choice],
    X: Any,
    y: Any,
    setting: Setting,
    preparation: Any = None,
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
    steps: list[tuple[str, Any]] = []
    if preparation is not None:
        prepare = clone(preparation)
        X = prepare.fit_transform(X, y)
        steps.append(("prepare", prepare))
    *before, (last, chosen) = configuration.items()
    for module, choice in before:
        step = make(choice.algorithm, choice.params, _reaching(setting, X))
        if step != "passthrough":
            X = step.fit_transform(X, y)
        if X.shape[1] == 0:
            raise MeasurementError(f"{module} {choice} dropped every column.")
        steps.append((module, step))
    model = make(chosen.algorithm, chosen.params, _reaching(setting, X))
    steps.append((last, model.fit(X, y)))
    return Pipeline(steps)


def _reaching(setting: Setting, X: Any) -> Setting:
    rows, columns = X.shape
    return replace(setting, rows=rows, columns=columns, sparse=sparse.issparse(X))

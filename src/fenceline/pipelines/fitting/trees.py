"""How many trees a booster or a forest has: as asked, as it stopped, or as many as there is time for.

On many rows, and with many classes, of which each has trees of its own, a booster may take longer than a
measurement may. It then has fewer trees instead of none at all: two short fits tell what a tree takes.
"""

import time
import warnings
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from fenceline.pipelines.fitting.arrange import predictor
from fenceline.pipelines.fitting.weights import Weights, fit_model
from fenceline.problem.configuration import Choice

_HISTOGRAM = HistGradientBoostingClassifier | HistGradientBoostingRegressor
_PATIENCE = "early_stopping_round"
"""LightGBM's parameter that makes it stop by held-out rows; a fit that has it must be given such."""
_NAMES = ("n_estimators", "estimator__n_estimators")
"""What others call their number of trees; the second of one that sees labels as numbers."""
QUICK = 2e6
"""Rows times trees that any machine fits in a second: below, there is no need to ask how long it takes."""
_TRIED = 6
"""Trees by which a fit is timed, beside a single one that shows what it takes to begin."""
_PRUDENCE = 0.9
"""Of the time, how much is planned for: a tree may take longer than the first ones."""


def stopped_after(model: Any) -> int | None:
    """Return after how many trees a fitted booster has stopped by itself; None if it does not."""
    if needs_held_out(model):
        return int(model.best_iteration_)
    return int(model.n_iter_) if getattr(model, "do_early_stopping_", False) else None


def needs_held_out(model: Any) -> bool:
    """Tell whether held-out rows are to tell a model when to stop."""
    return (
        bool(model.get_params(deep=False).get(_PATIENCE)) if hasattr(model, "get_params") else False
    )


def told_by_held_out(configuration: Mapping[str, Choice]) -> bool:
    """Tell whether a pipeline's model is a booster that held-out rows tell when to stop."""
    model = predictor(configuration)
    if not isinstance(model, Choice) or model.algorithm != "LightGBM":
        return False
    return bool(model.params.get("early_stopping"))


def with_trees(model: Any, trees: float, *, exactly: bool = True) -> Any:
    """Return an unfitted model that will have so many trees; unless exactly, it may stop before."""
    name = _counter(model)
    if name is None:
        return model
    stays = {"early_stopping": False} if exactly and isinstance(model, _HISTOGRAM) else {}
    return model.set_params(**{name: max(1, round(trees))}, **stays)


def affordable(
    model: Any, X: Any, y: Any, weights: Weights, seconds: float, outputs: int
) -> int | None:
    """Return how many trees an unfitted model can have in some time; None if it can have all it asks for.

    Parameters
    ----------
    model : estimator
        Of any kind; what does not grow by trees has all the time it takes.
    X, y, weights : array
        What it is to be fitted on.
    seconds : float
        For the fit.
    outputs : int
        How many trees make one step: one for each class, where there are more than two.
    """
    name = _counter(model)
    if name is None:
        return None
    asked = int(model.get_params()[name])
    if asked * outputs * X.shape[0] <= QUICK * seconds:
        return None
    some = _seconds(model, _TRIED, X, y, weights)
    if asked / _TRIED * some <= _PRUDENCE * seconds:
        return None
    # The second fit is the quicker one, if any: a tree is rather taken for slower than it is.
    one = min(_seconds(model, 1, X, y, weights), some)
    tree = (some - one) / (_TRIED - 1)
    most = 1 + (_PRUDENCE * seconds - one) / tree if tree > 0 else asked
    return max(1, int(most)) if most < asked else None


def _counter(model: Any) -> str | None:
    """Return the parameter that holds the number of trees; None where a model does not grow by trees."""
    if isinstance(model, _HISTOGRAM):
        return "max_iter"
    return next((name for name in _NAMES if name in model.get_params()), None)


def _seconds(model: Any, trees: int, X: Any, y: Any, weights: Weights) -> float:
    start = time.perf_counter()
    timed = with_trees(clone(model), trees, exactly=False)
    if needs_held_out(timed):
        timed.set_params(**{_PATIENCE: None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will say so
        fit_model(timed, X, y, weights)
    return time.perf_counter() - start

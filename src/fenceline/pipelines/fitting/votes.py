"""Fitted models that vote: several of one pipeline, or one model fitted without one part of its rows after another.

A booster or a network follows the noise of the rows it was fitted on, and each fit follows other noise. So
the mean of several is better than any of them: on 1,000 to 30,000 rows as much as a longer search brings
(docs/decisions/0029). Linear models hardly change with the rows, and forests are means already.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch

from fenceline.metrics.trial import Rows, Task, take
from fenceline.pipelines.fitting.arrange import algorithms, predictor
from fenceline.pipelines.fitting.weights import Weights, fit_model
from fenceline.problem.configuration import Choice

PARTS = 8
"""Each fit does without one of so many parts of the rows: seven eighths are nearly all."""
FEWEST = 4
"""With fewer votes than this, what they gain is less than what the missing rows cost."""
_BOOSTERS = frozenset(
    {"CatBoost", "GradientBoosting", "HistGradientBoosting", "LightGBM", "XGBoost"}
)
_NETWORK = "MLP"
_FIT = "fit"
"""Before the number of each fit, in the names of a voter's members."""


def gains_by_votes(configuration: Mapping[str, Choice], task: Task) -> bool:
    """Tell whether several fits of a configuration's model are likely to be better than one.

    One network in eight that has not converged spoils a mean of numbers, and hardly one of probabilities.
    """
    unsteady = _BOOSTERS if task == "regression" else _BOOSTERS | {_NETWORK}
    return {*algorithms(predictor(configuration))} <= unsteady


def voting_model(
    models: Sequence[Any], classes: NDArray[Any] | None, weights: Sequence[int]
) -> Any:
    """Return scikit-learn's own voter, as its `fit` would leave it had it not to fit anew.

    Parameters
    ----------
    models : sequence of estimators
        Fitted.
    classes : array or None
        What they tell apart; None where they predict numbers.
    weights : sequence of int
        How many votes each has.
    """
    return _voter([(f"pipeline{i}", model) for i, model in enumerate(models, 1)], classes, weights)


def fit_votes(model: Any, X: Any, y: Any, weights: Weights, votes: int, seed: int) -> Any:
    """Fit a model several times, each time without another part of the rows, and let the fits vote.

    Parameters
    ----------
    model : estimator
        Unfitted.
    X, y, weights : array
        What to fit it on.
    votes : int
        How many fits.
    seed : int
        Of the parts, and of the random numbers of each fit.
    """
    fits = []
    for number, rows in enumerate(_rows_of_fits(y, is_classifier(model), seed)[:votes]):
        some = None if weights is None else weights[rows]
        fits.append(fit_model(_seeded(clone(model), seed + number), take(X, rows), y[rows], some))
    named = [(f"{_FIT}{i}", fitted) for i, fitted in enumerate(fits, 1)]
    return _voter(named, np.unique(y) if is_classifier(model) else None, [1] * len(fits))


def fits_that_vote(pipeline: Any) -> int:
    """Return how many fits of one model vote in the last step of a pipeline; 1 where it was fitted once."""
    model = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    model = getattr(model, "estimator_", model)
    if not isinstance(model, VotingClassifier | VotingRegressor):
        return 1
    names: list[str] = [name for name, _ in model.estimators]
    return max(1, sum(name.startswith(_FIT) for name in names))


def _rows_of_fits(y: Any, classifies: bool, seed: int) -> list[Rows]:
    """Return the rows of each fit; those of a class too small for every part are in all of them."""
    rows = np.arange(len(y))
    if not classifies:
        parts = KFold(PARTS, shuffle=True, random_state=seed).split(rows)
        return [kept for kept, _ in parts]
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    rare = sizes[codes] < PARTS
    rows, rest = rows[~rare], rows[rare]
    parts = StratifiedKFold(PARTS, shuffle=True, random_state=seed).split(rows, codes[~rare])
    return [np.concatenate([rows[kept], rest]) for kept, _ in parts]


def _seeded(model: Any, seed: int) -> Any:
    """Return the model with random numbers of its own."""
    seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeds, seed))


def _voter(
    named: list[tuple[str, Any]], classes: NDArray[Any] | None, weights: Sequence[int]
) -> Any:
    if classes is None:
        voter = VotingRegressor(named, weights=list(weights))
    else:
        voter = VotingClassifier(named, voting="soft", weights=list(weights))
        voter.le_ = LabelEncoder().fit(classes)
        voter.classes_ = np.sort(classes)
    voter.estimators_ = [model for _, model in named]
    voter.named_estimators_ = Bunch(**dict(named))
    return voter

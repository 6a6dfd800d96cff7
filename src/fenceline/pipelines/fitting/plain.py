"""A fitted pipeline in plain scikit-learn, for whoever wants to do without this package."""

import copy
from typing import Any

from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from fenceline.pipelines.fitting.prepare_table import TablePreparation


def plain(fitted: Any) -> Any:
    """Return a fitted model whose steps are scikit-learn's and whose predictions are the same.

    Steps that are so already are shared with the model that is given, which stays as it is.
    """
    if isinstance(fitted, TablePreparation):
        return fitted.to_sklearn()
    if isinstance(fitted, Pipeline):
        return Pipeline([(name, plain(step)) for name, step in fitted.steps])
    if isinstance(fitted, FixedThresholdClassifier):
        decider = copy.copy(fitted)
        decider.estimator_ = plain(fitted.estimator_)
        return decider
    if isinstance(fitted, VotingClassifier | VotingRegressor):
        voter = copy.copy(fitted)
        voter.estimators_ = [plain(member) for member in fitted.estimators_]
        return voter
    return fitted

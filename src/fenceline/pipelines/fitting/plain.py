"""A fitted pipeline in plain scikit-learn, for whoever wants to do without this package."""

import copy
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder
from sklearn.utils import Bunch

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.group_thresholds import GroupThresholds
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.prepare_columns import median, to_dense
from fenceline.pipelines.fitting.prepare_parts import dense
from fenceline.pipelines.fitting.prepare_table import TablePreparation


def plain(fitted: Any) -> Any:
    """Return a fitted model whose steps are scikit-learn's and whose predictions are the same.

    Steps that are so already are shared with the model that is given, which stays as it is.

    Raises
    ------
    DefinitionError
        A step of this package has no equal in scikit-learn.
    """
    if isinstance(fitted, TablePreparation):
        return fitted.to_sklearn()
    if isinstance(fitted, Pipeline):
        return Pipeline([(name, plain(step)) for name, step in fitted.steps])
    if isinstance(fitted, GroupThresholds):
        raise DefinitionError(
            f"The model decides at another threshold for each group of {fitted.group!r}, for which "
            "scikit-learn has no step; use best_pipeline_ as it is, or fit without group_thresholds."
        )
    if isinstance(fitted, FixedThresholdClassifier):
        model = plain(fitted.estimator_)
        return _changed(fitted, estimator=clone(model), estimator_=model)
    if isinstance(fitted, VotingClassifier | VotingRegressor):
        return _vote(fitted, [plain(member) for member in fitted.estimators_])
    if isinstance(fitted, EncodedLabels):
        return _labelled(fitted)
    if isinstance(fitted, SimpleImputer) and fitted.strategy is median:
        return _changed(fitted, strategy="median")  # which matters to `fit` alone
    if isinstance(fitted, FunctionTransformer) and fitted.func is to_dense:
        return dense()
    if type(fitted).__module__.partition(".")[0] == "fenceline":
        raise DefinitionError(
            f"A step {type(fitted).__name__} has no equal in scikit-learn; save the model with its "
            "save() and load it with fenceline.load, where Fenceline is installed."
        )
    return fitted


def _changed(fitted: Any, **changes: Any) -> Any:
    changed = copy.copy(fitted)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def _vote(fitted: Any, members: list[Any]) -> Any:
    """Return a voter of other members, under the same names."""
    named = [(name, member) for (name, _), member in zip(fitted.estimators, members, strict=True)]
    return _changed(
        fitted, estimators=named, estimators_=members, named_estimators_=Bunch(**dict(named))
    )


def _labelled(fitted: EncodedLabels) -> VotingClassifier:
    """Return a classifier of encoded labels as scikit-learn has it: a vote of one decodes its answer."""
    model = plain(fitted.estimator_)
    voter = VotingClassifier([("model", model)], voting="soft")
    voter.le_ = LabelEncoder().fit(fitted.classes_)
    return _changed(
        voter,
        classes_=fitted.classes_,
        estimators_=[model],
        named_estimators_=Bunch(model=model),
    )

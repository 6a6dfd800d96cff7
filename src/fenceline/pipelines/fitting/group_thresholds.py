"""A fitted classifier that decides at a threshold of its own for each group."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fenceline.errors import DefinitionError
from fenceline.metrics.trial import Grouping, Trial, as_groups, find_group, group_labels
from fenceline.pipelines.fitting.thresholds import cut, decided, undecided

UNLAWFUL = (
    "group_thresholds=True: the model decides at another threshold for each group of {!r}, and needs "
    "the group of everybody it decides on. Treating people differently by a protected attribute is "
    "unlawful in some uses and places (credit, hiring and housing in the United States, say): ask "
    "before you deploy it."
)


class GroupThresholds(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Decides at another threshold for each group; it is made of a fitted pipeline, not fitted itself.

    Parameters
    ----------
    estimator : classifier
        Fitted, for two classes.
    thresholds : mapping of str to float
        For each group, where its decisions change: a probability, or a decision value of a model
        that has no probabilities.
    positive : label
        The class that is chosen at or above the threshold.
    group : str
        What the groups are called: a column of X, unless they are handed to `predict`.
    bins : tuple of float
        Edges that cut numbers into groups; none where each value is a group.
    """

    def __init__(
        self,
        estimator: Any,
        thresholds: Mapping[str, float],
        positive: Any,
        group: str,
        bins: tuple[float, ...] = (),
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.positive = positive
        self.group = group
        self.bins = bins

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes, in the order of the probabilities."""
        return np.asarray(self.estimator.classes_)

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """Decide about rows.

        Parameters
        ----------
        X : DataFrame or array
            The rows.
        groups : mapping of str to array, or DataFrame, optional
            The group of each row by its name; a column of X of that name need not be given.
        """
        cuts = self._cuts(X, groups)
        chosen = self._response(X) >= cuts
        last = self.classes_[1] == self.positive
        return np.asarray(self.classes_[(chosen if last else ~chosen).astype(np.intp)])

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class; groups have no part in it."""
        return np.asarray(self.estimator.predict_proba(X))

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision values; groups have no part in them."""
        return np.asarray(self.estimator.decision_function(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __str__(self) -> str:
        likely = hasattr(self.estimator, "predict_proba")
        unit = "probability" if likely else "decision value"
        each = ", ".join(f"{label} {value:.3g}" for label, value in self.thresholds.items())
        return f"{unit} by {self.group}: {each}"

    def _response(self, X: Any) -> NDArray[np.float64]:
        last = self.classes_[1] == self.positive
        if hasattr(self.estimator, "predict_proba"):
            return np.asarray(self.estimator.predict_proba(X)[:, 1 if last else 0])
        values = np.asarray(self.estimator.decision_function(X))
        return values if last else -values

    def _cuts(self, X: Any, groups: Any) -> NDArray[np.float64]:
        """Return the threshold of each row."""
        groups = as_groups(groups)
        known = {} if groups is None else {str(name): groups[name] for name in groups}
        columns = {str(c): X[c] for c in X.columns} if hasattr(X, "columns") else {}
        try:
            values = np.asarray((columns | known)[find_group(self.group, columns | known)])
        except DefinitionError:
            raise DefinitionError(
                f"This model decides by group, and needs {self.group!r} of every row: give "
                f"predict(X, groups={{{self.group!r}: ...}}), or a DataFrame with that column."
            ) from None
        if len(values) != len(X):
            raise DefinitionError(
                f"groups[{self.group!r}] must have one value for each of the {len(X)} rows. "
                f"Got {len(values)}."
            )
        labels = group_labels(self.group, values, self.bins)
        found, codes = np.unique(labels, return_inverse=True)
        unknown = [str(label) for label in found if str(label) not in self.thresholds]
        if unknown:
            raise DefinitionError(
                f"There is no threshold for the groups {unknown!r} of {self.group!r}, which were not "
                f"there when the model was fitted; known are {list(self.thresholds)!r}."
            )
        return np.array([self.thresholds[str(label)] for label in found])[codes]


def decided_by_group(trial: Trial, log_odds: tuple[float, ...], grouping: Grouping) -> Trial:
    """Return a trial of the same fitted pipeline that decides at thresholds of each group.

    What it needs to predict is that of the pipeline at even odds: looking up a threshold adds next
    to nothing, and the group need not be a column of X.
    """
    even = decided(trial, 0.0)
    cuts = cut(np.array(log_odds), trial.answers.likely)
    other = Trial(
        even.pipeline,
        trial.table,
        trial.rows,
        trial.train_seconds,
        trial.reached,
        cuts=cuts[trial.grouping(*grouping)[1]],
    )
    for name in ("X", "response"):
        if name in trial.__dict__:
            setattr(other, name, trial.__dict__[name])
    if "response" in trial.__dict__:
        other.answers.recall(trial.answers, None)
    return other


def by_group(trial: Trial, log_odds: tuple[float, ...], grouping: Grouping) -> GroupThresholds:
    """Return the classifier that decides as a trial does, for rows that are yet to come."""
    labels = trial.table.grouping(*grouping)[0]
    cuts = cut(np.array(log_odds), trial.answers.likely).tolist()
    thresholds = dict(zip(labels, cuts, strict=True))
    positive = trial.table.classes[-1]
    return GroupThresholds(undecided(trial.pipeline), thresholds, positive, *grouping)

"""Any labels for classifiers that want the numbers 0, 1, 2 ..., as XGBoost does."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import LabelEncoder


class EncodedLabels(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """A classifier that sees labels as numbers, and answers with the labels themselves.

    Parameters
    ----------
    estimator : classifier
        Fitted on the positions of the classes in order.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to encoded labels."""
        encoder = LabelEncoder()
        codes = encoder.fit_transform(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, codes, **weights)
        self.classes_ = encoder.classes_
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""
        # CatBoost answers with a column when there are more than two classes.
        codes = np.asarray(self.estimator_.predict(X)).reshape(-1).astype(np.intp)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

"""The scikit-learn estimators: a table and a fence in, a certified pipeline out."""

from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor

__all__ = ["FencelineClassifier", "FencelineRegressor"]

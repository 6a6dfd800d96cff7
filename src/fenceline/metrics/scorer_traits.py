"""What is known of scikit-learn's scorers by their names: range, task, whether they decide or take weights."""

from sklearn.metrics import get_scorer_names

from fenceline.errors import DefinitionError, suggestion
from fenceline.metrics.names import scorer_of, spoken
from fenceline.metrics.ranges import ANY, SHARE, Range

_UNIT = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "f1",
    "jaccard",
    "precision",
    "recall",
    "roc_auc",
    "top_k",
)
_RANGES = {
    "neg_": Range(high=0.0),
    "r2": Range(high=1.0),
    "explained_variance": Range(high=1.0),
    "d2_": Range(high=1.0),
    "matthews_corrcoef": Range(-1.0, 1.0),
    "adjusted_": Range(-1.0, 1.0),
    "positive_likelihood_ratio": Range(low=0.0),
    "mutual_info_score": Range(low=0.0),
    "normalized_mutual_info": SHARE,
    "completeness": SHARE,
    "fowlkes_mallows": SHARE,
    "homogeneity": SHARE,
    "rand_score": SHARE,
    "v_measure": SHARE,
}
"""What scorers that begin like this can come to; all others may be any number."""
_SOFT = (
    "average_precision",
    "d2_brier",
    "d2_log_loss",
    "neg_brier",
    "neg_log_loss",
    "roc_auc",
    "top_k",
)
"""Scores of classifiers that look at probabilities or ranks, not at decisions."""
_NUMBERS = (
    "d2_absolute_error",
    "explained_variance",
    "neg_max_error",
    "neg_mean_",
    "neg_median_",
    "neg_root_",
    "r2",
)
"""Scores of regressors."""
_UNWEIGHTED = (
    "adjusted_",
    "completeness",
    "fowlkes_mallows",
    "homogeneity",
    "mutual_info",
    "neg_max_error",
    "neg_negative_likelihood_ratio",
    "normalized_mutual_info",
    "positive_likelihood_ratio",
    "rand_score",
    "v_measure",
)
"""Scores in which scikit-learn lets all rows count the same."""


def scorer_name(name: object) -> str:
    """Return a scorer's name as scikit-learn knows it, or name the nearest."""
    if not isinstance(name, str):
        raise DefinitionError(f"A scorer is given by its name. Got {name!r}.")
    found = scorer_of(name)
    if found not in get_scorer_names():
        raise DefinitionError(f"There is no scorer {name!r}.{suggestion(name, spoken())}")
    return found


def scorer_range(scorer: str) -> Range:
    """Return which values a scorer can come to."""
    if is_unit(scorer):
        return SHARE
    return next((found for name, found in _RANGES.items() if scorer.startswith(name)), ANY)


def is_unit(scorer: str) -> bool:
    """Tell whether a scorer's values lie between 0 and 1."""
    return scorer.startswith(_UNIT)


def for_numbers(scorer: str) -> bool:
    """Tell whether a score is about predicted numbers, not about classes."""
    return scorer.startswith(_NUMBERS)


def decides(scorer: str) -> bool:
    """Tell whether a score of two classes depends on hard decisions."""
    return not scorer.startswith(_SOFT)


def weighable(scorer: str) -> bool:
    """Tell whether rows can count differently in a score."""
    return not scorer.startswith(_UNWEIGHTED)

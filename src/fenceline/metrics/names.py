"""What scores are called: the short names and the names of functions that people write for scorers.

scikit-learn turns errors round so that larger is better: its scorer of the mean absolute error is
``neg_mean_absolute_error``, with values below 0. People write ``mae <= 1.7``. So every such error
has its own name here, and as a metric its own direction: smaller is better.
"""

from functools import cache

from sklearn.metrics import get_scorer_names

_SCORES = {
    "acc": "accuracy",
    "auc": "roc_auc",
    "auprc": "average_precision",
    "auroc": "roc_auc",
    "mcc": "matthews_corrcoef",
    "pr_auc": "average_precision",
    "r_squared": "r2",
    "sensitivity": "recall",
    "tpr": "recall",
    "true_positive_rate": "recall",
}
_ERRORS = {
    "brier": "neg_brier_score",
    "brier_score_loss": "neg_brier_score",
    "logloss": "neg_log_loss",
    "mae": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "medae": "neg_median_absolute_error",
    "mse": "neg_mean_squared_error",
    "msle": "neg_mean_squared_log_error",
    "rmse": "neg_root_mean_squared_error",
    "rmsle": "neg_root_mean_squared_log_error",
}
_SHORT = ("mae", "mape", "mse", "msle", "rmse", "rmsle")
"""Names under which an error is shown; other errors are shown by scikit-learn's, without ``neg_``."""
_METRICS = {"fpr": "false_positive_rate", "fnr": "false_negative_rate"}
_ELSEWHERE = {
    "specificity": "'false_positive_rate <= 0.1' for specificity >= 0.9",
    "tnr": "'false_positive_rate <= 0.1' for tnr >= 0.9",
    "true_negative_rate": "'false_positive_rate <= 0.1' for true_negative_rate >= 0.9",
    "disparate_impact": "'selection_rate_ratio(COLUMN) >= 0.8', which is the four-fifths rule",
    "selection_rate_difference": "'demographic_parity_difference(COLUMN) <= 0.1'",
    "statistical_parity_difference": "'demographic_parity_difference(COLUMN) <= 0.1'",
}
_SUFFIX = "_score"


def scorer_of(name: str) -> str:
    """Return the scorer that a name stands for; names that stand for none stay as they are.

    >>> scorer_of("auc"), scorer_of("f1_score"), scorer_of("mae"), scorer_of("log_loss")
    ('roc_auc', 'f1', 'neg_mean_absolute_error', 'neg_log_loss')
    """
    known = get_scorer_names()
    if name in known:
        return name
    for other in (_SCORES.get(name), _ERRORS.get(name), f"neg_{name}", name.removesuffix(_SUFFIX)):
        if other in known:
            return str(other)
    return name


def error_name(name: str) -> str | None:
    """Return the name under which an error is shown; None for what is no error of this direction.

    >>> error_name("mean_absolute_error"), error_name("log_loss"), error_name("roc_auc")
    ('mae', 'log_loss', None)
    """
    scorer = scorer_of(name)
    if name == scorer or not scorer.startswith("neg_"):
        return None
    return natural(scorer)


def natural(scorer: str) -> str:
    """Return the name of the error that a scorer turns round; the scorer itself if it turns none."""
    if not scorer.startswith("neg_") or scorer == "neg_negative_likelihood_ratio":
        return scorer
    short = (name for name in _SHORT if _ERRORS[name] == scorer)
    return next(short, scorer.removeprefix("neg_"))


def metric_of(name: str) -> str:
    """Return the metric of this package that an abbreviation stands for, or the name itself."""
    return _METRICS.get(name, name)


@cache
def spoken() -> tuple[str, ...]:
    """Return all names that stand for a scorer: its own, the abbreviations, and those of errors."""
    errors = (natural(scorer) for scorer in get_scorer_names())
    return tuple(dict.fromkeys([*get_scorer_names(), *_SCORES, *_ERRORS, *_METRICS, *errors]))


def elsewhere(name: str) -> str:
    """Return how something is said that has no metric of its own; empty if nothing is known."""
    return _ELSEWHERE.get(name, "")

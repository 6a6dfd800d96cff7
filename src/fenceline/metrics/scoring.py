"""A scikit-learn score of a trial, on all of its rows or some."""

import math
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, log_loss

from fenceline.errors import MeasurementError
from fenceline.metrics.decisions import COUNTED, Confusion, score_sweep
from fenceline.metrics.trial import Rows, Trial


def scored(scorer: str, trial: Trial, at: Rows | None = None) -> float:
    """Return a score on all or some rows of a trial."""
    at = np.arange(len(trial.rows)) if at is None else at
    with warnings.catch_warnings():
        # Undefined scores come back as NaN, and that is refused here in plain words.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        value = float(_SHORTCUTS.get(scorer, _by_scorer)(scorer, trial, at))
    if not np.isfinite(value):
        seen = len(np.unique(trial.target[at]))
        reason = " They are all of one class." if seen == 1 else ""
        raise MeasurementError(f"{scorer} is not defined on these {len(at)} rows.{reason}")
    return value


def right(scorer: str, trial: Trial, at: Rows) -> tuple[Rows, NDArray[np.bool_]] | None:
    """Return the rows that a score is a share of, and which of them are right; None if it is no plain share."""
    binary = trial.table.task == "binary"
    if trial.weights is not None or not (scorer == "accuracy" or (binary and scorer in _SHARES)):
        return None
    predicted = trial.answers.predict(at)
    if scorer in _SHARES:
        among = (trial.target[at] if scorer == "recall" else predicted) == 1
        at, predicted = at[among], predicted[among]
    return (at, predicted == trial.target[at]) if at.size else None


_SHARES = ("recall", "precision")
"""Of the positives, and of those that are predicted positive."""


def _by_scorer(scorer: str, trial: Trial, at: Rows) -> float:
    weights = {} if trial.weights is None else {"sample_weight": trial.weights[at]}
    return float(get_scorer(scorer)(trial.answers, at, trial.target[at], **weights))


def _auroc(scorer: str, trial: Trial, at: Rows) -> float:
    """Return the (weighted) share of pairs in order, ties counting half: scikit-learn's value, faster.

    A gap between groups is resampled hundreds of times for a certificate.
    """
    if trial.table.task != "binary":
        return _by_scorer(scorer, trial, at)
    answers = trial.answers
    if hasattr(answers, "decision_function"):
        risk = answers.decision_function(at)
    else:
        risk = answers.predict_proba(at)[:, 1]
    weights = np.ones(len(at)) if trial.weights is None else trial.weights[at]
    values, place = np.unique(risk, return_inverse=True)
    positives, negatives = (
        np.bincount(place, weights * (trial.target[at] == truth), len(values)) for truth in (1, 0)
    )
    if not positives.any() or not negatives.any():
        return math.nan
    below = np.cumsum(negatives) - negatives / 2
    return float(positives @ below / (positives.sum() * negatives.sum()))


def _neg_log_loss(scorer: str, trial: Trial, at: Rows) -> float:
    """Return the score also on rows that lack one of several classes, where the scorer fails."""
    answers = trial.answers
    weights = None if trial.weights is None else trial.weights[at]
    return -float(
        log_loss(
            trial.target[at],
            answers.predict_proba(at),
            labels=answers.classes_,
            sample_weight=weights,
        )
    )


def _decided(scorer: str, trial: Trial, at: Rows) -> float:
    """Return a score of decisions between two classes from the counts of them.

    A resample takes scikit-learn 3.2 ms for recall and 0.16 ms this way; a certificate has hundreds.
    """
    if trial.table.task != "binary":
        return _by_scorer(scorer, trial, at)
    cells = 2 * trial.target[at] + trial.answers.predict(at)
    weights = None if trial.weights is None else trial.weights[at]
    counts = np.bincount(cells, weights, 4).astype(np.float64).reshape(4, 1, 1)
    return float(score_sweep(scorer, Confusion(*counts)).parts[0, 0])


_SHORTCUTS = dict.fromkeys(COUNTED, _decided) | {"roc_auc": _auroc, "neg_log_loss": _neg_log_loss}

"""What a classifier's decisions and probabilities are worth: matrix, curves, calibration."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from fenceline.certificate.inspection.record import (
    Bin,
    Calibration,
    ClassRow,
    Curve,
    Threshold,
    ThresholdMetrics,
    finite,
    rate,
    short,
    shorts,
)
from fenceline.metrics.trial import Trial
from fenceline.pipelines.fitting.thresholds import cut, threshold_of
from fenceline.pipelines.threshold_curve import ThresholdCurve

MOST_CLASSES = 30
"""A larger matrix is for a program, not for a reader."""
POINTS = 200
"""Of a curve; more cannot be told apart on a chart of 500 pixels."""
BINS = 10


def confusion(trial: Trial) -> list[list[int]] | None:
    """Count rows by true and predicted class."""
    size = len(trial.table.classes)
    if size > MOST_CLASSES:
        return None
    places = trial.target * size + _predicted(trial)
    counts = np.bincount(places, minlength=size * size).reshape(size, size)
    return [[int(count) for count in row] for row in counts]


def by_class(trial: Trial, confidence: float) -> list[ClassRow] | None:
    """Return recall and precision of every class."""
    if len(trial.table.classes) > MOST_CLASSES:
        return None
    predicted, rows = _predicted(trial), []
    right = predicted == trial.target
    for i, label in enumerate(trial.table.classes):
        recall = rate(right, np.flatnonzero(trial.target == i), trial, confidence)
        if recall is None:
            continue
        precision = rate(right, np.flatnonzero(predicted == i), trial, confidence)
        row: ClassRow = {
            "label": str(label),
            "rows": recall["cases"],
            "recall": recall,
            "precision": precision,
        }
        rows.append(row)
    return rows


def roc(trial: Trial) -> Curve | None:
    """Return the share of positives found against that of negatives taken for them."""
    if trial.response is None or len(np.unique(trial.target)) < 2:
        return None
    x, y, _ = roc_curve(trial.target, trial.response, sample_weight=trial.weights)
    area = roc_auc_score(trial.target, trial.response, sample_weight=trial.weights)
    return _curve(x, y, float(area))


def precision_recall(trial: Trial) -> Curve | None:
    """Return precision against the share of positives found."""
    if trial.response is None or not trial.target.any():
        return None
    y, x, _ = precision_recall_curve(trial.target, trial.response, sample_weight=trial.weights)
    area = average_precision_score(trial.target, trial.response, sample_weight=trial.weights)
    return _curve(x[::-1], y[::-1], float(area))


def threshold(trial: Trial) -> Threshold | None:
    """Return where the fitted pipeline decides between two classes: the mean, if groups have their own."""
    if trial.response is None:
        return None
    likely = trial.answers.likely
    value = float(cut(threshold_of(trial.pipeline) or 0.0, likely))
    if trial.cuts is not None:
        value = float(np.unique(trial.cuts).mean())
    return {"value": short(value), "kind": "probability" if likely else "decision value"}


def threshold_metrics(
    trial: Trial, curve: ThresholdCurve | None, chosen: float | None = None
) -> ThresholdMetrics | None:
    """Return a stored curve over thresholds, in the unit that the model's scores have.

    Parameters
    ----------
    trial : Trial
        The model.
    curve : ThresholdCurve or None
        As the folds measured it.
    chosen : float, optional
        The log-odds that were chosen on it: the model itself may decide elsewhere.
    """
    if curve is None or trial.response is None or curve.by_group is not None:
        return None
    likely = trial.answers.likely
    return {
        "thresholds": shorts(cut(curve.log_odds, likely)),
        "chosen": None if chosen is None else short(float(cut(chosen, likely))),
        "selected": [finite(v) for v in curve.selected],
        "metrics": {n: [finite(v) for v in values] for n, values in curve.values.items()},
    }


def calibration(trial: Trial, confidence: float) -> Calibration | None:
    """Compare probabilities with what happened, in bins of about equally many rows.

    With two classes it is the probability of the positive one; with more, that of the class predicted.
    """
    if not hasattr(trial.answers, "predict_proba"):
        return None
    shares = trial.answers.predict_proba(np.arange(len(trial.rows)))
    if trial.table.task == "binary":
        said, came = shares[:, 1], trial.target == 1
    else:
        said, came = shares.max(axis=1), shares.argmax(axis=1) == trial.target
    edges = np.unique(np.quantile(said, np.linspace(0, 1, BINS + 1)[1:-1]))
    places = np.digitize(said, edges)
    weights = np.ones(len(said)) if trial.weights is None else trial.weights
    bins: list[Bin] = []
    error = 0.0
    for place in np.unique(places):
        at = np.flatnonzero(places == place)
        observed = rate(came, at, trial, confidence)
        assert observed is not None, "a place is there because rows are"
        predicted = float(np.average(said[at], weights=weights[at]))
        bins.append({"predicted": short(predicted), "observed": observed})
        error += float(weights[at].sum() / weights.sum()) * abs(predicted - observed["value"])
    truth = np.eye(shares.shape[1])[trial.target]
    each = np.square(shares - truth).sum(axis=1) / (2 if shares.shape[1] == 2 else 1)
    brier = float(np.average(each, weights=weights))
    return {"bins": bins, "brier": short(brier), "error": short(error)}


def _predicted(trial: Trial) -> NDArray[np.intp]:
    return np.asarray(trial.answers.predict(np.arange(len(trial.rows))), dtype=np.intp)


def _curve(x: NDArray[np.float64], y: NDArray[np.float64], area: float) -> Curve:
    """Return a curve with no more points than a chart can show, its ends among them."""
    at = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int))
    return {"x": shorts(x[at]), "y": shorts(y[at]), "area": short(area)}

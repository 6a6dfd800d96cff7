"""Predicted numbers against true ones."""

import numpy as np
from scipy import stats

from fenceline.certificate.inspection.record import Numbers, Residuals, short, shorts
from fenceline.metrics.trial import Rows, Trial

POINTS = 800
"""Rows that are drawn; the residuals are those of all."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def against_true(trial: Trial, confidence: float, rng: np.random.Generator) -> Numbers:
    """Return a sample of predictions with the truth, and the residuals of all rows."""
    every = np.arange(len(trial.rows))
    shown = every if every.size <= POINTS else np.sort(rng.choice(every, POINTS, replace=False))
    return {
        "true": shorts(trial.target[shown]),
        "predicted": shorts(trial.answers.predict(shown)),
        "residuals": residuals(trial, every, confidence),
    }


def residuals(trial: Trial, at: Rows, confidence: float) -> Residuals:
    """Return how far predictions of some rows lie from the truth, on average with Student's interval."""
    rest = np.asarray(trial.target[at], dtype=np.float64) - trial.answers.predict(at)
    weights = np.ones(len(at)) if trial.weights is None else trial.weights[at]
    mean = float(np.average(rest, weights=weights))
    size = float(weights.sum() ** 2 / np.square(weights).sum())
    reach = 0.0
    if size > 1:
        variance = float(np.average(np.square(rest - mean), weights=weights)) * size / (size - 1)
        reach = float(stats.t.ppf((1 + confidence) / 2, size - 1)) * (variance / size) ** 0.5
    return {
        "mean": short(mean),
        "low": short(mean - reach),
        "high": short(mean + reach),
        "absolute": short(float(np.average(np.abs(rest), weights=weights))),
        "quantiles": shorts(np.quantile(rest, QUANTILES)),
    }

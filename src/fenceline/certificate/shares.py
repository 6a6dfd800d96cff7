"""One-sided bounds of a share: exact, Wilson's, or Student's on the logit scale."""

import math
from typing import TypeAlias

from scipy import stats
from scipy.special import expit, logit

Bounds: TypeAlias = tuple[float, float, float]
"""A value, and bounds below and above it that each fail with at most the given risk."""


def on_logit_scale(part: float, error: float, size: int, freedom: int, risk: float) -> Bounds:
    """Return Student's bounds of a score between 0 and 1."""
    if not error > 0 or not 0 < part < 1:
        # However often rows are drawn, a score of 1 stays 1: bounded as a rate of the smallest cell.
        return exact_rate(round(part * size), size, risk)
    reach = float(stats.t.ppf(1 - risk, freedom)) * error / (part * (1 - part))
    return part, float(expit(logit(part) - reach)), float(expit(logit(part) + reach))


def wilson(events: float, cases: float, risk: float) -> Bounds:
    """Return Wilson's bounds of a rate."""
    rate, square = events / cases, float(stats.norm.ppf(1 - risk)) ** 2
    centre = rate + square / (2 * cases)
    half = math.sqrt(square * (rate * (1 - rate) / cases + square / (4 * cases**2)))
    low, high = ((centre + side * half) / (1 + square / cases) for side in (-1, 1))
    return rate, max(0.0, low), min(1.0, high)


def exact_rate(events: float, cases: float, risk: float) -> Bounds:
    """Return Clopper and Pearson's bounds of a rate."""
    low = stats.beta.ppf(risk, events, cases - events + 1) if events else 0.0
    high = stats.beta.ppf(1 - risk, events + 1, cases - events) if events < cases else 1.0
    return events / cases, float(low), float(high)

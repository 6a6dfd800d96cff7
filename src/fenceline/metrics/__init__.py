"""What an objective or a constraint can be put on: time, size, error rates, fairness, any score.

Every function here returns a metric; compare it with a bound to get a constraint::

    latency_us(batch=1000) <= 10
    score_gap("roc_auc", group="AGE", bins=[30, 40, 50]) <= 0.07
    score("balanced_accuracy") >= 0.7

:func:`parse` reads the same from a text, for the shell and for stored runs.
"""

from fenceline.metrics.custom import custom
from fenceline.metrics.fairness import (
    demographic_parity_difference,
    equalized_odds_difference,
    score_gap,
    selection_rate_ratio,
)
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.rates import false_negative_rate, false_positive_rate
from fenceline.metrics.registry import as_metric, parse
from fenceline.metrics.resources import latency_us, memory_mb, size_mb, train_seconds
from fenceline.metrics.scores import loss, robustness, score
from fenceline.metrics.trial import Table, Trial
from fenceline.metrics.worst_group import worst_group

__all__ = [
    "PipelineMetric",
    "Reading",
    "Table",
    "Trial",
    "as_metric",
    "custom",
    "demographic_parity_difference",
    "equalized_odds_difference",
    "false_negative_rate",
    "false_positive_rate",
    "latency_us",
    "loss",
    "memory_mb",
    "parse",
    "robustness",
    "score",
    "score_gap",
    "selection_rate_ratio",
    "size_mb",
    "train_seconds",
    "worst_group",
]

"""From a text such as ``score_gap(roc_auc, AGE)`` to the metric; texts are parsed, never evaluated."""

import inspect
import re
from collections.abc import Callable
from typing import Any

from sklearn.metrics import get_scorer_names

from fenceline.errors import DefinitionError, suggestion
from fenceline.metrics import fairness, rates, resources, scores
from fenceline.metrics.custom import CustomConstraint, custom
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.names import elsewhere, metric_of, scorer_of, spoken
from fenceline.metrics.scorers import is_scorer, scorer_object
from fenceline.metrics.worst_group import worst_group
from fenceline.problem.constraint import Constraint

_METRICS: dict[str, Callable[..., PipelineMetric]] = {
    made.__name__: made
    for made in (
        resources.latency_us,
        resources.size_mb,
        resources.train_seconds,
        resources.memory_mb,
        rates.false_positive_rate,
        rates.false_negative_rate,
        fairness.score_gap,
        fairness.demographic_parity_difference,
        fairness.equalized_odds_difference,
        fairness.selection_rate_ratio,
        worst_group,
        scores.robustness,
        scores.loss,
    )
}
_TEXT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)\s*)?")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def parse(text: str) -> PipelineMetric:
    """Return the metric a text names.

    Parameters
    ----------
    text : str
        ``NAME`` or ``NAME(ARGUMENTS)``: a metric of this package, a scikit-learn scorer, or what
        people call it (``auc``, ``mae``, ``rmse``, ``log_loss``: errors in their own direction). Bins
        are separated by colons: ``score_gap(roc_auc, AGE, bins=30:40:50)``.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise DefinitionError(
            f"The metric {text!r} cannot be read; write it like 'size_mb' or 'latency_us(batch=1000)'."
        )
    name, inside = metric_of(match[1]), match[2]
    if name not in _METRICS:
        if scorer_of(name) in get_scorer_names() and not inside:
            return scores.score(name)
        raise DefinitionError(f"There is no metric {name!r}.{_hint(name)}")
    made = _METRICS[name]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in filter(None, map(str.strip, (inside or "").split(","))):
        key, equals, value = argument.partition("=")
        if equals:
            named[key.strip()] = _value(key.strip(), value.strip())
        else:
            positional.append(argument)
    try:
        bound = inspect.signature(made).bind(*positional, **named)
    except TypeError as problem:
        usage = f"{name}{inspect.signature(made)}".split(" ->")[0]
        raise DefinitionError(
            f"The metric {text!r} is not complete: {problem}. Usage: {usage}."
        ) from None
    arguments = {key: _value(key, value) for key, value in bound.arguments.items()}
    return made(**arguments)


def known_names() -> tuple[str, ...]:
    """Return every name that :func:`parse` knows."""
    return (*_METRICS, *spoken())


def _hint(name: str) -> str:
    if other := elsewhere(name):
        return f" Write {other}."
    close = suggestion(name, known_names())
    # All hundred names would hide the message.
    return (
        close
        if close.startswith(" Did")
        else f" Known: {', '.join(_METRICS)} and scikit-learn's scorers."
    )


def as_metric(given: object) -> PipelineMetric:
    """Return the metric behind a metric, a constraint, a text, a scorer object, or a function."""
    if isinstance(given, PipelineMetric):
        return given
    if isinstance(given, CustomConstraint) and given.of is not None:
        return given.of
    if isinstance(given, Constraint):
        return parse(given.metric)
    if isinstance(given, str):
        return parse(given)
    if is_scorer(given):
        found = scorer_object(given)
        return parse(found) if isinstance(found, str) else found
    return custom(given)  # type: ignore[arg-type] # it says what is wrong if it is no function


def _value(key: str, value: Any) -> Any:
    """Read one argument of a metric."""
    if not isinstance(value, str):
        return value
    if key == "bins":
        parts = value.split(":")
        if not all(map(_NUMBER.fullmatch, parts)):
            raise DefinitionError(f"bins must be numbers such as 30:40:50. Got {value!r}.")
        return [float(part) for part in parts]
    if key in ("batch", "noise") and _NUMBER.fullmatch(value):
        return int(value) if value.isdigit() else float(value)
    return value

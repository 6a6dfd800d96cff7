"""Any function of a fitted pipeline and unseen rows, as a metric."""

import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError, MeasurementError
from fenceline.metrics.metric import Parts, PipelineMetric
from fenceline.metrics.trial import Rows, Trial, take
from fenceline.problem.constraint import Constraint

Function = Callable[[Any, Any, NDArray[Any], Mapping[str, NDArray[Any]]], float]
"""Takes pipeline, X, y and groups; returns a number."""


@dataclass(frozen=True, slots=True)
class CustomConstraint(Constraint):
    """A constraint on a metric that has no text: it carries the metric itself."""

    of: "Custom | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Custom(PipelineMetric):
    """A user's own function."""

    function: Function

    @property
    def decides(self) -> bool:
        """Nobody knows what a function asks the pipeline for; costs of decisions are the usual case."""
        return True

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Call the function."""
        at = np.arange(len(trial.rows)) if at is None else at
        rows = trial.rows[at]
        table = trial.table
        groups = {name: values[rows] for name, values in table.groups.items()}
        # Copies: a function that changes what it is given must not change what others measure.
        X, y = take(trial.X, at).copy(), table.y[rows]
        value = self.function(trial.pipeline, X, y, groups)
        if not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
            # An array's values would differ from pipeline to pipeline, and so would the message.
            what = f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)
            raise MeasurementError(f"Metric {self.name!r} must return a finite number. Got {what}.")
        return np.array([float(value)])

    def __le__(self, bound: float) -> Constraint:
        return CustomConstraint(self.name, "<=", bound, of=self)

    def __ge__(self, bound: float) -> Constraint:
        return CustomConstraint(self.name, ">=", bound, of=self)

    def equals(self, value: float, tolerance: float) -> Constraint:
        """Ask for a value, within a tolerance."""
        return CustomConstraint(self.name, "==", value, tolerance, of=self)


def custom(function: Function, name: str | None = None) -> Custom:
    """Return a function as a metric: ``custom(churn_cost) <= 3.5``.

    Parameters
    ----------
    function : callable
        ``function(pipeline, X, y, groups) -> float``: the fitted pipeline, rows it was not fitted
        on with the user's own labels, and a mapping from group names to values. Weights of rows
        are not handed to it; what it needs of them can be given as a group.
    name : str, optional
        By default the function's own.
    """
    if not callable(function):
        raise DefinitionError(f"A metric must be callable. Got {function!r}.")
    chosen: str = name or getattr(function, "__name__", "") or type(function).__name__
    if not chosen.isidentifier():
        raise DefinitionError(
            f"A metric needs a name; write custom(..., name='cost'). Got {chosen!r}."
        )
    try:
        inspect.signature(function).bind(None, None, None, None)
    except TypeError:
        raise DefinitionError(
            f"Metric {chosen!r} must take four arguments: pipeline, X, y, groups."
        ) from None
    except ValueError:
        pass  # a built-in without a signature: the first call will tell
    return Custom(chosen, function)

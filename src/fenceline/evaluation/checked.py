"""Measurements checked where they are made: what comes back to the run is plain numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fenceline.errors import MeasurementError
from fenceline.evaluation.sandbox.plain import describe
from fenceline.problem.problem import DETAILS, Problem


@dataclass(frozen=True, slots=True)
class Checked:
    """Calls a measure and returns its metrics as floats, or in words what is wrong with them.

    It runs where the measure does, in the guarded child if there is one: a result with code of
    its own (``__float__``, ``items``) can do no more harm there than the measure itself.
    """

    # Not in the repr: a message about the function need not print the whole space.
    problem: Problem = field(repr=False)
    function: Callable[[Any], Any]

    @classmethod
    def of(cls, problem: Problem, function: Callable[[Any], Any]) -> "Checked":
        """Leave behind what checking does not need: rules, which may be long to send."""
        return cls(replace(problem, allowed=(), starts=(), measure=_nothing), function)

    def __call__(self, task: Any) -> dict[str, Any] | str:
        """Measure; a metric with a standard error is a list of both, a broken contract a text."""
        measured = self.function(task)
        try:
            metrics = self.problem.check(measured)
            errors = self.problem.errors(measured)
            details = self.problem.details(measured)
        except MeasurementError as mistake:
            return str(mistake)
        except Exception as problem:
            return f"`measure` returned what cannot be read: {describe(problem)}"
        found: dict[str, Any] = {
            n: [v, errors[n]] if n in errors else v for n, v in metrics.items()
        }
        return found | ({DETAILS: details} if details else {})


def _nothing(_: object) -> dict[str, float]:
    return {}

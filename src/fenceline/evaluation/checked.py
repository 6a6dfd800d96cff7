"""Measurements checked where they are made: what comes back to the run is plain numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fenceline.errors import MeasurementError
from fenceline.evaluation.sandbox.plain import describe
from fenceline.problem.problem import Problem


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
        return cls(replace(problem, allowed=(), starts=(), expected=(), measure=_nothing), function)

    def __call__(self, task: Any) -> dict[str, Any] | str:
        """Measure, and return a Measurement in JSON's types; of a broken contract, a text."""
        measured = self.function(task)
        try:
            return self.problem.check(measured).to_plain()
        except MeasurementError as mistake:
            return str(mistake)
        except Exception as problem:
            return f"`measure` returned what cannot be read: {describe(problem)}"


def _nothing(_: object) -> dict[str, float]:
    return {}

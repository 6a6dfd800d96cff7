"""The exceptions Fenceline raises; each message names the value, what was expected, and the remedy.

::

    FencelineError
    ├── DefinitionError (ValueError)      a space, problem, constraint or setting that makes no sense
    │   ├── SpaceError                    ... in the description of the search space
    │   ├── ConfigurationError            ... in one configuration of a space
    │   ├── ConstraintError               ... in a constraint or its text
    │   └── BudgetError                   ... in the budget of a run
    ├── InfeasibleError (RuntimeError)    no pipeline was found, or confirmed, inside the fence
    ├── MeasurementError (ValueError)     `measure` returned something that is not a measurement
    ├── EngineError (RuntimeError)        the processes or machines that measure cannot work
    ├── StoreError (RuntimeError)         a run directory that cannot be used
    │   ├── JournalDamagedError           ... a record in it is not what was written
    │   ├── RunMismatchError              ... it belongs to another run
    │   └── RunLockedError                ... another process is writing to it
    └── MissingDependencyError (ImportError)  an optional extra is not installed

Errors carry the objects they are about, so that a program need not read the message: the value that
was refused, its hyper-parameter or constraint, the result of a search that found nothing. (Everything
imports this module, so it cannot name their types.)

A pipeline that fails while it is measured raises nothing here: it becomes an
:class:`~fenceline.Evaluation` whose ``status`` says so.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class FencelineError(Exception):
    """Root of everything Fenceline raises on purpose."""


class DefinitionError(FencelineError, ValueError):
    """A definition or setting that makes no sense, refused before any time is spent.

    `value` is what was refused, where it is a single value.
    """

    def __init__(self, message: str = "", *, value: object = None) -> None:
        super().__init__(message)
        self.value = value


class SpaceError(DefinitionError):
    """A hyper-parameter, algorithm, module or space that cannot be searched."""


class ConfigurationError(DefinitionError):
    """A configuration that does not belong to its space.

    `parameter` is the hyper-parameter that `value` is no value of, where there is one.
    """

    def __init__(self, message: str = "", *, value: object = None, parameter: Any = None) -> None:
        super().__init__(message, value=value)
        self.parameter = parameter


class ConstraintError(DefinitionError):
    """A constraint that cannot be stated, or a text that does not parse as one.

    `constraint` is the one that was refused or misused, where it could be made; `value` the text or
    number that could not.
    """

    def __init__(self, message: str = "", *, value: object = None, constraint: Any = None) -> None:
        super().__init__(message, value=value)
        self.constraint = constraint


class BudgetError(DefinitionError):
    """A run without an end, or one that ends before it starts."""


class InfeasibleError(FencelineError, RuntimeError):
    """No pipeline was found, or confirmed on unseen rows, inside the fence.

    `result` is all that the search measured; `certificate` what unseen rows said of the best, if
    they were asked.
    """

    def __init__(
        self,
        message: str = "",
        *,
        result: Any = None,
        certificate: Any = None,
    ) -> None:
        super().__init__(message)
        self.result = result
        self.certificate = certificate


class MeasurementError(FencelineError, ValueError):
    """A measurement that breaks the contract: a missing metric, a NaN, an array, None.

    `metric` names the one that is wrong or missing; `value` is what was returned for it.
    """

    def __init__(
        self, message: str = "", *, metric: str | None = None, value: object = None
    ) -> None:
        super().__init__(message)
        self.metric = metric
        self.value = value


class EngineError(FencelineError, RuntimeError):
    """The processes or machines that measure cannot start, or cannot be reached."""


class StoreError(FencelineError, RuntimeError):
    """A run directory that cannot be read or written; what it holds is left as it is."""


class JournalDamagedError(StoreError):
    """A record of the journal is not what was written."""


class RunMismatchError(StoreError):
    """The run directory belongs to a run of something else."""


class RunLockedError(StoreError):
    """Another process is writing to the run directory."""


class MissingDependencyError(FencelineError, ImportError):
    """An optional dependency is needed and not installed."""


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" or the list of known names, to end an error message with."""
    names = list(known)
    # Swapped letters are the likeliest slip, and count as two wrong ones below.
    close = [n for n in names if sorted(n) == sorted(str(name))]
    close = close or get_close_matches(str(name), names, n=1, cutoff=0.6)
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" Known: {', '.join(map(repr, names))}." if names else ""

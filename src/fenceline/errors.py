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

A pipeline that fails while it is measured raises nothing here: it becomes an
:class:`~fenceline.Evaluation` whose ``status`` says so.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FencelineError(Exception):
    """Root of everything Fenceline raises on purpose."""


class DefinitionError(FencelineError, ValueError):
    """A definition or setting that makes no sense, refused before any time is spent."""


class SpaceError(DefinitionError):
    """A hyper-parameter, algorithm, module or space that cannot be searched."""


class ConfigurationError(DefinitionError):
    """A configuration that does not belong to its space."""


class ConstraintError(DefinitionError):
    """A constraint that cannot be stated, or a text that does not parse as one."""


class BudgetError(DefinitionError):
    """A run without an end, or one that ends before it starts."""


class InfeasibleError(FencelineError, RuntimeError):
    """No pipeline was found, or confirmed on unseen rows, inside the fence."""


class MeasurementError(FencelineError, ValueError):
    """A measurement that breaks the contract: a missing metric, a NaN, an array, None."""


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
    close = get_close_matches(str(name), names, n=1, cutoff=0.6)
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" Known: {', '.join(map(repr, names))}." if names else ""

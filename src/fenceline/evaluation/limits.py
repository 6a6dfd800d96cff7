"""What one evaluation may use before it is stopped."""

import sys
from dataclasses import dataclass

from fenceline.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Limits:
    """What one evaluation may use before it is stopped; reaching a limit never ends the run.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock time. Past it the evaluation is killed, whatever it does, and its status is
        ``"timeout"``.
    megabytes : float, optional
        Memory an evaluation may claim beyond what its process needs to hold the function, the
        data and the libraries. Past it the status is ``"memory"``.
    threads : int
        Threads of the numerical libraries (BLAS, OpenMP). With several workers one is right:
        more only compete with each other, and disturb measured latencies.
    """

    seconds: float | None = None
    megabytes: float | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("seconds", "megabytes"):
            value = getattr(self, name)
            if value is not None and not _positive(value):
                raise DefinitionError(
                    f"Limits: {name} must be a positive number. Got {value!r}; "
                    "leave it out for no limit."
                )
        if not isinstance(self.threads, int) or not _positive(self.threads):
            raise DefinitionError(
                f"Limits: threads must be a whole number of at least 1. Got {self.threads!r}; "
                "leave it out for one thread."
            )


def _positive(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value <= sys.float_info.max
    )

"""The report of a search: one HTML file that needs nothing else, not even a network.

The package can be called, too: ``fl.report(model, "report.html")`` is :func:`write_report`.
"""

import sys
from types import ModuleType
from typing import Any

from fenceline.report.write import write_report

__all__ = ["write_report"]


class _Callable(ModuleType):
    """A package that writes a report when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return write_report(*args, **kwargs)


# One name for the room and for what is done in it; everything in the room stays where it is.
sys.modules[__name__].__class__ = _Callable

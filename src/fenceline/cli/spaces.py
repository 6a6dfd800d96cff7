"""``--space``: the name of a space, or a function of the user's own that makes one."""

import importlib
import os
import re
import sys
from importlib.util import find_spec

from fenceline.errors import FencelineError, SpaceError, suggestion
from fenceline.problem.space import Space

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_own(name: str) -> bool:
    """Tell whether a space is named by a path such as ``package.module:function``."""
    return ":" in name


def find_space(name: str) -> str | Space:
    """Return the space that a function of the user's own makes; other names stay as they are.

    The module is looked for where Python looks, then in the current directory.
    """
    if not is_own(name):
        return name
    if not _PATH.fullmatch(name):
        raise SpaceError(
            f"--space {name!r} is no path to a function; write package.module:function."
        )
    module_name, _, attribute = name.partition(":")
    if find_spec(module_name.partition(".")[0]) is None:
        sys.path.append(
            os.getcwd()
        )  # for good: what is in the space may be imported from there too
    try:
        module = importlib.import_module(module_name)
    except ImportError as problem:
        raise SpaceError(
            f"--space {name!r}: {problem}; install it, or run in the directory that holds it."
        ) from problem
    if not hasattr(module, attribute):
        raise SpaceError(
            f"--space {name!r}: {module_name} has no {attribute!r}.{suggestion(attribute, vars(module))}"
        )
    made = getattr(module, attribute)
    if callable(made):
        try:
            made = made()
        except FencelineError:
            raise
        except Exception as problem:
            raise SpaceError(
                f"--space {name!r} failed with {type(problem).__name__}: {problem}. It must be a "
                "function without arguments that returns a Space."
            ) from problem
    if not isinstance(made, Space):
        raise SpaceError(
            f"--space {name!r} must be a function that returns a Space. It returned {made!r}."
        )
    return made


def check_asked(recorded: str, asked: str | None, file: object) -> None:
    """Refuse to run a function that only a file names: a run directory may come from anywhere."""
    if is_own(recorded) and asked is None:
        raise SpaceError(
            f"{file} takes its space from the function {recorded}, which would be run; if you trust it, "
            f"add --space {recorded}."
        )

"""The spaces that have a name: ``"default"``, ``"wide"``, ``"paper"`` and ``"small"``."""

from collections.abc import Callable

from fenceline.errors import SpaceError, suggestion
from fenceline.metrics.trial import Task
from fenceline.pipelines.spaces.default import default_space
from fenceline.pipelines.spaces.paper import paper_space, small_space
from fenceline.pipelines.spaces.wide import wide_space
from fenceline.problem.space import Space

_SPACES: dict[str, Callable[[Task], Space]] = {
    "default": default_space,
    "wide": wide_space,
    "paper": paper_space,
    "small": small_space,
}

NAMES = tuple(_SPACES)
"""What spaces are called."""


def named_space(name: str, task: Task = "binary") -> Space:
    """Return a space by name.

    Parameters
    ----------
    name : {"default", "wide", "paper", "small"}
        ``"default"`` holds what wins on tables today; ``"wide"`` the same models behind
        preprocessing in any order, some of it doubled; ``"paper"`` the 6,776 pipelines of the seed
        paper; ``"small"`` its 108. The last two are for classification.
    task : {"binary", "multiclass", "regression"}
        What is to be predicted.
    """
    if name not in _SPACES:
        raise SpaceError(f"There is no space {name!r}.{suggestion(name, _SPACES)}")
    if task == "regression" and name not in ("default", "wide"):
        raise SpaceError(
            f"The space {name!r} is for classification; for regression use 'default', 'wide' or your own Space."
        )
    return _SPACES[name](task)

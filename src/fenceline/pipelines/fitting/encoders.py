"""How texts and categories become numbers, as one more module of a space.

One-hot columns suit linear models and neighbours; trees do as well with codes, on a fraction of
the columns; means of the target serve columns of many categories.
"""

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from fenceline.errors import SpaceError
from fenceline.metrics.trial import Task
from fenceline.problem.configuration import Choice
from fenceline.problem.space import Algorithm, Module, Space

MODULE = "encoder"
ENCODERS = ("onehot", "ordinal", "target")
"""The algorithms of the module; the first is what a space without it uses."""


def with_encoder(space: Space) -> Space:
    """Return the space with the encoder of categories as its first module."""
    if searches_encoder(space):
        raise SpaceError("The space searches the encoder of categories already.")
    return Space.shaped(
        [Module(MODULE, [Algorithm(name) for name in ENCODERS]), *space.modules], space.shapes
    )


def searches_encoder(space: Space) -> bool:
    """Tell whether a module of a space holds encoders of categories."""
    return any(encodes(module) for module in space.modules)


def encodes(module: Module) -> bool:
    """Tell whether a module holds encoders, and not steps of a pipeline."""
    return module.name == MODULE and all(a.name in ENCODERS for a in module.algorithms)


def split_encoder(configuration: Mapping[str, Choice]) -> tuple[dict[str, Choice], str]:
    """Return the choices that are steps of a pipeline, and how categories are encoded."""
    steps = dict(configuration)
    chosen = steps.get(MODULE)
    if chosen is None or chosen.algorithm not in ENCODERS:
        return steps, ENCODERS[0]
    del steps[MODULE]
    return steps, chosen.algorithm


def encoding(preparation: Any, encoder: str, task: Task) -> Any:
    """Return an unfitted copy of a preparation that encodes categories so.

    A preparation without categories, or of the user's own, is copied as it is.
    """
    if preparation is None:
        return None
    copied = clone(preparation)
    known = copied.get_params(deep=False) if hasattr(copied, "get_params") else {}
    if {"encoder", "regression"} <= known.keys():
        copied.set_params(encoder=encoder, regression=task == "regression")
    return copied

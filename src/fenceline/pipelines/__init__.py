"""The scikit-learn side: spaces of pipelines, how they are built, and how they are measured."""

from fenceline.pipelines.build import build, fit
from fenceline.pipelines.catalogue import named_space
from fenceline.pipelines.edit import add, drop, only, restrict
from fenceline.pipelines.emphasis import with_emphasis
from fenceline.pipelines.measure import CrossValidation
from fenceline.pipelines.operators import Setting
from fenceline.pipelines.prepare import preparation
from fenceline.pipelines.threshold import with_threshold

__all__ = [
    "CrossValidation",
    "Setting",
    "add",
    "build",
    "drop",
    "fit",
    "named_space",
    "only",
    "preparation",
    "restrict",
    "with_emphasis",
    "with_threshold",
]

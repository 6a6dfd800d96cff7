"""The scikit-learn side: spaces of pipelines, how they are built, and how they are measured."""

from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.build import build, fit
from fenceline.pipelines.fitting.encoders import with_encoder
from fenceline.pipelines.fitting.group_weights import with_emphasis
from fenceline.pipelines.fitting.prepare import preparation
from fenceline.pipelines.fitting.thresholds import with_threshold
from fenceline.pipelines.spaces.catalogue import named_space
from fenceline.pipelines.spaces.edit import add, drop, only, restrict
from fenceline.pipelines.spaces.operators import Setting

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
    "with_encoder",
    "with_threshold",
]

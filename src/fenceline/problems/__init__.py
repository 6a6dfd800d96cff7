"""Test problems whose best possible value is known."""

from fenceline.problems.artificial import artificial, artificial_optimum
from fenceline.problems.classical import (
    ackley_mixed,
    branin,
    classical,
    gramacy,
    mixed_rosenbrock,
    pressure_vessel,
    rastrigin_mixed,
    two_wells,
)
from fenceline.problems.decoy import decoy
from fenceline.problems.ill_scaled import ill_scaled

__all__ = [
    "ackley_mixed",
    "artificial",
    "artificial_optimum",
    "branin",
    "classical",
    "decoy",
    "gramacy",
    "ill_scaled",
    "mixed_rosenbrock",
    "pressure_vessel",
    "rastrigin_mixed",
    "two_wells",
]

"""What a sub-problem shows to its solver, and what a solver gives back.

A solver is an immutable record of settings with one method, `proposals`: a generator that
yields points for ever. Between two yields the sub-problem's `observed` grows; local variables
of the generator are the solver's state. The loop that drives it decides when it has seen enough.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.parameter import Parameter

Points: TypeAlias = NDArray[np.float64]
"""Points of a sub-problem, one a row, in the unit cube."""

Merits: TypeAlias = NDArray[np.float64]
"""What the sub-problem minimises, one value a point; always finite."""


class Subproblem(Protocol):
    """Minimise a merit over a few parameters; both blocks of ADMM look like this."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """One per coordinate of a point."""

    def observed(self) -> tuple[Points, Merits]:
        """Return every point whose merit is known, under today's multipliers."""

    def pending(self) -> Points:
        """Return the points that are being measured right now."""

    def elsewhere(self) -> tuple[Points, Merits]:
        """Return what is known of these parameters while the *other* block had other values."""


class Solver(Protocol):
    """Anything that proposes points of a sub-problem."""

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield one point after another, each inside the unit cube."""

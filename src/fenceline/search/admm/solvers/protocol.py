"""What a sub-problem shows to its solver, and what a solver gives back.

A solver is an immutable record of settings with one method, `proposals`: a generator that
yields points for ever. Between two yields the sub-problem's `observed` grows; local variables
of the generator are the solver's state. The loop that drives it decides when it has seen enough,
and closes it.

A solver may say what it is for, in two class attributes: `blocks`, the sub-problems of ADMM that
it fits (both, unless it says so), and `needs_fidelity`, whether it lives on cheap looks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.parameter import Parameter

Points: TypeAlias = NDArray[np.float64]
"""Points of a sub-problem, one a row, in the unit cube."""

Merits: TypeAlias = NDArray[np.float64]
"""What the sub-problem minimises, one value a point; always finite."""

Shares: TypeAlias = NDArray[np.float64]
"""The share of the rows that each point was measured with."""


@dataclass(frozen=True, slots=True)
class Look:
    """A point to be measured with a share of the rows only."""

    point: Points
    fidelity: float


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

    @property
    def fidelities(self) -> Sequence[float]:
        """The shares of the rows that a look may use, below 1 and in rising order; often none."""

    def looks(self) -> tuple[Points, Merits, Shares]:
        """Return every look that is known, whose constraints are taken hopefully."""


class Solver(Protocol):
    """Anything that proposes points of a sub-problem."""

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64] | Look]:
        """Yield one point after another, each inside the unit cube."""

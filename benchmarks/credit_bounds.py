"""The bounds of the paper's figure 2: the paper's own, and those that suit a machine and a smaller sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.credit_problem import AGES, Fence

GAPS = (0.05, 0.075, 0.1, 0.125, 0.15)
"""The paper's."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two series of fences: one relaxes the latency, the other the gap between age groups.

    Parameters
    ----------
    latencies : tuple of float
        t_p of the first series.
    gap : float
        d_I of the first series.
    latency : float
        t_p of the second series, whose d_I are those of the paper.
    ages : tuple of int
        Where age groups end.
    microseconds : bool
        Whether a latency is in microseconds, or in multiples of what the simplest pipeline takes.
    """

    latencies: tuple[float, ...]
    gap: float
    latency: float
    ages: tuple[int, ...] = AGES
    microseconds: bool = False

    @property
    def series(self) -> Mapping[str, Sequence[Fence]]:
        """The fences by what they relax."""
        return {
            "t_p": [Fence(t, self.gap) for t in self.latencies],
            "d_I": [Fence(self.latency, d) for d in GAPS],
        }

    @property
    def fences(self) -> list[Fence]:
        """Every fence once."""
        return list(dict.fromkeys(fence for series in self.series.values() for fence in series))

    @property
    def stem(self) -> str:
        """Of the files of figure and tables."""
        return "credit-fence-paper" if self.microseconds else "credit-fence"

    @property
    def unit(self) -> str:
        """What t_p is measured in."""
        return "us per row" if self.microseconds else "multiples of the simplest pipeline's"


SUITED = Bounds((1.0, 1.25, 1.5, 2.5, 5.0), 0.075, 2.5)
"""The simplest pipeline takes about 4 us: up to the paper's 20 us."""
PAPER = Bounds((1.0, 5.0, 10.0, 15.0, 20.0), 0.07, 10.0, (30, 40, 50, 60), microseconds=True)
"""Age groups 20-30, 30-40, 40-50, 50-60 and 60-70; the 0.7 of the paper's text is 0.07 in its figure."""

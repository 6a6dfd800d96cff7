"""What the searches on the credit problem found inside each fence, and whether the paper's findings hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.credit_problem import Fence
from benchmarks.optimiser_tables import Table
from benchmarks.verdicts import Summary, quotient, summary

Measured: TypeAlias = Sequence[tuple[float, float, float]]
"""Loss, latency and gap of each evaluation of a search; infinite where it failed."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one method found inside one fence, seed by seed."""

    best: Sequence[float]
    """Infinite where nothing feasible was found."""
    share: Sequence[float]
    """Of the evaluations, how many lay inside."""

    @property
    def loss(self) -> Summary:
        """Median and quartiles of the best loss."""
        return summary(self.best)


Rows: TypeAlias = Sequence[tuple[Fence, Found, Found]]
"""Along one series of bounds, tightest first: the fence, what CST found, what UCST found."""


def found_at(fence: Fence, searches: Sequence[Measured], simplest_us: float) -> Found:
    """Filter searches, one a seed, by a fence."""
    best, share = [], []
    for search in searches:
        loss, latency, gap = np.array(search).T
        inside = (latency <= fence.latency * simplest_us) & (gap <= fence.gap)
        best.append(float(loss[inside].min(initial=np.inf)))
        share.append(float(inside.mean()))
    return Found(best, share)


def lead(cst: Found, ucst: Found) -> float:
    """Return how far UCST's median lies above CST's; 0 where neither found anything."""
    ours, theirs = cst.loss.median, ucst.loss.median
    return 0.0 if ours == theirs else theirs - ours


def findings(found: Mapping[str, Rows]) -> list[str]:
    """Judge the paper's findings by the medians."""
    leads = {name: [lead(cst, ucst) for _, cst, ucst in rows] for name, rows in found.items()}
    flat = np.array([value for series in leads.values() for value in series])
    better, worse = int((flat > 0).sum()), int((flat < 0).sum())
    said = [
        f"CST beats UCST at every bound: {_verdict(better == len(flat))} (lower median at {better} "
        f"of {len(flat)} bounds, the same at {len(flat) - better - worse}, higher at {worse})."
    ]
    for name, series in leads.items():
        said.append(
            f"UCST approaches CST as {name} relaxes: {_verdict(series[-1] < series[0])} (its median "
            f"is higher by {series[0]:.2g} at the tightest bound, by {series[-1]:.2g} at the loosest)."
        )
    shares = [
        quotient(summary(cst.share).median, summary(ucst.share).median)
        for rows in found.values()
        for _, cst, ucst in rows
    ]
    said.append(
        f"CST keeps inside more often: {_verdict(min(shares) > 1.0)} (its median share of feasible "
        f"evaluations is {min(shares):.2g} to {max(shares):.2g} times UCST's)."
    )
    return said


def fence_table(name: str, rows: Rows) -> Table:
    """Show both methods along one series of bounds."""
    cells = []
    for fence, cst, ucst in rows:
        pairs = list(zip(cst.best, ucst.best, strict=True))
        cells.append(
            [
                fence.name,
                f"{cst.loss.median:.4f}",
                f"{ucst.loss.median:.4f}",
                f"{sum(a < b for a, b in pairs)} / {sum(a == b for a, b in pairs)} / "
                f"{sum(a > b for a, b in pairs)}",
                f"{summary(cst.share).median:.2f}",
                f"{summary(ucst.share).median:.2f}",
            ]
        )
    header = ["fence", "CST", "UCST", "seeds better / same / worse", "CST inside", "UCST inside"]
    return Table(
        name, f"Best 1 - AUROC inside the fence and share inside, medians, {name} relaxing", header, cells
    )  # fmt: skip


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"

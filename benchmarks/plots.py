"""Plots of incumbents against time, as PNG and SVG."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's colours, told apart by every eye.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# No dates and no random ids: a figure that did not change gives the same file.
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fenceline",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Median and inter-quartile range of a curve, NaN where there is none yet."""

    median: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    dashed: bool = False


def plot_incumbents(
    stem: Path,
    times: NDArray[np.float64],
    bands: Mapping[str, Band],
    *,
    title: str,
    subtitle: str,
    optimum: float | None = None,
) -> tuple[Path, ...]:
    """Draw bands on two log axes; return the files written."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        for (name, band), colour in zip(bands.items(), _COLOURS, strict=False):
            line = "--" if band.dashed else "-"
            axes.plot(times, band.median, line, color=colour, label=name, linewidth=1.6)
            axes.fill_between(times, band.low, band.high, color=colour, alpha=0.12, linewidth=0)
        if optimum is not None:
            axes.axhline(optimum, color="grey", linestyle=":", linewidth=1)
            axes.annotate(
                "median of the global optima",
                (1, optimum),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
                color="grey",
            )
        axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="incumbent objective")
        axes.set_xlim(times[0], times[-1])
        figure.suptitle(title, fontsize=11, fontweight="bold")
        axes.set_title(subtitle, fontsize=8.5)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        paths = stem.with_suffix(".png"), stem.with_suffix(".svg")
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
        plt.close(figure)
    return paths

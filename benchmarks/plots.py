"""Plots of incumbents and regrets, as PNG and SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's colours, told apart by every eye.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
# No dates and no random ids: a figure that did not change gives the same file.
STYLE: dict[Any, Any] = {
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
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        for k, (name, band) in enumerate(bands.items()):
            # Colours come round again, with another line: no curve is left out.
            again, colour = k >= len(COLOURS), COLOURS[k % len(COLOURS)]
            line = (":" if again else "--") if band.dashed else ("-." if again else "-")
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
        return save(figure, stem)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One pair of axes: bands over their own abscissae, in the order of the legend."""

    xlabel: str
    curves: Mapping[str, tuple[NDArray[np.float64], Band]]


def plot_regrets(stem: Path, panels: Sequence[Panel], *, title: str) -> tuple[Path, ...]:
    """Draw panels side by side on log axes, with one legend; return the files written."""
    with plt.rc_context(STYLE):
        figure, row = plt.subplots(
            1,
            len(panels),
            figsize=(1.4 + 4.2 * len(panels), 4.6),
            layout="constrained",
            sharey=True,
            squeeze=False,
        )
        for axes, panel in zip(row[0], panels, strict=True):
            for (name, (x, band)), colour in zip(panel.curves.items(), COLOURS, strict=False):
                line = "--" if band.dashed else "-"
                axes.plot(x, band.median, line, color=colour, label=name, linewidth=1.6)
                axes.fill_between(x, band.low, band.high, color=colour, alpha=0.1, linewidth=0)
            axes.set(xscale="log", yscale="log", xlabel=panel.xlabel)
        row[0][0].set_ylabel("regret")
        figure.suptitle(title, fontsize=10)
        handles, labels = row[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return save(figure, stem)


def save(figure: Any, stem: Path) -> tuple[Path, ...]:
    paths = stem.with_suffix(".png"), stem.with_suffix(".svg")
    figure.savefig(paths[0], dpi=150)
    figure.savefig(paths[1], metadata={"Date": None})
    plt.close(figure)
    return paths

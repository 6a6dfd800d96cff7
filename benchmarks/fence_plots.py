"""The paper's figure 2: best value and share of feasible evaluations as bounds relax."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.credit_findings import Rows
from benchmarks.plots import COLOURS, STYLE, save
from benchmarks.verdicts import summary


def plot_fences(
    stem: Path, found: Mapping[str, Rows], subtitle: str, unit: str
) -> tuple[Path, ...]:
    """Draw both methods over every series of bounds; return the files written."""
    labels = {"t_p": f"$t_p$, {unit}", "d_I": "$d_I$"}
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            2, len(found), figsize=(8.0, 5.6), layout="constrained", sharex="col", sharey="row"
        )
        for column, (name, rows) in enumerate(found.items()):
            bounds = [fence.latency if name == "t_p" else fence.gap for fence, _, _ in rows]
            methods = {"CST": [cst for _, cst, _ in rows], "UCST": [ucst for _, _, ucst in rows]}
            for at, (method, mine) in enumerate(methods.items()):
                for axes, quartiles in (
                    (grid[0, column], [one.loss for one in mine]),
                    (grid[1, column], [summary(one.share) for one in mine]),
                ):
                    low, median, high = np.array([(q.low, q.median, q.high) for q in quartiles]).T
                    finite = np.where(np.isfinite(median), median, np.nan)
                    line = "--s" if at else "-o"
                    axes.plot(bounds, finite, line, color=COLOURS[at], label=method, markersize=4)
                    axes.fill_between(bounds, low, high, color=COLOURS[at], alpha=0.12, linewidth=0)
            grid[1, column].set(xlabel=labels[name], xscale="log")
            grid[1, column].set_xticks(bounds, [f"{bound:g}" for bound in bounds])
            grid[1, column].minorticks_off()
        grid[0, 0].set_ylabel("best 1 - AUROC inside")
        grid[1, 0].set_ylabel("share of evaluations inside")
        figure.suptitle(f"Median and quartiles; {subtitle}", fontsize=10)
        figure.legend(
            *grid[0, 0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2,
            frameon=False,
        )
        return save(figure, stem)

"""Make docs/figures/algorithm.png, ADMM at work: ``python docs/algorithm_picture.py``, in seconds.

Needs matplotlib. The problem is small enough to draw: one real and one whole number, and a fence.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import fenceline as fl
from fenceline.search.admm.solvers import Bandit, Bayesian

PICTURE = Path(__file__).parent / "figures" / "algorithm.png"
BOUND, ACCENT, QUIET = 2.0, "#1f6f5c", "#7d867c"

space = fl.Space(
    [
        fl.Module(
            "model",
            [
                fl.Algorithm("line", {"x": fl.Real(0.0, 4.0)}),
                fl.Algorithm("bowl", {"x": fl.Real(0.0, 4.0), "k": fl.Integer(0, 4)}),
            ],
        )
    ]
)


def loss(x: Any, k: Any) -> Any:
    """Be smallest at x = 3, k = 3, which lies beyond the fence."""
    return (x - 3.0) ** 2 / 4 + (k - 3.0) ** 2 / 8


def measure(configuration: fl.Configuration) -> dict[str, float]:
    """Measure the loss, and what the fence is about."""
    model = configuration["model"]
    x = float(model.params["x"])
    if model.algorithm == "line":
        return {"loss": 1.2 + x / 10, "cost": 0.0}
    k = int(model.params["k"])
    return {"loss": float(loss(x, k)), "cost": (x + k) / 2}


def draw() -> None:
    """Search twice, by measuring and on the surrogate, and draw both side by side with the multiplier."""
    problem = fl.Problem(space, measure, constraints=[fl.metric("cost") <= BOUND])
    runs = {
        "ADMM(theta=Bayesian(), z=Bandit())": fl.ADMM(
            theta=Bayesian(), z=Bandit(), precision=fl.Fixed(6)
        ),
        "StructuredBO()": fl.StructuredBO(),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    x, k = np.meshgrid(np.linspace(0, 4, 200), np.linspace(0, 4, 200))
    for (name, algorithm), ax in zip(runs.items(), axes, strict=False):
        result = fl.minimize(problem, evaluations=60, algorithm=algorithm, seed=0)
        ax.contour(x, k, loss(x, k), levels=12, colors=QUIET, linewidths=0.5)
        ax.plot([0, 4], [2 * BOUND, 2 * BOUND - 4], "k--", label="fence")
        bowls = [e for e in result.evaluations if e.configuration["model"].algorithm == "bowl"]
        for inside, marker, colour in ((False, "x", QUIET), (True, "o", ACCENT)):
            some = [e.configuration["model"].params for e in bowls if e.feasible == inside]
            ax.scatter(
                [p["x"] for p in some],
                [p["k"] for p in some],
                c=colour,
                marker=marker,
                s=22,
                label="inside" if inside else "outside",
            )
        assert result.best is not None
        best = result.best.configuration["model"].params
        ax.plot(best["x"], best["k"], "*", color="crimson", markersize=15, label="answer")
        ax.set(title=name, xlabel="x, a real number", ylabel="k, a whole number", ylim=(-0.2, 4.2))
        axes[2].plot(
            [i.evaluations for i in result.iterations],
            [i.prices["cost <= 2"] for i in result.iterations],
            marker=".",
            label=name,
        )
    axes[0].legend(loc="lower left", fontsize="small")
    axes[2].set(
        title="Price of the fence", xlabel="evaluations", ylabel="loss per unit of the bound"
    )
    axes[2].legend(fontsize="small")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    draw()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")

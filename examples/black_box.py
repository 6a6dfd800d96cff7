"""Any function as a black box: choose an algorithm and its settings inside a fence.

Run it with ``python examples/black_box.py``; the number of evaluations may follow.
"""

import sys
from collections.abc import Mapping
from typing import Any

import fenceline as fl

space = fl.Space(
    [
        fl.Module(
            "scaler",
            [fl.Algorithm("none"), fl.Algorithm("robust", {"q_min": fl.Real(0.001, 0.3)})],
        ),
        fl.Module(
            "model",
            [
                fl.Algorithm(
                    "knn", {"k": fl.Integer(1, 100, log=True), "p": fl.Categorical([1, 2])}
                ),
                fl.Algorithm("logit", {"C": fl.Real(1e-3, 1e3, log=True)}),
            ],
        ),
    ]
)


def measure(configuration: Mapping[str, Any]) -> dict[str, float]:
    """Stand in for training a model: what matters is that every metric comes back together."""
    scaler, model = configuration["scaler"], configuration["model"]
    loss = 0.02 if scaler.algorithm == "none" else abs(scaler.params["q_min"] - 0.1)
    if model.algorithm == "knn":
        k, p = model.params["k"], model.params["p"]
        return {"loss": loss + 0.10 + abs(k - 30) / 300, "latency_us": 2.0 + 0.4 * k + p}
    return {"loss": loss + 0.16 + 0.01 * abs(model.params["C"] - 1.0), "latency_us": 1.0}


def main(evaluations: int) -> None:
    """Search, and print what was found."""
    problem = fl.Problem(
        space, measure, objective="loss", constraints=[fl.metric("latency_us") <= 10]
    )
    result = fl.minimize(problem, evaluations=evaluations, seed=0)
    print(result.status)
    print(result.message)
    print(f"{result.feasible_fraction:.0%} of {len(result.evaluations)} evaluations were feasible")
    print("prices:", {name: round(price, 5) for name, price in result.prices.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)

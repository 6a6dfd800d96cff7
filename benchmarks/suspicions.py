"""Why two claims of the seed fail on the artificial objective: two suspicions, put to the test.

Run ``python -m benchmarks.suspicions`` from the root; ``--parts`` chooses one of:

returns
    Does a warm start have anything to start from? For every theta-min, how many pipelines with the
    same algorithms were measured before.
start-up
    Is adaptive precision better where an evaluation costs something? The same runs, by evaluations
    instead of seconds: suggestions then cost nothing, as if every evaluation took minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from statistics import median

# Before numpy is imported: the matrices are small, and threads would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import fenceline as fl
from benchmarks.pages import markdown
from fenceline.problems import artificial
from fenceline.search.admm.solvers import Bayesian, Random

INITIAL = 5
"""Points that BO draws at random without a warm start: fewer to start from save nothing."""


def known_before(seed: int, theta: object, evaluations: int) -> list[int]:
    """Return for each theta-min how many pipelines with its algorithms had been measured."""
    algorithm = fl.ADMM.paper(theta=theta, warm=True)  # type: ignore[arg-type]
    problem = artificial(seed)
    result = fl.minimize(problem, evaluations=evaluations, algorithm=algorithm, seed=seed)
    chosen = [problem.space.encode(e.configuration)[0] for e in result.evaluations]
    return [Counter(chosen[: it.evaluations])[it.z] for it in result.iterations]


def returns(seeds: int, evaluations: int, theta: object) -> str:
    """Return how much a warm start has, iteration by iteration."""
    runs = [known_before(seed, theta, evaluations) for seed in range(seeds)]
    rows = []
    for t in range(min(map(len, runs))):
        known = [run[t] for run in runs]
        rows.append(
            [str(t + 2), f"{median(known):g}", f"{sum(k > INITIAL for k in known)} of {len(known)}"]
        )
    return markdown(
        ["theta-min", "pipelines known, median", f"runs with more than {INITIAL}"], rows
    )


def start_up(seeds: int, evaluations: int, initial: int) -> str:
    """Return the best value by evaluations, for fixed and adaptive precision.

    `initial` points of every sub-problem are random: of 16 evaluations a third, of 64 a twelfth.
    """
    at = [n for n in (25, 50, 100, 200, 400) if n <= evaluations]
    settings = {f"fixed {n}": fl.Fixed(n) for n in (16, 32, 64, 128)}
    settings["adaptive F8"] = fl.Adaptive(16, 256, 8)  # type: ignore[assignment]
    rows = []
    for name, precision in settings.items():
        curves = []
        for seed in range(seeds):
            algorithm = fl.ADMM.paper(
                theta=Bayesian(initial=initial), z=Bayesian(initial=initial), precision=precision
            )
            found = fl.minimize(
                artificial(seed), evaluations=evaluations, algorithm=algorithm, seed=seed
            )
            curves.append(np.asarray(found.trajectory))
        rows.append([name, *(f"{median(c[n - 1] for c in curves):.3g}" for n in at)])
    return markdown(["precision", *(f"after {n}" for n in at)], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suspicions", description=__doc__)
    parser.add_argument("--parts", nargs="*", default=["returns", "start-up"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=400)
    parser.add_argument("--bayesian", action="store_true", help="returns with BO, as in the paper")
    parser.add_argument(
        "--initial", type=int, default=INITIAL, help="random points of a sub-problem, for start-up"
    )
    chosen = parser.parse_args(arguments)
    if "returns" in chosen.parts:
        theta = Bayesian(initial=INITIAL) if chosen.bayesian else Random()
        print(returns(chosen.seeds, chosen.evaluations, theta), "\n")
    if "start-up" in chosen.parts:
        print(start_up(chosen.seeds, chosen.evaluations, chosen.initial))
    return 0


if __name__ == "__main__":
    sys.exit(main())

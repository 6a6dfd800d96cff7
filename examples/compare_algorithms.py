"""ADMM, the paper's ADMM and the baselines on one artificial problem whose optimum is known.

Run it with ``python examples/compare_algorithms.py``; the number of evaluations may follow.
One problem and one seed show how to compare, not who is best: the benchmarks do that.
"""

import sys

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.problems import artificial
from fenceline.run import Algorithm
from fenceline.solvers import Bayesian, Random

ALGORITHMS: dict[str, Algorithm] = {
    "ADMM()": fl.ADMM(),
    "ADMM(z=Bayesian())": fl.ADMM(z=Bayesian()),
    "ADMM(theta=Random())": fl.ADMM(theta=Random()),
    "ADMM.paper()": fl.ADMM.paper(),
    "RandomSearch()": RandomSearch(),
}


def main(evaluations: int) -> None:
    """Give every algorithm the same budget and print the best value it found."""
    problem = artificial(seed=0)
    print(f"{problem.space.size} pipelines; the best possible loss is {problem.optimum:.4f}")
    for name, algorithm in ALGORITHMS.items():
        result = fl.minimize(problem, evaluations=evaluations, algorithm=algorithm, seed=0)
        print(f"{name:22} {result.trajectory[-1]:.4f}   {result.seconds:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)

"""Our Gaussian process against scikit-learn's, and our suggest step against scikit-optimize's.

Run ``python -m benchmarks.surrogate`` from the root, in an environment with the packages of
``requirements-peers.txt``. Both sides run in one process, by turns, on the same data; the table has
medians, and the exit status is 1 when a ratio misses its target.
"""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

# Before numpy is imported: the matrices are small, and threads only blur the timings.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from skopt import Optimizer

from fenceline.search.surrogates import fit, maximise

Array = NDArray[np.float64]
T = TypeVar("T")
OUTPUT = Path("out/surrogate.csv")
REFIT_TARGET, SUGGEST_TARGET = 10.0, 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; `error` is the held-out RMSE (refit) or the value suggested (suggest)."""

    task: str
    peer: str
    rows: int
    dimension: int
    repeats: int
    our_ms: float
    peer_ms: float
    our_error: float
    peer_error: float
    ratio: float
    target: float


def objective(X: Array) -> Array:
    """Unequal curvatures, one oscillation, an interaction: none of it special to either side."""
    weights = np.linspace(2.0, 0.2, X.shape[1])
    return ((X - 0.4) ** 2) @ weights + 0.3 * np.sin(9.0 * X[:, 0]) + X[:, 1] * X[:, 2]


def draw(seed: int, n: int, dimension: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, dimension))
    return X, objective(X) + 0.02 * rng.standard_normal(n)


def our_refit(X: Array, y: Array) -> Callable[[Array], Array]:
    gp = fit(X, y)
    return lambda points: gp.predict(points)[0]


def peer_refit(X: Array, y: Array) -> Callable[[Array], Array]:
    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=0)
    model.fit(X, y)
    return lambda points: np.asarray(model.predict(points))


def refit_turn(seed: int, n: int, dimension: int) -> tuple[float, float, float, float]:
    X, y = draw(seed, n, dimension)
    test = draw(seed + 10_000, 1000, dimension)[0]
    our_seconds, ours = timed(lambda: our_refit(X, y))
    peer_seconds, peer = timed(lambda: peer_refit(X, y))
    truth = objective(test)
    our_error = np.sqrt(np.mean((ours(test) - truth) ** 2))
    peer_error = np.sqrt(np.mean((peer(test) - truth) ** 2))
    return our_seconds, peer_seconds, float(our_error), float(peer_error)


def suggest_turn(seed: int, n: int, dimension: int) -> tuple[float, float, float, float]:
    X, y = draw(seed, n, dimension)
    rng = np.random.default_rng(seed)
    incumbent = X[[np.argmin(y)]]

    def ours() -> Array:
        return maximise(fit(X, y), y.min(), rng, dimension=dimension, incumbents=incumbent, avoid=X)

    # scikit-optimize fits as soon as the last of the initial points is told, and not before.
    optimizer = Optimizer(
        [(0.0, 1.0)] * dimension,
        base_estimator="GP",
        acq_func="EI",
        n_initial_points=n,
        random_state=seed,
    )
    optimizer.tell(X[:-1].tolist(), y[:-1].tolist())

    def peer() -> Array:
        optimizer.tell(X[-1].tolist(), float(y[-1]))
        return np.array(optimizer.ask())

    our_seconds, our_point = timed(ours)
    peer_seconds, peer_point = timed(peer)
    values = objective(np.array([our_point, peer_point]))
    return our_seconds, peer_seconds, float(values[0]), float(values[1])


def timed(action: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    outcome = action()
    return time.perf_counter() - start, outcome


def compare(
    task: str,
    peer: str,
    turn: Callable[[int, int, int], tuple[float, float, float, float]],
    n: int,
    dimension: int,
    repeats: int,
    target: float,
) -> Row:
    turn(0, 20, dimension)  # imports and caches
    medians = np.median([turn(seed + 1, n, dimension) for seed in range(repeats)], axis=0)
    ours, theirs, our_error, peer_error = map(float, medians)
    return Row(
        task,
        peer,
        n,
        dimension,
        repeats,
        round(1e3 * ours, 2),
        round(1e3 * theirs, 2),
        round(our_error, 4),
        round(peer_error, 4),
        round(theirs / ours, 1),
        target,
    )


def main() -> int:
    warnings.simplefilter("ignore")  # scikit-learn warns of length scales at their bounds
    learn, optimize = "scikit-learn GPR", "scikit-optimize"
    plan = [
        ("refit", learn, refit_turn, 100, 10, 15, REFIT_TARGET),
        ("refit", learn, refit_turn, 256, 10, 7, REFIT_TARGET),
        ("suggest", optimize, suggest_turn, 64, 8, 9, SUGGEST_TARGET),
        ("suggest", optimize, suggest_turn, 100, 8, 9, SUGGEST_TARGET),
    ]
    rows = []
    for item in plan:
        row = compare(*item)
        rows.append(row)
        print(
            f"{row.task:8} n={row.rows:<4} d={row.dimension:<3} ours {row.our_ms:8.1f} ms   "
            f"{row.peer} {row.peer_ms:8.1f} ms   ratio {row.ratio:6.1f} (target {row.target:.0f})   "
            f"error {row.our_error:.3f} against {row.peer_error:.3f}",
            flush=True,
        )
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    return int(any(row.ratio < row.target for row in rows))


if __name__ == "__main__":
    sys.exit(main())

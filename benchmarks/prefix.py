"""What sharing fitted first steps saves in a z-min, and what Fenceline costs beside fitting and scoring.

Run ``python -m benchmarks.prefix`` from the root. The paper's z-min (Thompson sampling at one
theta) proposes pipelines of the paper's space; each is measured with and without shared prefixes,
in turns, and must score the same. Times are the processor's, so other work on the machine counts
little. ``GaussianProcess`` is left out: one fit takes many minutes at this size, no prefix can save
any of it, and a real run would stop it. The exit status is 1 when a target is missed.
"""

import argparse
import csv
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import wraps
from inspect import getattr_static
from pathlib import Path
from statistics import median
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.catalogue import DATA
from fenceline import Configuration, Problem, Space, metrics, minimize
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, Setting, drop, named_space, preparation
from fenceline.pipelines.spaces.operators import make
from fenceline.problem.problem import Evaluator
from fenceline.search.admm.solvers import Bandit
from fenceline.search.admm.subproblem import Block
from fenceline.search.iterate import Iterate

WIND = DATA / "paper8" / "wind.csv.gz"
OUTPUT = Path("out/prefix.csv")
LOSS = metrics.loss("roc_auc")
FASTER = 2.5
"""How many times faster the batch is to be."""
OVERHEAD = 0.05
"""The share of time that may be spent beside fitting, transforming and predicting."""
_METHODS = ("fit", "fit_transform", "transform", "predict", "predict_proba", "decision_function")


class Stopwatch:
    """Adds up the time inside estimators; what one of them calls of another counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def attach(self, kind: type) -> None:
        """Time the methods of a class from now on."""
        for name in _METHODS:
            method = getattr_static(kind, name, None)
            if isinstance(method, FunctionType):
                setattr(kind, name, self._timed(method))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)  # AdaBoost reads from the signature whether its trees take weights
        def timed(*args: Any, **named: Any) -> Any:
            start = time.process_time()
            self._depth += 1
            try:
                return method(*args, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.process_time() - start

        return timed


@dataclass(frozen=True, slots=True)
class Row:
    """One pipeline: seconds with and without shared prefixes."""

    pipeline: str
    estimator: str
    loss: float
    alone: float
    shared: float
    inside_alone: float
    """Of the time alone, seconds inside estimators."""
    inside_shared: float
    model: float
    """Of the time alone, seconds to fit and to ask the last step, which no prefix can save."""


class Both:
    """Measures every pipeline with and without shared prefixes, in turns."""

    def __init__(self, table: Table, folds: int | float, megabytes: float) -> None:
        settings = ({LOSS.name: LOSS}, (), preparation(table.X), folds)
        self.shared = CrossValidation(table, *settings, cache_megabytes=megabytes)
        self.alone = CrossValidation(table, *settings, cache_megabytes=0)
        self.metrics = tuple(self.shared.metrics)
        self.inside, self.models = Stopwatch(), Stopwatch()
        self.rows: list[Row] = []
        self.seconds = 0.0

    def __call__(self, configuration: Configuration) -> Mapping[str, float]:
        """Measure, and count the time, also of what is interrupted."""
        start = time.process_time()
        try:
            return self._compare(configuration)
        finally:
            self.seconds += time.process_time() - start

    def _compare(self, configuration: Configuration) -> Mapping[str, float]:
        arms = [self.alone, self.shared]
        if len(self.rows) % 2:
            arms.reverse()
        times = {}
        for arm in arms:
            start = time.process_time(), self.inside.seconds, self.models.seconds
            found = _outcome(arm, configuration)
            spent = time.process_time(), self.inside.seconds, self.models.seconds
            times[arm is self.shared] = found, *np.subtract(spent, start)
        (alone, t0, inside0, model), (shared, t1, inside1, _) = times[False], times[True]
        if alone != shared:
            raise AssertionError(f"{configuration}: {alone} alone, {shared} with shared prefixes")
        loss = float("nan") if isinstance(shared, str) else shared[LOSS.name]
        estimator = configuration["estimator"].algorithm
        self.rows.append(Row(str(configuration), estimator, loss, t0, t1, inside0, inside1, model))
        if isinstance(shared, str):
            raise RuntimeError(shared)
        return shared


def _outcome(measure: CrossValidation, configuration: Configuration) -> Mapping[str, float] | str:
    try:
        return measure(configuration)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


class ZMin:
    """The paper's z-min alone, at hyper-parameters drawn once."""

    def iterates(
        self, problem: Problem, evaluator: Evaluator, rng: np.random.Generator
    ) -> Iterator[Iterate]:
        """Play the bandit until the budget is spent."""
        space = problem.space
        theta = rng.random(len(space.centre))

        def configure(point: NDArray[np.float64]) -> Configuration:
            return space.decode(space.z_at(point), theta)

        block = Block(space.choices, configure, lambda _, e: e.objective, evaluator)
        block.solve(Bandit(), sys.maxsize, rng)
        yield from ()


def watch(both: Both, space: Space) -> None:
    """Time every class that the space is made of."""
    setting = Setting("binary", rows=100, columns=10)
    both.inside.attach(type(preparation(both.shared.table.X)))
    for module in space.modules:
        for algorithm in module.algorithms:
            middle = {name: p.from_unit(0.5) for name, p in algorithm.params.items()}
            step = make(algorithm.name, middle, setting)
            if step == "passthrough":
                continue
            if module is space.modules[-1]:
                both.models.attach(type(step))
            both.inside.attach(type(step))


def load(path: Path, rows: int | None) -> Table:
    """Read a table whose last column is the label."""
    frame = pd.read_csv(path)
    if rows is not None:
        frame = frame.sample(rows, random_state=0)
    labels = frame.pop("target").to_numpy(dtype=str)
    return Table(frame.reset_index(drop=True), labels, "binary")


def report(both: Both, own: float) -> bool:
    """Print the figures; `own` are the optimiser's seconds. Tell whether the targets are met."""
    rows = both.rows
    alone, shared = sum(r.alone for r in rows), sum(r.shared for r in rows)
    models = sum(r.model for r in rows)
    prefix = sum(r.inside_alone for r in rows) - models
    outside = own + shared - sum(r.inside_shared for r in rows)
    faster, overhead = alone / shared, outside / (own + shared)
    by = defaultdict(list)
    for row in rows:
        by[row.estimator].append(row)
    print(f"{'estimator':32}{'pipelines':>10}{'alone s':>10}{'shared s':>10}{'ratio':>8}")
    for name, mine in sorted(by.items(), key=lambda item: -sum(r.alone for r in item[1])):
        one, two = sum(r.alone for r in mine), sum(r.shared for r in mine)
        print(f"{name:32}{len(mine):>10}{one:>10.1f}{two:>10.1f}{one / two:>8.2f}")
    failed = sum(np.isnan(r.loss) for r in rows)
    kept = both.shared.prefixes
    print(f"all {len(rows)} scores are the same ({failed} pipelines failed, in the same way)")
    print(f"kept at the end: {len(kept)} prefixes, {kept.megabytes:.0f} MB")
    print(f"share of the time alone that is spent before the last step: {prefix / alone:.1%}")
    print(f"most that any reuse of prefixes could gain: {alone / (alone - prefix):.2f} times")
    print(f"median pipeline: {median(r.alone / r.shared for r in rows):.2f} times faster")
    print(f"the batch: {faster:.2f} times faster{_verdict(faster >= FASTER)} (at least {FASTER})")
    print(f"overhead: {overhead:.1%}{_verdict(overhead <= OVERHEAD)} (at most {OVERHEAD:.0%})")
    return faster >= FASTER and overhead <= OVERHEAD


def _verdict(met: bool) -> str:
    return "" if met else "   MISSED"


def main() -> int:
    """Run the batch and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=WIND, help="CSV whose column target is the label"
    )
    parser.add_argument("--pipelines", type=int, default=150)
    parser.add_argument("--rows", type=int, help="use so many of the rows, drawn at random")
    parser.add_argument(
        "--folds", type=float, default=0.34, help="share held out, or number of folds"
    )
    parser.add_argument("--megabytes", type=float, default=256.0, help="bound of the cache")
    parser.add_argument(
        "--without", nargs="*", default=["GaussianProcess"], help="estimators left out"
    )
    parser.add_argument("--seed", type=int, default=0, help="of theta and of the bandit")
    options = parser.parse_args()
    folds = int(options.folds) if options.folds >= 2 else options.folds
    both = Both(load(options.data, options.rows), folds, options.megabytes)
    space = named_space("paper", "binary")
    if options.without:
        space = drop(space, "estimator", *options.without)
    watch(both, space)
    start = time.process_time()
    minimize(
        Problem(space, both, LOSS.name),
        evaluations=options.pipelines,
        algorithm=ZMin(),
        seed=options.seed,
    )
    own = time.process_time() - start - both.seconds
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in both.rows)
    return int(not report(both, own))


if __name__ == "__main__":
    sys.exit(main())

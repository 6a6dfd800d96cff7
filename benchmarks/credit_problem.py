"""Credit-card clients inside a fence: few lost rankings, fast predictions, the same for every age."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.catalogue import DATA
from fenceline import Configuration, Integer, Problem, Space, metrics
from fenceline.metrics import Table
from fenceline.metrics.fairness import ScoreGap
from fenceline.pipelines import CrossValidation, drop, named_space, preparation, restrict

CLIENTS = DATA / "credit" / "default_credit_card_clients.csv.gz"
ROWS, FOLDS = 3000, 2
AGES = (30, 40, 50)
"""Where age groups end. Of the 30,000 clients 339 are 60 or older, too few for a group of their own."""
LOSS = metrics.loss("roc_auc")
LATENCY = metrics.latency_us(batch=1000)
_TIMINGS = 5


def gap_of(ages: Sequence[int]) -> ScoreGap:
    """Return the largest difference of AUROC between age groups."""
    return metrics.score_gap("roc_auc", group="AGE", bins=ages)


@dataclass(frozen=True, slots=True)
class Fence:
    """The two bounds of the paper's figure 2.

    Parameters
    ----------
    latency : float
        t_p, in multiples of what the simplest pipeline takes on this machine, or of a microsecond.
    gap : float
        d_I, the largest difference of AUROC between age groups.
    """

    latency: float
    gap: float

    @property
    def name(self) -> str:
        """As it stands in tables."""
        return f"t_p={self.latency:g}, d_I={self.gap:g}"

    def problem(
        self, measure: Remembered, simplest_us: float, ages: Sequence[int] = AGES
    ) -> Problem:
        """Put the fence around the credit problem."""
        constraints = [self.latency * simplest_us >= LATENCY, self.gap >= gap_of(ages)]
        return Problem(space(), measure, LOSS.name, constraints)


def space() -> Space:
    """Return the paper's small space, without what two cores have no time for.

    On 23 columns PolynomialFeatures makes a fit take up to half a minute, and so do hundreds of trees.
    """
    affordable = drop(named_space("small", "binary"), "transformer", "PolynomialFeatures")
    for name in ("GradientBoosting", "RandomForest", "ExtraTrees"):
        affordable = restrict(affordable, "estimator", name, n_estimators=Integer(50, 100))
    return affordable


def load(path: Path, rows: int, ages: Sequence[int] = AGES) -> Table:
    """Read so many clients, with the same shares of age groups and defaults as among all."""
    if not path.exists():
        raise SystemExit(f"There are no data at {path}; give another place with --data.")
    frame = pd.read_csv(path)
    strata = 2 * np.digitize(frame["AGE"], ages) + frame["target"]
    if rows < len(frame):
        frame, _ = train_test_split(frame, train_size=rows, stratify=strata, random_state=0)
    labels = frame.pop("target").to_numpy()
    frame = frame.reset_index(drop=True)
    return Table(frame, labels, "binary", {"AGE": frame["AGE"].to_numpy()})


def measure_of(table: Table, ages: Sequence[int] = AGES) -> CrossValidation:
    """Return what measures a pipeline.

    It knows of no bound and stops nothing early: its values must serve every fence.
    """
    known = {metric.name: metric for metric in (LOSS, LATENCY, gap_of(ages))}
    return CrossValidation(table, known, (), preparation(table.X), FOLDS)


def simplest_us(table: Table) -> float:
    """Return the latency of the simplest pipeline, as searches see it: this machine's yardstick."""
    simplest = space().initial
    measure = measure_of(table)
    trial = measure.trial(simplest, *measure.splits[0])
    return median(LATENCY.value(trial) for _ in range(_TIMINGS))


class Remembered:
    """A measure with a file: the same pipeline has the same values for every search that asks.

    A latency measured twice is two latencies; without this, luck in timing would tell methods apart.
    """

    def __init__(self, measure: CrossValidation, path: Path) -> None:
        self.measure = measure
        self.metrics = tuple(measure.metrics)
        self._path = path
        self._known: dict[str, Mapping[str, Any] | str] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                key, found = json.loads(line)
            except ValueError:  # the line that was being written when a run was killed
                continue
            self._known[key] = found

    def __call__(self, configuration: Configuration) -> Mapping[str, float]:
        """Return what is on file, or measure."""
        key = json.dumps(configuration.to_dict(), sort_keys=True)
        if key not in self._known:
            found: Mapping[str, float] | str
            try:
                # Without its error: measuring again would only find the same file.
                found = {
                    name: value[0] if isinstance(value, tuple) else value
                    for name, value in self.measure(configuration).items()
                    if name in self.metrics
                }
            except Exception as failure:
                found = f"{type(failure).__name__}: {failure}"
            self._known[key] = found
            # The line break comes first, so that a line cut short spoils no other.
            with self._path.open("a") as file:
                file.write("\n" + json.dumps([key, found]))
        remembered = self._known[key]
        if isinstance(remembered, str):
            raise RuntimeError(remembered)
        return remembered

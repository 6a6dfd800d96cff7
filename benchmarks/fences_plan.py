"""What the comparison with FLAML runs: six tables, their splits, and the methods."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from fenceline import Constraint, metrics
from fenceline.metrics import Table
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows

SECONDS = 120.0
WORKERS = 2
VOTES = 10
"""Of the committee, in the line that has one."""
SEARCH_SHARE = 0.96
"""Of the time, for Fenceline fits its pick once more when the search is over."""
HOLDOUT = 0.25
BATCH = 1000
"""Rows predicted at once where latency is measured: a table that is scored, not a single request."""
LATENCY_SHARE = 0.5
"""The bound on latency, relative to what FLAML picks when nobody asks for anything but AUROC."""
TUNING_SEEDS = 1000
"""Splits from here on are for trying things out; what is published comes from seeds below."""

Method: TypeAlias = Literal[
    "flaml",
    "fenceline",
    "fenceline-fenced",
    "flaml-fenced",
    "fenceline-wider",
    "flaml-wider",
    "fenceline-votes",
]
METHODS: tuple[Method, ...] = get_args(Method)[:-1]
"""In the order in which they run: FLAML's free pick decides on the bounds of the fenced ones."""
EXTRA: Method = "fenceline-votes"
"""Only if it is asked for."""
GAP_SHARES: Mapping[Method, float] = {
    "fenceline-fenced": 0.9,
    "flaml-fenced": 0.9,
    "fenceline-wider": 1.5,
    "flaml-wider": 1.5,
}
"""The bound on the gap of the methods that are fenced in, relative to the same pick.

The closer fence excludes the pick by both bounds, and may be empty; the wider one by latency alone,
and asks that what is faster is not much less even-handed.
"""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A table in which both methods predict the last of two classes.

    Parameters
    ----------
    path : str
        Below the data directory, without its ending.
    group : str
        The column whose two groups should be ranked alike well.
    edge : float
        Where the groups part.
    """

    path: str
    group: str
    edge: float

    @property
    def name(self) -> str:
        """Short, for tables and files."""
        return self.path.rpartition("/")[2]

    @property
    def gap(self) -> PipelineMetric:
        """How differently well the groups are ranked."""
        return metrics.score_gap("roc_auc", self.group, bins=[self.edge])

    def load(self, data: Path) -> Table:
        """Read the table."""
        frame = pd.read_csv(data / f"{self.path}.csv.gz")
        labels = frame.pop("target").to_numpy()
        return Table(frame, labels, "binary", {self.group: frame[self.group].to_numpy()})


SETS = (
    DataSet("credit/default_credit_card_clients", "BILL_AMT4", 19052.0),
    DataSet("classification/churn", "international plan", 0.5),
    DataSet("classification/magic", "FLength", 37.0),
    DataSet("classification/phoneme", "Aa", 0.4925),
    DataSet("classification/spambase", "15", 0.001),
    DataSet("paper8/sylvine", "V7", 3245.0),
)
"""Every binary set of 4,000 rows or more that was collected as a classification task.

The groups are those that plain histogram boosting ranked most differently in relation to the error
of the difference, among columns cut at their medians or with two values only, and with 150 rows of
each class in each group: a gap that is mere noise cannot be kept by anybody.
"""


def split(table: Table, gap: PipelineMetric, seed: int) -> tuple[Rows, Rows]:
    """Return the rows for both methods, and those neither sees; stratified by class and group."""
    _, codes = table.grouping(gap.groups[0], gap.bins)  # type: ignore[attr-defined]
    train, test = train_test_split(
        np.arange(len(table.y)),
        test_size=HOLDOUT,
        stratify=2 * table.target + codes,
        random_state=seed,
    )
    return np.sort(train), np.sort(test)


@dataclass(frozen=True)
class Job:
    """One method on one split of one table.

    Parameters
    ----------
    bounds : mapping of str to float
        Of latency and gap; empty for methods that nobody fences in.
    """

    dataset: DataSet
    method: Method
    seed: int
    seconds: float
    data: Path
    directory: Path
    bounds: Mapping[str, float]

    @property
    def record(self) -> Path:
        """The JSON of its settings and its outcome."""
        return self.directory / f"{self.dataset.name}-{self.method}-seed{self.seed}.json"

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.dataset.name}, {self.method}, seed {self.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the outcome depends on, apart from the machine."""
        packages = ("fenceline", "flaml", "scikit-learn", "lightgbm", "xgboost", "catboost")
        return {
            "set": self.dataset.name,
            "method": self.method,
            "seed": self.seed,
            "seconds": self.seconds,
            "workers": WORKERS,
            "bounds": dict(self.bounds),
            "versions": {name: _version(name) for name in packages},
        }

    @property
    def constraints(self) -> list[Constraint]:
        """The fence."""
        if not self.bounds:
            return []
        latency = metrics.latency_us(batch=BATCH)
        return [latency <= self.bounds["latency_us"], self.dataset.gap <= self.bounds["gap"]]

    @property
    def outcome(self) -> dict[str, Any] | None:
        """What was found with these settings; None if the job has not run."""
        if not self.record.exists():
            return None
        kept = json.loads(self.record.read_text())
        outcome: dict[str, Any] = kept["outcome"]
        return outcome if kept["settings"] == self.settings else None

    def keep(self, outcome: Mapping[str, Any]) -> None:
        """Write the outcome down, at once or not at all."""
        self.directory.mkdir(parents=True, exist_ok=True)
        unfinished = self.record.with_suffix(".part")
        text = json.dumps({"settings": self.settings, "outcome": outcome}, indent=1)
        unfinished.write_text(text + "\n")
        unfinished.replace(self.record)


def bounds_from(pick: Mapping[str, Any], gap_share: float) -> dict[str, float]:
    """Return bounds that cut off a pick: half its latency, and a multiple of its gap, to three digits."""
    return {
        "latency_us": float(f"{LATENCY_SHARE * pick['latency_us']:.3g}"),
        "gap": float(f"{gap_share * pick['gap']:.3g}"),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None

"""What was learnt: pipelines with what they cost, and how far they were behind the best of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from fenceline.metrics.trial import Task
from fenceline.problem.constraint import Constraint

Array = NDArray[np.float64]

ROWS = 2000
"""Rows that costs are given for; fewer only where a table had no more."""
_SPREAD = 0.7
"""Of the logarithm of a cost around what is on file, from table to table and machine to machine."""
_ALIKE = 3.0
"""Tables whose rows differ by this factor tell little less of each other than of themselves."""
_TREES = frozenset({"HistGradientBoosting", "LightGBM", "XGBoost", "ExtraTrees", "RandomForest"})
_BATCH = re.compile(r"latency_us(?:\(batch=(\d+)\))?")


@dataclass(frozen=True, slots=True)
class Known:
    """A pipeline that was measured on many tables, and its usual cost when fitted on `ROWS` rows."""

    choices: Mapping[str, tuple[str, Mapping[str, Any]]]
    seconds: float
    latency_us: float
    """Per row, of a thousand at once."""
    single_us: float
    """Of one row alone."""
    size_mb: float
    growth: Mapping[str, float]
    """Exponents: with ten times the rows a cost is 10**growth times as large."""

    @property
    def model(self) -> str:
        """The algorithm that predicts."""
        return self.choices["estimator"][0]

    @property
    def wide(self) -> bool:
        """Whether trees have a column for every category: as good as codes at best, and slow where these are many."""
        encoder = self.choices.get("encoder", ("", {}))[0]
        return encoder == "onehot" and self.model in _TREES

    def at(self, cost: str, rows: int) -> float:
        """Return a cost when fitted on so many rows."""
        value = float(getattr(self, cost))
        # Of what was not measured on many rows (neighbours, kernels) the worst is expected.
        return value * float((rows / ROWS) ** self.growth.get(cost, 1.0))

    def chance(self, constraints: Sequence[Constraint], rows: int) -> float:
        """Return how likely it is to keep all bounds on time and size."""
        chance = 1.0
        for constraint in constraints:
            expected = self._expected(constraint.metric, rows)
            if expected is not None and not constraint.has_floor and constraint.bound > 0:
                room = np.log(constraint.bound / expected) / _SPREAD
                chance *= float(norm.cdf(room))
        return chance

    def _expected(self, metric: str, rows: int) -> float | None:
        if metric == "size_mb":
            return self.at("size_mb", rows)
        if metric == "train_seconds":
            return self.at("seconds", rows)
        found = _BATCH.fullmatch(metric)
        if found is None:
            return None
        each, fixed = self.at("latency_us", rows), max(0.0, self.single_us - self.latency_us)
        return each + fixed / int(found[1] or 1)


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """The pipelines of a task, and the regret of each on each table: 0 is the best, 1 among the last."""

    tables: tuple[str, ...]
    rows: tuple[int, ...]
    """How many rows of each table pipelines were fitted on; a large table may be there twice."""
    pipelines: tuple[Known, ...]
    regret: Array
    """One row per pipeline, one column per table."""

    def weights(self, rows: int) -> Array:
        """Return how much each table tells about one of so many rows; the sum is 1.

        What wins on 2,000 rows is smaller and more cautious than what wins on 20,000.
        """
        apart = np.log(np.array(self.rows) / max(rows, 1)) / np.log(_ALIKE)
        # Smaller ones, if there are no others as large: the ratio to the nearest is what counts.
        apart -= np.sign(apart) * np.abs(apart).min(initial=0.0)
        weights = np.exp(-0.5 * apart**2)
        return np.asarray(weights / weights.sum())

    def without(self, tables: Sequence[str]) -> Learnt:
        """Return what is known without some tables, named ``"meta/letter"`` or ``"letter"``."""
        left = set(tables)
        kept = [
            i
            for i, name in enumerate(self.tables)
            if not left.intersection((name, name.rpartition("/")[2]))
        ]
        return Learnt(
            tuple(self.tables[i] for i in kept),
            tuple(self.rows[i] for i in kept),
            self.pipelines,
            self.regret[:, np.array(kept, int)],
        )


@lru_cache
def learnt(task: Task) -> Learnt:
    """Return what is on file for a task."""
    text = files(__package__).joinpath(f"{task}.json").read_text()
    return from_dict(json.loads(text))


def from_dict(file: Mapping[str, Any]) -> Learnt:
    """Read what :mod:`benchmarks.learn_starts` writes."""
    pipelines = tuple(
        Known(
            {module: (name, params) for module, (name, params) in found["choices"].items()},
            found["seconds"],
            found["latency_us"],
            found["single_us"],
            found["size_mb"],
            file["growth"].get(found["choices"]["estimator"][0], {}),
        )
        for found in file["pipelines"]
    )
    # In thousandths, which keeps the file small; differences below are noise.
    regret = np.array([found["regret"] for found in file["pipelines"]], dtype=np.float64) / 1000
    return Learnt(tuple(file["tables"]), tuple(file["rows"]), pipelines, regret)

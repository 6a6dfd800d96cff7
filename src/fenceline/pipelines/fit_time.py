"""How long fits take: how much longer on more rows, and how long they may take on some."""

from collections.abc import Mapping
from typing import NamedTuple

from fenceline.pipelines.fitting.arrange import algorithms, predictor
from fenceline.pipelines.fitting.trees import told_by_held_out
from fenceline.problem.configuration import Choice
from fenceline.search.structured.looks import GROWTH

# Three folds of 12,000 to 20,000 rows beside one look at 2,500 to 4,300, six tables; medians. Fits alone grow
# faster (.6 for LightGBM from 2,000 to 8,000 rows), but a look scores about as many rows as a fold does. At
# .75 promising boosters of a fixed number of trees were taken for twice as slow as they are, and were
# not measured when time was short.
_STOPPING = 0.65
"""Of boosters that stop early: more rows are worth more trees."""
_POWERS = {
    "HistGradientBoosting": _STOPPING,
    "KNeighbors": 0.5,
    "KernelLogisticRegression": 0.4,
    "KernelRidge": 0.4,
    "LightGBM": 0.3,
    "LogisticRegression": 0.55,
    "XGBoost": 0.3,
}


class Pace(NamedTuple):
    """How long a fit may take on some rows."""

    seconds: float
    rows: int

    def at(self, rows: int) -> float:
        """Return how long a fit on other rows may take, so that it has about as many trees."""
        ratio = rows / self.rows
        return self.seconds * float(max(ratio, ratio**GROWTH))


def growth(configuration: Mapping[str, Choice]) -> float:
    """Return the power of the rows with which the seconds of a configuration grow."""
    if told_by_held_out(configuration):
        return _STOPPING
    return max(_POWERS.get(name, GROWTH) for name in algorithms(predictor(configuration)))

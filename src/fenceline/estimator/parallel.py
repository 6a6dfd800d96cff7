"""How many pipelines are measured at a time where nobody says it."""

import os
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fenceline.evaluation.engines.local import processors

# What a worker holds beside the table, in megabytes: the libraries, a fitted pipeline.
_WORKER_MEGABYTES = 400.0
# Of the table, prepared and in parts: numbers as floats, categories as columns of their own.
_COPIES = 8.0
_MEGA = 1e6


def chosen_workers(
    workers: int | None, seconds: float | None, evaluations: int | None, X: Any
) -> int:
    """Return the user's number, or all cores if the budget is in seconds alone, and memory allows.

    A budget in evaluations promises the same run again, which several workers cannot keep.
    """
    if workers is not None:
        return workers
    if seconds is None or evaluations is not None:
        return 1
    fitting = available_megabytes() / 2 / (_WORKER_MEGABYTES + _COPIES * table_megabytes(X))
    return max(1, min(processors(), int(fitting)))


def table_megabytes(X: Any) -> float:
    """Return the size of a table in memory."""
    if isinstance(X, pd.DataFrame):
        return float(X.memory_usage(deep=False).sum()) / _MEGA
    if sparse.issparse(X):
        matrix: Any = X  # scipy's types do not say that it has data
        return float(matrix.data.nbytes) / _MEGA
    return float(np.asarray(X).nbytes) / _MEGA


def available_megabytes() -> float:
    """Return the memory that is free, or could be made so; half a machine where it cannot be told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2 / _MEGA
    except (ValueError, OSError):  # Windows
        return 4_000.0

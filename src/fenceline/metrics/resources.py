"""What a pipeline costs: time to predict and to train, bytes on disk and in memory.

These are measured on one thread. Times are the thread's own processor time: on an idle core that
is the time on the clock, and beside other work it leaves the waiting out.
"""

import pickle
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from fenceline.errors import DefinitionError
from fenceline.metrics.metric import Parts, PipelineMetric, Reading
from fenceline.metrics.ranges import AMOUNT, Range
from fenceline.metrics.trial import Rows, Trial, take
from fenceline.problem.constraint import Constraint
from fenceline.threads import one_thread

_WARM_UPS = 2
_REPEATS = (8, 64)
"""Fewest and most predictions that are timed."""
_SECONDS = 0.1
"""After this long the fewest are enough."""
_BLOCKS = 4
_MEGA = 1e6
FASTEST_SINGLE_ROW = 100.0
"""Microseconds below which no pipeline predicts a single row: of 25 on 8 columns the fastest took 202."""


@dataclass(frozen=True, slots=True, eq=False)
class Resource(PipelineMetric):
    """A metric of the pipeline itself: one fold is enough to know it."""

    resource: ClassVar[bool] = True

    @property
    def range(self) -> Range:
        """Nothing costs less than nothing."""
        return AMOUNT

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the value; rows do not matter to it."""
        return self.read(trial).parts


@dataclass(frozen=True, slots=True, eq=False)
class Latency(Resource):
    """Microseconds per row to predict."""

    batch: int

    def read(self, trial: Trial) -> Reading:
        """Time predictions after a warm-up."""
        seconds = _times(trial.pipeline, _batch(trial, self.batch)) * _MEGA / self.batch
        # Minima of separate stretches of time: how much the minimum itself wanders.
        lowest = [block.min() for block in np.array_split(seconds, _BLOCKS)]
        error = float(np.std(lowest, ddof=1) / np.sqrt(_BLOCKS))
        extras = {"p95": float(np.quantile(seconds, 0.95))}
        return Reading(np.array([seconds.min()]), error, extras)


@dataclass(frozen=True, slots=True, eq=False)
class Size(Resource):
    """Megabytes of the pickled pipeline."""

    def read(self, trial: Trial) -> Reading:
        """Pickle the pipeline."""
        return Reading(np.array([len(pickle.dumps(trial.pipeline, protocol=5)) / _MEGA]), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class TrainSeconds(Resource):
    """Processor seconds to fit."""

    def read(self, trial: Trial) -> Reading:
        """Return what was measured when the pipeline was fitted."""
        return Reading(np.array([trial.train_seconds]), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Memory(Resource):
    """Megabytes claimed while predicting."""

    batch: int

    def read(self, trial: Trial) -> Reading:
        """Trace the allocations of one prediction."""
        rows, predict = _batch(trial, self.batch), _predictor(trial.pipeline)
        nested = tracemalloc.is_tracing()
        if not nested:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            predict(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            if not nested:
                tracemalloc.stop()
        return Reading(np.array([max(0, peak - before) / _MEGA]), 0.0)


def latency_us(batch: int = 1) -> Latency:
    """Return the time to predict, in microseconds *per row*, when predicting `batch` rows at once.

    The value is the fastest of several predictions after a warm-up, in processor time on one
    thread; the 95 % quantile and the standard error are reported beside it. With a batch of 1, the
    real-time case, a scikit-learn pipeline costs several hundred. Probabilities are predicted where
    there are any, and decisions where they have a threshold.
    """
    size = _positive("latency_us", batch)
    return Latency("latency_us" if size == 1 else f"latency_us(batch={size})", size)


def size_mb() -> Size:
    """Return the size of the pickled pipeline, in megabytes (10**6 bytes)."""
    return Size("size_mb")


def train_seconds() -> TrainSeconds:
    """Return the processor seconds to fit the pipeline once, on one thread."""
    return TrainSeconds("train_seconds")


def memory_mb(batch: int = 1000) -> Memory:
    """Return the peak of memory claimed to predict `batch` rows at once, in megabytes.

    Counted are Python's and numpy's allocations beyond the pipeline itself (see :func:`size_mb`);
    what compiled libraries claim on their own is not seen.
    """
    size = _positive("memory_mb", batch)
    return Memory("memory_mb" if size == 1000 else f"memory_mb(batch={size})", size)


def warn_of_single_rows(constraint: Constraint, metric: PipelineMetric) -> None:
    """Say before a search that a bound for batches was put on single rows."""
    if not isinstance(metric, Latency) or metric.batch > 1 or not constraint.has_ceiling:
        return
    if constraint.bound < FASTEST_SINGLE_ROW:
        warnings.warn(
            f"'{constraint}' is about single rows, and one row costs a scikit-learn pipeline several "
            f"hundred microseconds: nothing may be found inside. For {constraint.bound:g} microseconds "
            f"per row in batches write 'latency_us(batch=1000) {constraint.sense} {constraint.bound:g}'.",
            UserWarning,
            stacklevel=2,
        )


def _times(pipeline: Any, rows: Any) -> NDArray[np.float64]:
    predict = _predictor(pipeline)
    spent: list[float] = []
    with one_thread(None):
        for _ in range(_WARM_UPS):
            predict(rows)
        begun = time.thread_time()
        while len(spent) < _REPEATS[0] or (
            len(spent) < _REPEATS[1] and time.thread_time() - begun < _SECONDS
        ):
            start = time.thread_time()
            predict(rows)
            spent.append(time.thread_time() - start)
    return np.array(spent)


def _predictor(pipeline: Any) -> Any:
    """Return what is timed, which is what gets deployed.

    Decisions where they have a threshold, else probabilities if there are any.
    """
    model = pipeline[-1] if isinstance(pipeline, Pipeline) else pipeline
    if isinstance(model, FixedThresholdClassifier):
        return pipeline.predict
    return getattr(pipeline, "predict_proba", None) or pipeline.predict


def _batch(trial: Trial, size: int) -> Any:
    """Return `size` rows, repeating those there are if need be."""
    return take(trial.X, np.resize(np.arange(len(trial.rows)), size))


def _positive(metric: str, batch: object) -> int:
    if isinstance(batch, bool) or not isinstance(batch, int | np.integer) or batch < 1:
        raise DefinitionError(
            f"{metric}: batch must be a whole number of at least 1. Got {batch!r}."
        )
    return int(batch)

"""Pipelines measured on samples of tables, line by line into a file from which a run continues."""

from __future__ import annotations

import json
import pickle
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.starts_candidates import Pipeline
from fenceline import metrics
from fenceline.metrics.trial import Rows, Table, Task, Trial, take
from fenceline.pipelines import CrossValidation, named_space, preparation
from fenceline.pipelines.fitting.encoders import with_encoder
from fenceline.pipelines.fitting.prepare import has_categories
from fenceline.pipelines.fitting.trees import told_by_held_out
from fenceline.problem.configuration import Configuration
from fenceline.threads import one_thread

FOLDERS = ("meta", "fairness", "classification", "regression")
HOLDOUT = 1 / 3
SCORES: Mapping[Task, tuple[str, str]] = {
    "binary": ("roc_auc", "neg_log_loss"),
    "multiclass": ("neg_log_loss", "accuracy"),
    "regression": ("r2", "neg_mean_absolute_error"),
}
"""What counts two thirds, which is the default objective, and what one third."""
LONGEST = 8.0
"""Processor seconds that one fit may take, for every thousand rows of it 1 more."""
_SEED = 0
_CACHE_MEGABYTES = 16.0
_NUMBERS = frozenset(
    [
        "ailerons",
        "pol",
        "concrete",
        "ames",
        "hotel_rates",
        "insurance",
        "airfoil",
        "bike_sharing",
        "communities_crime",
        "colleges_usnews",
    ]
)
"""Tables of `meta` whose target is a number."""


@dataclass(frozen=True)
class Sample:
    """Some rows of a table, always the same ones: a third of them scores what the rest fitted."""

    path: Path
    rows: int

    @property
    def name(self) -> str:
        """Folder and table, and the number of rows where it is not the usual one."""
        return f"{self.path.parent.name}/{self.path.name.partition('.')[0]}"

    @cached_property
    def table(self) -> Table:
        frame = pd.read_csv(self.path)
        numbers = self.path.parent.name == "regression" or self.name.split("/")[1] in _NUMBERS
        labels = frame["target"]
        if self.rows < len(frame):
            # A class of few rows cannot be shared out; the others keep their shares.
            rare = labels.map(labels.value_counts()) < 10
            strata = None if numbers else labels.where(~rare, labels.mode()[0])
            frame, _ = train_test_split(
                frame, train_size=self.rows, stratify=strata, random_state=_SEED
            )
        labels = frame.pop("target")
        frame = frame.loc[:, frame.nunique() > 1].reset_index(drop=True)
        task: Task = (
            "regression" if numbers else "binary" if labels.nunique() == 2 else "multiclass"
        )
        return Table(frame, labels.to_numpy(float if numbers else None), task)

    @cached_property
    def measure(self) -> CrossValidation:
        scores = {name: metrics.score(name) for name in SCORES[self.table.task]}
        return CrossValidation(
            self.table,
            scores,
            preparation=preparation(self.table.X),
            folds=HOLDOUT,
            cache_megabytes=_CACHE_MEGABYTES,
        )

    def configuration(self, pipeline: Pipeline) -> Configuration:
        """Return a pipeline as one of the space that the estimator would search."""
        space = named_space("default", self.table.task)
        if has_categories(self.table.X):
            return with_encoder(space).configuration(pipeline)
        return space.configuration({m: c for m, c in pipeline.items() if m != "encoder"})

    def fitted(self, configuration: Configuration, train: Rows, valid: Rows) -> Trial:
        """Fit a pipeline; rows that score it tell no booster when to stop, a part of the others does."""
        trees = None
        if told_by_held_out(configuration):
            inner, told = train_test_split(train, test_size=HOLDOUT, random_state=_SEED)
            trees = self.measure.fold(configuration, inner, told).trees
        return self.measure.trial(configuration, train, valid, trees)

    def measured(self, pipeline: Pipeline) -> dict[str, Any]:
        """Fit a pipeline once and return its scores, what it cost, or why it failed."""
        try:
            with one_thread(None), warnings.catch_warnings(), _limited(LONGEST + self.rows / 1000):
                warnings.simplefilter("ignore")
                train, valid = self.measure.splits[0]
                trial = self.fitted(self.configuration(pipeline), train, valid)
                scores = {n: float(m.value(trial)) for n, m in self.measure.metrics.items()}
                return {"scores": scores, "train": len(train)} | _costs(trial)
        except Exception as problem:
            return {"error": f"{type(problem).__name__}: {problem}"[:200]}


def samples(data: Path, rows: int, fewest: int = 500) -> list[Sample]:
    """Return the tables to learn from."""
    paths = [path for folder in FOLDERS for path in sorted((data / folder).glob("*.csv.gz"))]
    return [s for s in (Sample(path, rows) for path in paths) if len(s.table.y) >= fewest]


def known(path: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return what a file holds, by table, rows and pipeline."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            table, rows, pipeline, outcome = json.loads(line)
        except ValueError:  # the line that was being written when a run was killed
            continue
        found[table, rows, pipeline] = outcome
    return found


def run(
    path: Path,
    jobs: Sequence[tuple[Sample, Pipeline]],
    until: float,
    show: Callable[[str], None],
) -> None:
    """Measure what is not in the file yet, until a moment of time.monotonic()."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = known(path)
    for number, (sample, pipeline) in enumerate(jobs, 1):
        # Without categories all encoders are one.
        key = (sample.name, sample.rows, json.dumps(sample.configuration(pipeline).to_dict()))
        if key in done:
            continue
        if time.monotonic() > until:
            break
        done[key] = sample.measured(pipeline)
        # The line break comes first, so that a line cut short spoils no other.
        with path.open("a") as file:
            file.write("\n" + json.dumps([*key, done[key]]))
        if number % 50 == 0:
            show(f"{number} of {len(jobs)}: {sample.name}")


def _costs(trial: Trial) -> dict[str, float]:
    """Return what a fitted pipeline costs: roughly, for it is an order of magnitude that counts."""
    predict = getattr(trial.pipeline, "predict_proba", trial.pipeline.predict)
    size = len(trial.rows)
    return {
        "seconds": trial.train_seconds,
        "latency_us": 1e6 * _time(predict, trial.X) / size,
        "single_us": 1e6 * _time(predict, take(trial.X, np.arange(1))),
        "size_mb": len(pickle.dumps(trial.pipeline, protocol=5)) / 1e6,
    }


def _time(predict: Callable[[Any], Any], rows: Any) -> float:
    spent = []
    for _ in range(3):
        begun = time.thread_time()
        predict(rows)
        spent.append(time.thread_time() - begun)
    return min(spent)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """End what takes longer; only the main thread can be told."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)

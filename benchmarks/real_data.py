"""Tables as problems: the loss of a pipeline on the held-out third of a sample of the rows."""

from __future__ import annotations

import hashlib
import importlib.metadata
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sklearn.model_selection import train_test_split

import fenceline as fl
from fenceline import Configuration, Limits, Problem, metrics
from fenceline.cli.tables import read_table
from fenceline.errors import DefinitionError
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, named_space, preparation

TARGET = "target"
HOLDOUT = 0.33
LOSS = metrics.loss("roc_auc")
CPU_SECONDS = 1.0
"""Of one pipeline; one that takes longer has failed, whoever asks and whatever else the machine does."""
LIMITS = Limits(seconds=120.0)
"""By the clock on the wall, for what does not listen: far more than an idle machine needs."""
FEWEST_ROWS = 50
_SAMPLE_SEED = 0
_SOURCES = ("metrics", "pipelines")
"""The packages that a measured value rests on."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a table with two classes, always the same ones.

    Parameters
    ----------
    path : Path
        Of a table whose column ``target`` holds the classes.
    rows : int
        How many at most, with the shares of the classes among all.
    """

    path: Path
    rows: int

    @property
    def name(self) -> str:
        """Short, for tables and files."""
        return self.path.name.partition(".")[0]

    def load(self) -> Table:
        """Read the rows, or say in one line why they are of no use."""
        frame = read_table(self.path)
        if TARGET not in frame:
            raise DefinitionError(
                f"{self.path} has no column {TARGET!r}; give a table whose classes stand there."
            )
        classes = frame[TARGET].value_counts(dropna=False)
        if len(classes) != 2 or frame[TARGET].isna().any():
            raise DefinitionError(
                f"{self.path} has {len(classes)} different values in {TARGET!r}, and AUROC needs two "
                "classes; give another table."
            )
        if classes.min() < FEWEST_ROWS // 2:
            raise DefinitionError(
                f"{self.path} has {classes.min()} rows of one class, and a comparison needs "
                f"{FEWEST_ROWS // 2}; give another table."
            )
        if self.rows < len(frame):
            frame, _ = train_test_split(
                frame, train_size=self.rows, stratify=frame[TARGET], random_state=_SAMPLE_SEED
            )
        labels = frame.pop(TARGET).to_numpy()
        return Table(frame.reset_index(drop=True), labels, "binary")

    def fingerprint(self) -> str:
        """Return a digest of all that the value of a pipeline rests on, apart from the machine."""
        versions = [importlib.metadata.version(name) for name in ("numpy", "scikit-learn")]
        digest = hashlib.sha256(repr((self.rows, HOLDOUT, CPU_SECONDS, versions)).encode())
        digest.update(self.path.read_bytes())
        root = Path(fl.__file__).parent
        for package in _SOURCES:
            for path in sorted((root / package).rglob("*.py")):
                digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The loss alone, whatever is the best so far: values must serve every search."""

    measure: CrossValidation
    metrics: tuple[str, ...] = (LOSS.name,)

    def __call__(self, configuration: Configuration) -> Mapping[str, float]:
        """Fit on two thirds of the rows, measure on the rest."""
        with processor_time(CPU_SECONDS):
            return {LOSS.name: self.measure(configuration)[LOSS.name]}


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of the processor, as soon as Python is back in charge."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"It took more than {seconds:g} s of the processor.")

    before = signal.signal(signal.SIGPROF, stop)
    # Again and again, for an exception may get lost where one cannot be raised.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def problem_of(sample: Sample, space: str) -> Problem:
    """Return the search of the best pipeline of a named space."""
    table = sample.load()
    measure = CrossValidation(table, {LOSS.name: LOSS}, (), preparation(table.X), HOLDOUT)
    return Problem(named_space(space, table.task), HeldOut(measure), LOSS.name)

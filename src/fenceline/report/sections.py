"""What the sections of a report say, as plain records: from a search to what a template prints."""

import math
import platform
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import TYPE_CHECKING

from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.template import in_order
from fenceline.report.subject import Subject
from fenceline.result.result import Result

if TYPE_CHECKING:
    from fenceline.pipelines.ensemble import Members

TOP = 10
"""Lines of the leaderboard that are there without being asked for."""
MOST_REASONS = 15
_LONGEST_REASON = 240
SYMBOLS = {"certified": "✓", "feasible": "○", "infeasible": "✕"}
_PACKAGES = ("fenceline", "scikit-learn", "numpy", "scipy", "pandas")


@dataclass(frozen=True, slots=True)
class Tried:
    """How one algorithm of a module did."""

    algorithm: str
    times: int
    feasible: int
    failed: int
    best: float
    """Its best feasible objective; infinite if it has none."""
    typical: float
    """Median objective of what was measured; infinite if nothing was."""
    seconds: float
    looks: int = 0
    """How often it was looked at with a part of the rows."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for failures."""

    status: str
    message: str
    times: int


@dataclass(frozen=True, slots=True)
class FinalistLine:
    """A pipeline that was fitted on all rows of the search, as a line of a table."""

    pipeline: str
    threshold: str | None
    searched: float
    """Its score by the folds, in the score's own direction ..."""
    unseen: float
    """... and on unseen rows; NaN where it is not known."""
    verdict: str
    symbol: str
    delivered: bool


def algorithms(result: Result) -> dict[str, list[Tried]]:
    """Return module -> its algorithms, the best feasible one first; untried ones last.

    A module with a single algorithm offers no choice, and so no comparison.
    """
    found = {}
    for module in result.problem.space.modules:
        if len(module.algorithms) == 1:
            continue
        tried: dict[str, list[Evaluation]] = {a.name: [] for a in module.algorithms}
        for e in (e for e in result.evaluations if e.status != "cancelled"):
            tried[e.configuration[module.name].algorithm].append(e)
        rows = [_tried(name, evaluations) for name, evaluations in tried.items()]
        found[module.name] = sorted(rows, key=lambda r: (not r.times, r.best, r.typical))
    return found


def leaders(result: Result) -> list[tuple[int, Evaluation]]:
    """Return the best feasible evaluations with their numbers, counted from 1."""
    feasible = [(i, e) for i, e in enumerate(result.full, 1) if e.feasible]
    return sorted(feasible, key=lambda item: item[1].objective)[:TOP]


def failures(result: Result) -> list[Reason]:
    """Return why measurements failed, the commonest reason first."""
    counted = Counter(
        (e.status, _clipped(e.message)) for e in result.full if e.failed
    ).most_common()
    shown = [Reason(status, message, n) for (status, message), n in counted[:MOST_REASONS]]
    rest = counted[MOST_REASONS:]
    if rest:
        other = f"{len(rest)} other reasons"
        shown.append(Reason("various", other, sum(n for _, n in rest)))
    return shown


def at_rest(result: Result) -> bool:
    """Tell whether no constraint pressed and nothing was lacking after any iteration."""
    return not any(i.mu.any() or i.primal_residual or i.dual_residual for i in result.iterations)


def in_words(configuration: Configuration) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return module, algorithm and hyper-parameters of every step, in the order in which data reach them."""
    return [
        (
            module,
            choice.algorithm,
            [(k, f"{v:.4g}" if isinstance(v, float) else str(v)) for k, v in choice.params.items()],
        )
        for module, choice in in_order(configuration)
    ]


def asked(subject: Subject) -> list[tuple[str, str]]:
    """Return what the search was asked for, and how it ended."""
    result = subject.result
    space = result.problem.space
    size = space.size
    ends = {
        "evaluations": "the evaluations were spent",
        "seconds": "the time was spent",
        "exhausted": "no pipeline was left",
        "finished": "the algorithm came to its end",
        "interrupted": "it was interrupted",
    }
    rows = [
        ("Objective", _goal(subject)),
        ("Space", f"{len(space.modules)} modules, {size:,} pipelines before hyper-parameters"),
        ("Evaluations", f"{result.counted} in {result.seconds:,.1f} s".replace(" evaluations", "")),
        ("State", "the search goes on")
        if subject.running
        else ("Ended because", ends[result.ended]),
    ]
    shown = ("cv", "workers", "random_state", "confidence")
    given = [(name, subject.settings.get(name)) for name in shown]
    return rows + [(name, str(value)) for name, value in given if value is not None]


def _goal(subject: Subject) -> str:
    score = subject.score
    return f"{score.name}, as {'high' if score.larger_is_better else 'low'} as possible"


def finalists(subject: Subject) -> list[FinalistLine]:
    """Return all that were fitted on the rows of the search, the best by the folds first."""
    score = subject.score
    return [
        FinalistLine(
            pipeline_text(f.configuration),
            None if f.threshold is None else f.decides_at,
            score.value(f.objective),
            score.value(f.unseen),
            f.verdict,
            SYMBOLS[f.verdict],
            subject.delivers(f),
        )
        for f in sorted(subject.finalists, key=lambda f: f.objective)
    ]


def pipeline_text(configuration: "Configuration | Members") -> str:
    """Write a pipeline, or those that vote."""
    if isinstance(configuration, Configuration):
        return " → ".join(map(str, configuration.values()))
    votes = Counter(configuration)
    return "; ".join(f"{n} x {' → '.join(map(str, c.values()))}" for c, n in votes.items())


def environment() -> list[tuple[str, str]]:
    """Return the versions of what wrote the report."""
    return [
        ("Python", platform.python_version()),
        ("System", f"{platform.system()} {platform.machine()}"),
        *_versions(),
    ]


def _versions() -> Iterator[tuple[str, str]]:
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:  # an interpreter without metadata, as some packagers make
            continue


def _tried(name: str, evaluations: list[Evaluation]) -> Tried:
    looks = sum(e.look for e in evaluations)
    evaluations = [e for e in evaluations if not e.look]
    measured = [e.objective for e in evaluations if e.ok]
    return Tried(
        name,
        len(evaluations),
        sum(e.feasible for e in evaluations),
        sum(e.failed for e in evaluations),
        min((e.objective for e in evaluations if e.feasible), default=math.inf),
        median(measured) if measured else math.inf,
        median(e.seconds for e in evaluations) if evaluations else math.nan,
        looks,
    )


def _clipped(message: str) -> str:
    first = message.strip() or "no message"
    return first if len(first) <= _LONGEST_REASON else f"{first[: _LONGEST_REASON - 1]}…"

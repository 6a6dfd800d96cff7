"""Whether certificates with controls are wrong no more often than they may be: real rows, whose truth is nearly known.

Of a large table some rows are searched, some are unseen, and the many others tell the truth. Five models are
fitted on the rows of the search; one of them, at random or the one that its folds flatter most, is bounded on the
unseen rows, with and without controls. ``python -m benchmarks.controls`` prints the tables.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from benchmarks.catalogue import DATA
from fenceline import metrics
from fenceline.certificate.bounds import interval
from fenceline.certificate.controls import Controls
from fenceline.metrics import Table, Trial
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.prepare import preparation
from fenceline.pipelines.fitting.thresholds import choosing, decided
from fenceline.pipelines.folds import cut

SETS = (
    ("classification/magic", "FLength", 37.0),
    ("credit/default_credit_card_clients", "BILL_AMT4", 19052.0),
)
"""Large tables, and columns whose halves are ranked differently."""
SEARCHED, UNSEEN, TRUTH = 2_000, 800, 20_000
SHARE = 0.7
"""Of the positives, how many rows a model chooses."""
RISK = 0.05
METRICS: tuple[PipelineMetric, ...] = (
    metrics.score_gap("roc_auc", "g"),
    metrics.false_positive_rate(),
    metrics.demographic_parity_difference("g"),
    metrics.equalized_odds_difference("g"),
    metrics.score("recall"),
    metrics.score("roc_auc"),
    metrics.score("precision"),
)
WAYS = ("at random", "flattered")


@dataclass
class Tally:
    """What became of one metric."""

    wrong: dict[tuple[str, bool], int] = field(default_factory=dict)
    reaches: dict[bool, list[float]] = field(default_factory=dict)
    errors: dict[bool, list[float]] = field(default_factory=dict)
    """Of values, in reaches of 1.645."""


def models(seed: int) -> Iterator[tuple[object, float]]:
    """Yield models, and the logarithm of the weight of the rows of one group."""
    for emphasis in (0.0, -2.0, 2.0):
        yield (
            LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1, random_state=seed),
            emphasis,
        )
    yield ExtraTreesClassifier(50, min_samples_leaf=2, random_state=seed), 0.0
    yield RandomForestClassifier(40, min_samples_leaf=10, random_state=seed), 0.0


def tried(table: Table, runs: int, seed: int) -> dict[str, Tally]:
    """Bound models on rows drawn again and again."""
    rng = np.random.default_rng(seed)
    tallies = {metric.name: Tally() for metric in METRICS}
    for run in range(runs):
        drawn = rng.permutation(len(table.y))
        ends = (SEARCHED, SEARCHED + UNSEEN, SEARCHED + UNSEEN + TRUTH)
        search, unseen, others = (
            np.sort(drawn[a:b]) for a, b in zip((0, *ends), ends, strict=False)
        )
        measure = CrossValidation(
            table, {m.name: m for m in METRICS}, (), preparation(table.X), random_state=run
        )
        controls = Controls.fit(measure, search, unseen, math.inf)
        found = [
            _measured(table, model, emphasis, (search, unseen, others), run)
            for model, emphasis in models(run)
        ]
        for j, metric in enumerate(METRICS):
            side = -1.0 if metric.larger_is_better else 1.0
            flattered = min(found, key=lambda f: side * (f[0][j] - f[2][j]))
            chosen = {WAYS[0]: found[run % len(found)], WAYS[1]: flattered}
            for way, (_, trial, truths) in chosen.items():
                _tally(tallies[metric.name], way, metric, trial, controls, truths[j], len(others))
    return tallies


def _measured(
    table: Table, model: object, emphasis: float, rows: tuple[Rows, Rows, Rows], seed: int
) -> tuple[list[float], Trial, list[float]]:
    """Return what the folds say of a model, its trial on the unseen rows, and the truth."""
    search, unseen, others = rows
    counts = np.exp(emphasis * table.groups["g"])
    share = SHARE * float(np.mean(table.target))

    def fitted(train: Rows, on: Rows) -> Trial:
        model.fit(table.X[train], table.y[train], sample_weight=counts[train])  # type: ignore[attr-defined]
        return Trial(model, table, on)

    folds = []
    for train, valid in cut(table.take(search), METRICS, 3, seed):
        trial = fitted(search[train], search[valid])
        trial = decided(trial, choosing(trial, share) or 0.0)
        folds.append([metric.parts(trial) for metric in METRICS])
    said = [m.combine(np.mean([f[j] for f in folds], axis=0)) for j, m in enumerate(METRICS)]
    trial = fitted(search, unseen)
    place = choosing(trial, share) or 0.0
    truth = Trial(model, table, others)
    assert truth.response is not None
    truth = decided(truth, place)
    return said, decided(trial, place), [metric.value(truth) for metric in METRICS]


def _tally(
    tally: Tally,
    way: str,
    metric: PipelineMetric,
    trial: Trial,
    controls: Controls | None,
    truth: float,
    rows: int,
) -> None:
    side = -1.0 if metric.larger_is_better else 1.0
    plain = math.nan
    for known in (None, controls):
        value, low, high = interval(metric, trial, RISK, np.random.default_rng(0), controls=known)
        reach = (high - value) if side > 0 else (value - low)
        plain = reach if known is None else plain
        # The truth has an error, too: that of the plain value on so many rows.
        doubt = math.hypot(reach, plain * math.sqrt(UNSEEN / rows))
        with_controls = known is not None
        tally.wrong[way, with_controls] = tally.wrong.get((way, with_controls), 0) + int(
            side * (truth - value) > doubt
        )
        if way == WAYS[0]:
            tally.reaches.setdefault(with_controls, []).append(reach)
            tally.errors.setdefault(with_controls, []).append((value - truth) / doubt * 1.645)


def main(given: Sequence[str] | None = None) -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.controls", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(given)
    for path, column, edge in SETS:
        frame = pd.read_csv(chosen.data / f"{path}.csv.gz")
        labels = frame.pop("target").to_numpy()
        groups = {"g": (frame[column] >= edge).to_numpy().astype(int)}
        X = pd.get_dummies(frame, dtype=float).to_numpy()
        found = tried(Table(X, labels, "binary", groups), chosen.runs, chosen.seed)
        print(f"\n{path}, {chosen.runs} draws, without and with controls:\n")
        print(
            "| metric | wrong, a model at random | the most flattered | reach | error in its own units |"
        )
        print("|---|---|---|---|---|")
        for name, tally in found.items():
            wrong = [
                " and ".join(
                    f"{100 * tally.wrong[way, c] / chosen.runs:.1f}" for c in (False, True)
                )
                for way in WAYS
            ]
            reach = np.mean(tally.reaches[True]) / np.mean(tally.reaches[False])
            errors = " and ".join(f"{np.std(tally.errors[c]):.2f}" for c in (False, True))
            print(f"| {name} | {wrong[0]} % | {wrong[1]} % | {reach:.2f} | {errors} |", flush=True)


if __name__ == "__main__":
    main()

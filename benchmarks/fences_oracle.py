"""What the best choice among all that a search found inside the fence would have been, with the truth in hand.

The wider fence of `make bench-fences` is searched as there. Then every promising pipeline is fitted on the
rows of the search, tested on the certificate's rows as if it were the only one, and judged on the
quarter that nobody saw. No rule for the order of tests, and no rule for what to search longer, can deliver
more than the best of these; so the distance to FLAML's free pick that is left is the price of the fence.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.catalogue import DATA
from benchmarks.fences_plan import (
    GAP_SHARES,
    SETS,
    WORKERS,
    DataSet,
    Job,
    Method,
    bounds_from,
    split,
)
from benchmarks.pages import markdown
from fenceline import FencelineClassifier, metrics
from fenceline.certificate.holdout import set_aside
from fenceline.certificate.refits import Fitted, Refits
from fenceline.certificate.sequence import Option
from fenceline.certificate.terms import Terms
from fenceline.estimator.learning_task import pose
from fenceline.estimator.second_table import joined
from fenceline.metrics import Table
from fenceline.metrics.trial import Rows, Trial
from fenceline.pipelines.ensemble import Candidate
from fenceline.pipelines.starts.portfolio import leaving_out

METHOD: Method = "fenceline-wider"
MOST = 60
"""Pipelines that are fitted once more, the best by the folds first."""


@dataclass(frozen=True)
class Judged:
    """A pipeline on rows that nobody saw."""

    auroc: float
    gap: float
    certified: bool
    """By a test of its own, as if it were the only one."""


def search(job: Job, table: Table, train: Rows, evaluations: int | None) -> FencelineClassifier:
    """Search inside the fence of a job."""
    model = FencelineClassifier(
        "roc_auc",
        job.constraints,
        seconds=None if evaluations else job.seconds,
        evaluations=evaluations,
        workers=WORKERS,
        random_state=job.seed,
        on_infeasible="warn",
    )
    with warnings.catch_warnings(), leaving_out(job.dataset.path):
        warnings.simplefilter("ignore")
        model.fit(table.X.iloc[train], table.y[train])
    return model


def judge(
    model: FencelineClassifier, table: Table, train: Rows, test: Rows, dataset: DataSet
) -> list[Judged]:
    """Fit what the search found inside its fence, test each alone, and judge it."""
    X, y = table.X.iloc[train], table.y[train]
    task = pose(model, joined(X, y, None, None, None))
    constraints, seed = task.constraints, task.seed
    rows = set_aside(task.table, task.metrics, constraints, task.folds, seed, controlled=True)
    measure = task.measure(rows.search)
    whole = replace(measure, table=task.table, sparing=measure.spared)
    terms = Terms(task.problem(measure), whole, *rows, model.confidence, math.inf)
    refits = Refits(terms)
    found = sorted((e for e in model.result_.full if e.feasible), key=lambda e: e.objective)
    judged = []
    for evaluation in found[:MOST]:
        option = Option(Candidate.alone(evaluation), evaluation.objective, 0.0, evaluation.metrics)
        passed = refits.certified(option)
        if refits.tried and refits.tried[-1].option.pipeline == option.pipeline:
            judged.append(_on_the_rest(refits.tried[-1], bool(passed), table, test, dataset))
    return judged


def _on_the_rest(
    fitted: Fitted, passed: bool, table: Table, test: Rows, dataset: DataSet
) -> Judged:
    trial = Trial(fitted.trial.pipeline, table, test)
    return Judged(metrics.as_metric("roc_auc").value(trial), dataset.gap.value(trial), passed)


def row(job: Job, evaluations: int | None, free: float) -> list[str]:
    """Return a line of the table: FLAML's free pick, ours, and the best that could have been picked."""
    table = job.dataset.load(job.data)
    train, test = split(table, job.dataset.gap, job.seed)
    model = search(job, table, train, evaluations)
    ours = metrics.as_metric("roc_auc").value(Trial(model.best_pipeline_, table, test))
    judged = judge(model, table, train, test, job.dataset)
    inside = [one for one in judged if one.gap <= job.bounds["gap"]]
    both = [one for one in inside if one.certified]
    best = [f"{max(one.auroc for one in some):.4f}" if some else "none" for some in (inside, both)]
    assert model.certificate_ is not None
    counts = f"{len(both)} / {len(inside)} / {len(judged)}"
    word = f"{ours:.4f} {model.certificate_.status}"
    return [job.dataset.name, f"{job.bounds['gap']:g}", f"{free:.4f}", word, *best, counts]


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, judge, print."""
    names = [dataset.name for dataset in SETS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fences_oracle", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the tables")
    parser.add_argument(
        "--runs", type=Path, default=Path("out/fences/runs"), help="of make bench-fences"
    )
    parser.add_argument("--sets", nargs="+", choices=names, default=names)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--evaluations", type=int, help="instead of seconds")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the split; FLAML's run on it must be there"
    )
    chosen = parser.parse_args(arguments)
    rows = []
    for dataset in (one for one in SETS if one.name in chosen.sets):
        free = Job(dataset, "flaml", chosen.seed, 120.0, chosen.data, chosen.runs, {}).outcome
        if free is None or "error" in free:
            parser.error(
                f"FLAML's free run on {dataset.name} is not in {chosen.runs}; run make bench-fences"
            )
        bounds = bounds_from(free, GAP_SHARES[METHOD])
        job = Job(dataset, METHOD, chosen.seed, chosen.seconds, chosen.data, chosen.runs, bounds)
        rows.append(row(job, chosen.evaluations, free["auroc"]))
        print(" ".join(rows[-1]), flush=True)
    header = [
        "set",
        "gap allowed",
        "FLAML, free",
        "Fenceline",
        "best inside",
        "best inside that is certified alone",
    ]
    print(markdown([*header, "certified / inside / fitted"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

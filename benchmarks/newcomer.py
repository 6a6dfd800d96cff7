"""Fenceline against the answer by hand on one table with one fence, side by side.

The newcomer fits a default booster, rows reweighed where groups are compared, and reads one threshold
from its own cross-validation: about two seconds. Both see two thirds of the rows; the last third judges.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.catalogue import DATA
from benchmarks.decisions.by_hand import STRENGTHS, decide_by_hand
from benchmarks.decisions.fence import (
    BATCH,
    COMPARING,
    CONFIDENT,
    OBJECTIVES,
    Bound,
    Flags,
    Reading,
    keeps,
    read,
    score,
)
from benchmarks.decisions.ours import search
from benchmarks.decisions.rows import Decided, Rows, load
from fenceline import metrics
from fenceline.metrics import Table
from fenceline.metrics.trial import Trial
from fenceline.pipelines.starts.portfolio import leaving_out


def judged(
    table: Decided, judging: Rows, chosen: Flags, fence: Sequence[Bound], microseconds: float
) -> dict[str, Reading]:
    """Read every bounded metric on the rows that judge."""
    truth, groups = table.truth[judging], table.groups[judging]
    return {
        bound.kind: Reading(microseconds, 0.0)
        if bound.kind == "latency"
        else read(bound.kind, truth, chosen, groups)
        for bound in fence
    }


def latency(model: object, table: Decided, rows: Rows) -> float:
    """Return microseconds a row in batches, by the code that measures ours."""
    frame = Table(table.X, table.truth.astype(int), "binary")
    return metrics.latency_us(batch=BATCH).value(Trial(model, frame, rows))


def line(
    name: str,
    value: float,
    auroc: float,
    verdict: str,
    fence: Sequence[Bound],
    readings: Mapping[str, Reading],
    seconds: float,
    note: str,
) -> str:
    """Return one answer in a few lines."""
    kept = "inside" if keeps(fence, readings) else "OUTSIDE"
    broken = any(b.excess(readings[b.kind]) > CONFIDENT * readings[b.kind].error for b in fence)
    if verdict == "certified" and broken:
        verdict = "certified, CONTRADICTED"
    text = f"{name:<10} {value:.4f}  AUROC {auroc:.4f}  {verdict}; {kept}; {seconds:.1f} s; {note}"
    for bound in fence:
        found = readings[bound.kind]
        text += f"\n{'':<10}   {bound}: {found.value:.4f} (error {found.error:.4f})"
    return text


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.newcomer", description=__doc__)
    parser.add_argument("table", help="a file, or its name below the data directory")
    parser.add_argument("--fence", nargs="+", type=Bound.parse, default=[], metavar="dpd=.1")
    parser.add_argument("--group", help="the column whose groups are compared")
    parser.add_argument("--objective", choices=OBJECTIVES, default="balanced_accuracy")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--evaluations", type=int, help="instead of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of both")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--no-ours", action="store_true", help="the answer by hand only")
    chosen = parser.parse_args(arguments)
    if chosen.group is None and any(bound.kind in COMPARING for bound in chosen.fence):
        parser.error("dpd and eod compare groups; name their column with --group")
    if not (path := Path(chosen.table)).exists():
        path = chosen.data / f"{chosen.table.removesuffix('.csv.gz')}.csv.gz"
    if not path.exists():
        parser.error(f"there is no table {path}; say where the tables are with --data")
    chosen.table = path
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Decide by hand, then by search, and print both."""
    o = options(arguments)
    try:
        table = load(o.table, o.group)
    except ValueError as problem:
        raise SystemExit(f"newcomer: {problem}") from None
    own, judging = table.split(o.seed)
    truth = table.truth[judging]
    unseen = table.X.iloc[judging]
    names, counts = np.unique(table.groups, return_counts=True)
    shown = (
        ", ".join(f"{n} ({c})" for n, c in zip(names, counts, strict=True)) if o.group else "none"
    )
    print(f"{o.table.name}: {len(own)} rows of their own, {len(judging)} judge; groups: {shown}")
    print(f"{o.objective}, {', '.join(map(str, o.fence)) or 'no fence'}", flush=True)

    start = time.perf_counter()
    comparing = any(bound.kind in COMPARING for bound in o.fence)
    hand = decide_by_hand(
        table, own, o.fence, o.objective, STRENGTHS if comparing else (0.0,), o.seed
    )
    seconds = time.perf_counter() - start
    timed = any(bound.kind == "latency" for bound in o.fence)
    if hand is None:
        print("newcomer   nothing by hand has the room a certificate needs")
    else:
        scores = hand.scores(unseen)
        chosen = scores >= hand.threshold
        spent = latency(hand.model, table, judging) if timed else 0.0
        readings = judged(table, judging, chosen, o.fence, spent)
        word = "certified" if hand.certified else "not certified"
        note = f"strength {hand.strength:g}, threshold {hand.threshold:.3f}"
        value, auroc = score(o.objective, truth, chosen), roc_auc_score(truth, scores)
        print(line("newcomer", value, auroc, word, o.fence, readings, seconds, note), flush=True)
    if o.no_ours:
        return 0

    start = time.perf_counter()
    with leaving_out(o.table.name.removesuffix(".csv.gz")):
        found = search(
            table,
            own,
            o.fence,
            o.objective,
            seconds=None if o.evaluations else o.seconds,
            evaluations=o.evaluations,
            seed=o.seed,
        )
    seconds = time.perf_counter() - start
    chosen, scores = found.chosen(unseen), found.scores(unseen)
    spent = latency(found.model.best_pipeline_, table, judging) if timed else 0.0
    readings = judged(table, judging, chosen, o.fence, spent)
    note = f"{len(found.model.result_.evaluations)} measured: {found.model.best_configuration_}"
    value, auroc = score(o.objective, truth, chosen), roc_auc_score(truth, scores)
    print(line("fenceline", value, auroc, found.verdict, o.fence, readings, seconds, note))
    return 0


if __name__ == "__main__":
    sys.exit(main())

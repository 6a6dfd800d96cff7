"""Fits one method inside one fence and decides on the rows that judge; a process of its own."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.decisions import rivals
from benchmarks.decisions.by_hand import STRENGTHS, booster, decide_by_hand, out_of_fold
from benchmarks.decisions.fence import BATCH, Bound, Flags, read, score
from benchmarks.decisions.plan import PLAIN
from benchmarks.decisions.rows import Decided, Rows, load
from benchmarks.jobs import Arrays, serve
from fenceline.pipelines.starts.portfolio import leaving_out

_THRESHOLDS = np.linspace(0.005, 0.995, 199)


def run(settings: dict[str, Any], data: Path) -> tuple[dict[str, Any], Arrays]:
    """Fit, decide, judge."""
    table = load(data / f"{settings['table']}.csv.gz", settings["group"])
    own, judging = table.split(settings["seed"])
    if settings["method"] == PLAIN:
        return plain(table, own, settings["seed"]), {}
    fence = [Bound(kind, limit) for kind, limit in settings["bounds"].items()]
    for name in {"flaml": ["flaml"], "fenceline": ["fenceline"]}.get(settings["method"], []):
        importlib.import_module(name)  # before the clock runs
    start = time.perf_counter()
    notes, chosen, predict = _decided(settings, table, own, judging, fence)
    outcome: dict[str, Any] = {"wall_seconds": round(time.perf_counter() - start, 2)} | notes
    if chosen is None:
        return outcome | {"pick": None}, {}
    truth, groups = table.truth[judging], table.groups[judging]
    readings = {}
    for bound in fence:
        if bound.kind == "latency":
            readings["latency"] = [_latency(predict, judging), 0.0]
        else:
            found = read(bound.kind, truth, chosen, groups)
            readings[bound.kind] = [found.value, found.error]
    outcome |= {"score": score(settings["objective"], truth, chosen), "readings": readings}
    return outcome, {"chosen": chosen, "truth": truth, "rows": judging}


def plain(table: Decided, own: Rows, seed: int) -> dict[str, Any]:
    """Return what a default booster does where its balanced accuracy is best."""
    truth, groups = table.truth[own], table.groups[own]
    scores = out_of_fold(table, own, np.ones(len(own)), seed)
    decided = [scores >= t for t in np.quantile(scores, _THRESHOLDS)]
    chosen = max(decided, key=lambda flags: score("balanced_accuracy", truth, flags))
    kinds = ("fpr", "dpd", "eod") if len(np.unique(groups)) > 1 else ("fpr",)
    model = booster(seed).fit(table.X.iloc[own], truth)
    outcome = {kind: read(kind, truth, chosen, groups).value for kind in kinds}
    latency = _latency(lambda rows: model.predict_proba(table.X.iloc[rows]), own)
    return outcome | {
        "latency": latency,
        "score": score("balanced_accuracy", truth, chosen),
        "groups": {str(k): int(n) for k, n in pd.Series(groups).value_counts().items()},
    }


def _latency(predict: Any, rows: Rows) -> float:
    some = np.resize(rows, BATCH)
    # The least of several moments: a neighbour slows a processor down for longer than one reading.
    readings = []
    for _ in range(3):
        readings.append(rivals.microseconds(lambda: predict(some)))
        time.sleep(1.0)
    return min(readings)


def _decided(
    settings: dict[str, Any], table: Decided, own: Rows, judging: Rows, fence: list[Bound]
) -> tuple[dict[str, Any], Flags | None, Any]:
    """Return notes, decisions on the rows that judge (None without an answer), and what is timed."""
    method, objective, seed = settings["method"], settings["objective"], settings["seed"]
    unseen = table.X.iloc[judging]
    if method in ("newcomer", "reweighed"):
        strengths = STRENGTHS if method == "reweighed" else (0.0,)
        hand = decide_by_hand(table, own, fence, objective, strengths, seed)
        if hand is None:
            return {"certificate": "none"}, None, None
        word = "certified" if hand.certified else "not certified"
        notes = {"certificate": word, "pick": f"{hand.strength:g} at {hand.threshold:.4f}"}
        chosen = hand.scores(unseen) >= hand.threshold
        return notes, chosen, lambda rows: hand.model.predict_proba(table.X.iloc[rows])
    if method == "fenceline":
        from benchmarks.decisions.ours import search

        with leaving_out(settings["table"]):
            found = search(table, own, fence, objective, seconds=settings["seconds"], seed=seed)
        measured: dict[str, Any] = {
            "certificate": found.verdict,
            "pick": str(found.model.best_configuration_)[:500],
            "models": len(found.model.result_.evaluations),
        }
        pipeline = found.model.best_pipeline_
        return measured, found.chosen(unseen), lambda rows: pipeline.predict(table.X.iloc[rows])
    if method == "flaml":
        answer = rivals.flaml(table, own, judging, fence, objective, seed, settings["seconds"])
    else:
        answer = getattr(rivals, method)(table, own, judging, fence, objective, seed)
    return {"certificate": "none"}, answer.chosen, answer.predict


if __name__ == "__main__":
    sys.exit(serve(run))

"""Fits one method on one table and predicts the rows it has not seen; a process of its own."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.automl import baselines, rivals
from benchmarks.automl.plan import METHODS
from benchmarks.automl.rows import load
from benchmarks.automl.scores import score
from benchmarks.jobs import Arrays, serve


def run(settings: dict[str, Any], data: Path) -> tuple[dict[str, Any], Arrays]:
    """Fit, predict, score."""
    task, name = settings["task"], settings["method"]
    split = load(data / f"{settings['table']}.csv.gz", task, settings["seed"])
    fit = _fitter(name, settings["table"])
    start, processor = time.perf_counter(), _processor()
    found, notes = fit(split, settings["seconds"], settings["seed"])
    outcome = {
        "score": score(task, split.truth, found),
        # Predicting is part of it, and takes next to nothing.
        "wall_seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(_processor() - processor, 2),
        "version": importlib.metadata.version(METHODS[name].package)
        if not METHODS[name].ours
        else "",
    }
    arrays = {"predicted": found, "truth": split.truth, "rows": split.rows}
    return outcome | notes, arrays


def _processor() -> float:
    """Return the seconds of the processor so far, those of children that have ended among them."""
    return sum(os.times()[:4])


def _fitter(name: str, table: str) -> Any:
    """Return the function of a method, libraries imported: the clock is not running yet."""
    if METHODS[name].ours:
        # Some rivals have an environment in which there is no Fenceline.
        from benchmarks.automl import ours
        from fenceline.pipelines.starts.portfolio import leaving_out

        votes = ours.VOTES if "votes" in name else None
        return leaving_out(table)(partial(ours.fenceline, votes=votes))
    warm = {
        "lightgbm": "lightgbm",
        "flaml": "flaml",
        "optuna": "optuna.samplers",
        "tpot": "tpot",
        "autogluon": "autogluon.tabular",
        "mljar": "supervised",
    }
    if name in warm:
        importlib.import_module(warm[name])
    if name == "optuna":
        importlib.import_module("lightgbm")
    return getattr(baselines, name, None) or getattr(rivals, name)


if __name__ == "__main__":
    sys.exit(serve(run))

"""Searches one space on one table and scores the rows it has not seen; a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.automl.ours import fenceline
from benchmarks.automl.rows import load
from benchmarks.automl.scores import score
from benchmarks.jobs import Arrays, serve
from fenceline.pipelines.starts.portfolio import leaving_out


def run(settings: dict[str, Any], data: Path) -> tuple[dict[str, Any], Arrays]:
    """Search, fit, predict, score."""
    task, seed = settings["task"], settings["seed"]
    split = load(data / f"{settings['table']}.csv.gz", task, seed)
    with leaving_out(settings["table"]):
        found, notes = fenceline(split, settings["seconds"], seed, space=settings["space"])
    return {"score": score(task, split.truth, found)} | notes, {}


if __name__ == "__main__":
    sys.exit(serve(run))

"""Learn with which pipelines a search should begin, and write it into the package.

Every candidate is fitted once on a sample of every table; the measurements go to
``out/starts``, line by line, so that a run that was stopped continues there. What is written into
``src/fenceline/pipelines/starts`` are regrets and costs: the order is found when a search begins,
for it depends on the space, the rows and the fence.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import fenceline
from benchmarks.catalogue import DATA
from benchmarks.starts_candidates import Pipeline, candidates, strong
from benchmarks.starts_measure import SCORES, Sample, known, run, samples
from fenceline.metrics.trial import Task
from fenceline.pipelines.starts.learnt import ROWS

OUT = Path("out/starts")
PACKAGE = Path(fenceline.__file__).parent / "pipelines" / "starts"
USUAL, LARGE = ROWS * 3 // 2, 12_000
"""Rows of a sample; a third of them scores. Tables that have so many are sampled twice."""
COSTS = ("seconds", "latency_us", "single_us", "size_mb")
GROWING = ("seconds", "latency_us", "size_mb")
_WEIGHTS = (2 / 3, 1 / 3)
"""Of the default objective and of the other score."""
_WORST = 0.9
"""The quantile of the losses on a table that counts as a regret of 1, and so does all beyond."""
_FEWEST_GROWTHS = 3

Outcomes = Mapping[tuple[str, int, str], Mapping[str, Any]]


def regrets(found: Sequence[Mapping[str, Any]], task: Task) -> NDArray[np.float64]:
    """Return how far each pipeline is behind the best of one table; 1 where it failed."""
    total = np.zeros(len(found))
    for weight, name in zip(_WEIGHTS, SCORES[task], strict=True):
        losses = np.array([-o["scores"][name] if "scores" in o else np.inf for o in found])
        fine = np.isfinite(losses)
        best, worst = losses[fine].min(), np.quantile(losses[fine], _WORST)
        total += weight * np.clip((losses - best) / max(worst - best, 1e-12), 0.0, 1.0)
    return total


def learn(task: Task, tables: Sequence[Sample], outcomes: Outcomes) -> dict[str, Any]:
    """Return what is written down about a task; tables that lack a measurement are left out."""
    pipelines = candidates(task)
    names, rows, columns = [], [], []
    costs: dict[str, list[list[float]]] = {cost: [[] for _ in pipelines] for cost in COSTS}
    for sample in tables:
        wanted = wanted_on(sample)
        found = {n: outcomes.get(_key(sample, p)) for n, p in enumerate(pipelines) if p in wanted}
        complete = {n: outcome for n, outcome in found.items() if outcome is not None}
        if len(complete) < len(wanted):
            continue
        # What was not tried, because there are too many rows for it, is as good as the worst.
        column = np.ones(len(pipelines))
        column[list(complete)] = regrets(list(complete.values()), task)
        names.append(sample.name)
        rows.append(max(outcome.get("train", 0) for outcome in complete.values()))
        columns.append(column)
        if sample.rows == USUAL:
            for n, outcome in complete.items():
                for cost in COSTS:
                    costs[cost][n] += [outcome[cost]] if cost in outcome else []
    entries = [
        {
            "choices": pipeline,
            **{cost: _rounded(median(costs[cost][n])) for cost in COSTS},
            "regret": [round(1000 * float(column[n])) for column in columns],
        }
        for n, pipeline in enumerate(pipelines)
        if costs["seconds"][n]
    ]
    return {"tables": names, "rows": rows, "growth": growths(outcomes), "pipelines": entries}


def wanted_on(sample: Sample) -> list[Pipeline]:
    """Return the pipelines to be measured on a sample: of many rows only the strong ones."""
    pipelines = candidates(sample.table.task)
    return pipelines if sample.rows == USUAL else [p for p in pipelines if strong(p)]


def growths(outcomes: Outcomes) -> dict[str, dict[str, float]]:
    """Return, for every model, the exponents with which its costs grow with the rows."""
    by_rows: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for (table, _, pipeline), outcome in outcomes.items():
        if "train" in outcome:
            by_rows[table, pipeline][outcome["train"]] = outcome
    slopes: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (_, pipeline), found in by_rows.items():
        few, many = min(found), max(found)
        if many < 2 * few:
            continue
        model = json.loads(pipeline)["estimator"][0]
        for cost in GROWING:
            ratio = found[many][cost] / max(found[few][cost], 1e-9)
            slopes[model][cost].append(float(np.log(ratio) / np.log(many / few)))
    return {
        model: {cost: round(max(0.0, median(values)), 2) for cost, values in by_cost.items()}
        for model, by_cost in sorted(slopes.items())
        if len(by_cost["seconds"]) >= _FEWEST_GROWTHS
    }


def _key(sample: Sample, pipeline: Pipeline) -> tuple[str, int, str]:
    return sample.name, sample.rows, json.dumps(sample.configuration(pipeline).to_dict())


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write one pipeline a line, so that a change can be read."""
    lines = [f'"{key}": {json.dumps(content[key])}' for key in ("tables", "rows", "growth")]
    entries = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in content["pipelines"])
    path.write_text("{\n" + ",\n".join([*lines, f'"pipelines": [\n{entries}\n]']) + "\n}\n")


def main() -> None:
    """Measure for some minutes, then write what is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--minutes", type=float, default=35.0, help="at most, of measuring")
    parser.add_argument(
        "--part", default="1/1", help="2/3: the second of three runs that share the work"
    )
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    begun = time.monotonic()
    tables = [
        *samples(options.data, USUAL),
        *samples(options.data, LARGE, fewest=LARGE),
    ]
    # Table by table: one that is not complete is of no use.
    tables.sort(key=lambda sample: (sample.rows, sample.table.X.size))
    jobs = [(sample, pipeline) for sample in tables for pipeline in wanted_on(sample)]
    path = OUT / f"measured-{part}-{parts}.jsonl"
    run(
        path,
        jobs[part - 1 :: parts],
        begun + 60 * options.minutes,
        lambda line: print(f"{time.monotonic() - begun:6.0f} s  {line}", flush=True),
    )
    outcomes = {
        key: outcome for file in sorted(OUT.glob("*.jsonl")) for key, outcome in known(file).items()
    }
    for task in get_args(Task):
        of_task = [sample for sample in tables if sample.table.task == task]
        content = learn(task, of_task, outcomes)
        if not content["tables"]:
            print(f"{task}: no table is complete yet; run again with more --minutes")
            continue
        _write(PACKAGE / f"{task}.json", content)
        print(
            f"{task}: {len(content['pipelines'])} pipelines on {len(content['tables'])} of "
            f"{len(of_task)} samples"
        )


if __name__ == "__main__":
    main()

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
from benchmarks.starts_candidates import Pipeline, candidates
from benchmarks.starts_measure import SCORES, Sample, known, run, samples
from fenceline.metrics.trial import Task
from fenceline.pipelines.starts.learnt import ROWS

OUT = Path("out/starts")
PACKAGE = Path(fenceline.__file__).parent / "pipelines" / "starts"
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
    complete: dict[str, list[Mapping[str, Any]]] = {}
    for sample in tables:
        found = [outcomes.get(_key(sample, pipeline)) for pipeline in pipelines]
        if all(outcome is not None for outcome in found):
            complete[sample.name] = [outcome for outcome in found if outcome is not None]
    columns = np.array([regrets(found, task) for found in complete.values()])
    entries = []
    for number, pipeline in enumerate(pipelines):
        usual = {
            cost: _rounded(
                median(found[number][cost] for found in complete.values() if cost in found[number])
            )
            for cost in COSTS
        }
        regret = [round(1000 * float(value)) for value in columns[:, number]]
        entries.append({"choices": pipeline, **usual, "regret": regret})
    return {"tables": list(complete), "growth": growths(outcomes), "pipelines": entries}


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
    lines = [
        f'"tables": {json.dumps(content["tables"])}',
        f'"growth": {json.dumps(content["growth"])}',
    ]
    entries = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in content["pipelines"])
    path.write_text("{\n" + ",\n".join([*lines, f'"pipelines": [\n{entries}\n]']) + "\n}\n")


def main() -> None:
    """Measure for some minutes, then write what is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--minutes", type=float, default=35.0, help="at most, of measuring")
    parser.add_argument("--large", type=int, default=12_000, help="rows to learn growth from")
    parser.add_argument(
        "--part", default="1/1", help="2/3: the second of three runs that share the work"
    )
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    begun = time.monotonic()
    usual = samples(options.data, ROWS * 3 // 2)
    large = samples(options.data, options.large, fewest=options.large)
    jobs = [(sample, pipeline) for sample in usual for pipeline in candidates(sample.table.task)]
    # Cheap ones first: the order of the candidates, not of the tables.
    jobs.sort(key=lambda job: candidates(job[0].table.task).index(job[1]))
    # Of large samples the costs alone are used, and a few pipelines of each kind tell how they grow.
    jobs += [
        (sample, pipeline)
        for sample in large[::2]
        for pipeline in candidates(sample.table.task)[::4]
    ]
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
        tables = [sample for sample in usual if sample.table.task == task]
        content = learn(task, tables, outcomes)
        if not content["tables"]:
            print(f"{task}: no table is complete yet; run again with more --minutes")
            continue
        _write(PACKAGE / f"{task}.json", content)
        print(
            f"{task}: {len(content['pipelines'])} pipelines on {len(content['tables'])} of "
            f"{len(tables)} tables"
        )


if __name__ == "__main__":
    main()

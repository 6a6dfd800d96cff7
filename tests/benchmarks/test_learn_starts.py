import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import learn_starts
from benchmarks.learn_starts import growths, learn, regrets
from benchmarks.starts_candidates import candidates, strong
from benchmarks.starts_measure import Sample, known, run
from fenceline.pipelines import named_space
from fenceline.pipelines.starts.learnt import from_dict


@pytest.fixture
def sample(tmp_path):
    folder = tmp_path / "meta"
    folder.mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=120), "b": rng.choice(["x", "y"], 120)})
    frame["target"] = (frame["a"] + (frame["b"] == "x") > 0.5).astype(int)
    frame.to_csv(folder / "small.csv.gz", index=False)
    return Sample(folder / "small.csv.gz", learn_starts.USUAL)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_every_candidate_is_in_the_default_space_and_there_once(task):
    space, found = named_space("default", task), candidates(task)
    for pipeline in found:
        assert space.configuration({m: c for m, c in pipeline.items() if m != "encoder"})
    assert len({json.dumps(p) for p in found}) == len(found) >= 35
    assert 15 < sum(map(strong, found)) < len(found)


def test_regret_is_0_for_the_best_and_1_for_a_failure():
    scores = [{"scores": {"r2": r, "neg_mean_absolute_error": r - 1}} for r in (0.9, 0.5, 0.1)]
    best, middle, last, failed = regrets([*scores, {"error": "no"}], "regression")
    assert best == 0.0
    assert 0.4 < middle < 0.7
    assert last == failed == 1.0


def test_a_run_that_was_stopped_measures_nothing_twice(sample, tmp_path):
    path, jobs = tmp_path / "out" / "m.jsonl", [(sample, p) for p in candidates("binary")[:3]]
    run(path, jobs[:2], np.inf, print)
    with path.open("a") as file:
        file.write('\n["meta/small", 3000, "cut sh')
    before = path.read_text()
    run(path, jobs, np.inf, print)
    assert path.read_text().startswith(before)
    found = known(path)
    assert len(found) == 3
    assert all(outcome["scores"]["roc_auc"] > 0.7 for outcome in found.values())
    assert all(outcome["seconds"] > 0 for outcome in found.values())


def test_a_pipeline_that_fails_is_an_outcome(sample):
    wrong = candidates("binary")[0] | {"selector": ["PCA", {"n_components": 0.99}]}
    wrong["scaler"] = ["none", {}]
    outcome = sample.measured(wrong | {"encoder": ["onehot", {}]})
    assert outcome.keys() & {"scores", "error"}
    assert "no algorithm" in sample.measured(wrong | {"estimator": ["Oracle", {}]})["error"]


def test_what_is_learnt_can_be_read_by_the_package(sample, monkeypatch):
    few = candidates("binary")[:4]
    monkeypatch.setattr(learn_starts, "candidates", lambda task: few)
    outcomes = {
        learn_starts._key(sample, pipeline): {
            "scores": {"roc_auc": 0.9 - n / 10, "neg_log_loss": -0.3 - n / 10},
            "train": 80,
            **dict.fromkeys(learn_starts.COSTS, 1.0 + n),
        }
        for n, pipeline in enumerate(few)
    }
    found = from_dict(learn("binary", [sample], outcomes))
    assert found.tables == ("meta/small",)
    assert found.rows == (80,)
    assert np.argsort(found.regret[:, 0]).tolist() == [0, 1, 2, 3]
    assert [p.seconds for p in found.pipelines] == [1.0, 2.0, 3.0, 4.0]
    incomplete = dict(list(outcomes.items())[1:])
    assert learn("binary", [sample], incomplete)["tables"] == []


def test_growth_is_the_exponent_between_few_rows_and_many():
    pipeline = json.dumps({"estimator": ["KNeighbors", {}]})
    outcomes = {
        (f"meta/{table}", rows, pipeline): {
            "train": rows,
            "seconds": 0.1 * rows,
            "latency_us": float(rows**0.5),
            "size_mb": 1.0,
        }
        for table in "abc"
        for rows in (2000, 8000)
    }
    assert growths(outcomes) == {"KNeighbors": {"seconds": 1.0, "latency_us": 0.5, "size_mb": 0.0}}

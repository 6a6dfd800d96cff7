import json
import shutil
from pathlib import Path

import fenceline as fl
from fenceline.baselines import RandomSearch
from fenceline.estimator import portable
from fenceline.problem.measurement import Spread
from fenceline.store import Finish, read_run
from fenceline.store.older import as_plain, with_spreads

BEFORE = Path(__file__).parent / "before"


def test_errors_and_folds_among_the_metrics_become_spreads():
    metrics = {"loss": 0.3, "loss/se": 0.1, "loss/fold2": 0.4, "loss/fold1": 0.2, "folds": 2.0}
    record = with_spreads({"ticket": 3, "metrics": metrics | {"latency_us/p95": 9.0}})
    assert record["metrics"] == {"loss": 0.3, "folds": 2.0, "latency_us/p95": 9.0}
    assert record["spreads"] == {"loss": [0.1, 0.2, 0.4]}
    assert record["ticket"] == 3


def test_what_has_none_stays_as_it_is():
    for record in ({"metrics": {"loss": 1.0, "other/se": 2.0}}, {"metrics": 3}, {}):
        assert with_spreads(record) is record


def measure(configuration):
    x = configuration["model"].params["x"]
    return {"loss": (x - 0.6) ** 2, "gap": x, "gap/se": 0.05, "gap/fold1": x, "gap/fold2": x}


def problem():
    space = fl.Space([fl.Module("model", [fl.Algorithm("a", {"x": fl.Real(0.0, 1.0)})])])
    return fl.Problem(space, measure, "loss", ["gap <= 0.5"])


def test_a_run_of_before_is_read_and_continued(tmp_path):
    """The directory was written by the version that had errors and folds among the metrics."""
    shutil.copytree(BEFORE, tmp_path / "run")
    events = [e for e in read_run(tmp_path / "run")[1] if isinstance(e, Finish)]
    assert len(events) == 12
    assert all(e.spreads["gap"][0] == 0.05 and "gap/se" not in e.metrics for e in events)
    before = [json.loads(line) for line in (BEFORE / "journal.jsonl").read_text().splitlines()]
    assert any("gap/se" in str(line) for line in before)
    settings = {"evaluations": 15, "seed": 1, "algorithm": RandomSearch()}
    whole = fl.minimize(problem(), **settings)
    continued = fl.minimize(problem(), run_dir=tmp_path / "run", **settings)
    assert [e.configuration for e in continued.evaluations] == [
        e.configuration for e in whole.evaluations
    ]
    assert continued.evaluations[0].spreads["gap"].error == 0.05


def test_a_model_of_before_keeps_its_errors_and_folds():
    space = problem().space
    configuration = {"model": ("a", {"x": 0.25})}
    metrics = {"loss": 0.3, "loss/se": 0.1, "loss/fold1": 0.2, "loss/fold2": 0.4}
    found = {"configuration": configuration, "metrics": metrics, "objective": 0.3, "violation": 0.0}
    evaluation = portable._evaluation(space, found)
    assert evaluation.metrics == {"loss": 0.3}
    assert evaluation.spreads == {"loss": Spread(0.1, (0.2, 0.4))}


def test_an_outcome_that_waits_from_before_is_read():
    found = as_plain({"loss": 5.0, "latency_us": [8.0, 0.5], "loss/se": 0.1, "details": {"a": 1}})
    assert found["metrics"] == {"loss": 5.0, "latency_us": 8.0}
    assert found["errors"] == {"latency_us": 0.5}
    assert found["spreads"] == {"loss": [0.1]}
    assert found["details"] == {"a": 1}
    assert as_plain({"details": 2.0})["metrics"] == {"details": 2.0}

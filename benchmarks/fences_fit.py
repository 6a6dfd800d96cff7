"""Fits one method on one split and measures it on the rows it has not seen; a process of its own."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.fences_plan import BATCH, SEARCH_SHARE, VOTES, WORKERS, DataSet, Job, split
from fenceline import FencelineClassifier, metrics
from fenceline.metrics import Table
from fenceline.metrics.trial import Rows, Trial

_READINGS, _APART_SECONDS = 5, 1.0
"""Of latency. A neighbour on the machine can slow the processor down for longer than one reading
takes, and never speeds it up."""


def run(job: Job) -> dict[str, Any]:
    """Fit, measure and return the outcome."""
    table = job.dataset.load(job.data)
    train, test = split(table, job.dataset.gap, job.seed)
    fit = _fit_flaml if job.method.startswith("flaml") else _fit_fenceline
    return fit(job, table, train, test)


def measured(model: Any, dataset: DataSet, table: Table, test: Rows) -> dict[str, float]:
    """Return AUROC, latency and gap on unseen rows: the same code for every method."""
    trial = Trial(model, table, test)
    latency = metrics.latency_us(batch=BATCH)
    readings = [latency.value(trial)]
    for _ in range(_READINGS - 1):
        time.sleep(_APART_SECONDS)
        readings.append(latency.value(trial))
    return {
        "auroc": metrics.as_metric("roc_auc").value(trial),
        "latency_us": min(readings),
        "gap": dataset.gap.value(trial),
    }


def _fit_fenceline(job: Job, table: Table, train: Rows, test: Rows) -> dict[str, Any]:
    model = FencelineClassifier(
        "roc_auc",
        job.constraints,
        seconds=SEARCH_SHARE * job.seconds,
        workers=WORKERS,
        random_state=job.seed,
        on_infeasible="warn",
        ensemble=VOTES if job.method == "fenceline-votes" else None,
    )
    start = time.perf_counter()
    model.fit(table.X.iloc[train], table.y[train])
    wall = time.perf_counter() - start
    certificate = model.certificate_
    return measured(model.best_pipeline_, job.dataset, table, test) | {
        "wall_seconds": wall,
        "evaluations": len(model.result_.evaluations),
        "pick": str(model.best_configuration_),
        "believed": 1 - model.best_metrics_[metrics.loss("roc_auc").name],
        "certificate": None if certificate is None else certificate.status,
    }


def _fit_flaml(job: Job, table: Table, train: Rows, test: Rows) -> dict[str, Any]:
    from flaml import AutoML

    settings: dict[str, Any] = {"metric": "roc_auc"}
    if job.bounds:
        bounds = job.bounds.items()
        settings = {
            "metric": _FlamlMetric(job.dataset),
            "metric_constraints": [(name, "<=", bound) for name, bound in bounds],
        }
    model = AutoML()
    start = time.perf_counter()
    model.fit(
        table.X.iloc[train],
        table.y[train],
        task="classification",
        time_budget=job.seconds,
        n_jobs=WORKERS,
        seed=job.seed,
        verbose=0,
        log_file_name="",
        **settings,
    )
    wall = time.perf_counter() - start
    estimator = model.model.estimator
    if "n_jobs" in estimator.get_params():
        # Latency is the time of one thread: the work of others would go unseen.
        estimator.set_params(n_jobs=1)
    return measured(model, job.dataset, table, test) | {
        "wall_seconds": wall,
        "evaluations": len(model.config_history),
        "pick": f"{model.best_estimator}({model.best_config})",
        "believed": 1 - float(model.best_loss),
        "certificate": None,
    }


class _FlamlMetric:
    """FLAML's way to state constraints: a metric of one's own, whose extras may be bounded."""

    def __init__(self, dataset: DataSet) -> None:
        self.dataset = dataset

    def __call__(
        self, X_val: Any, y_val: Any, estimator: Any, labels: Any, *_: Any, **__: Any
    ) -> tuple[float, dict[str, float]]:
        """Return 1 - AUROC, and latency and gap beside it."""
        scores = estimator.predict_proba(X_val)[:, 1]
        y = np.asarray(y_val)
        upper = np.asarray(X_val[self.dataset.group]) >= self.dataset.edge
        ranked = [roc_auc_score(y[part], scores[part]) for part in (upper, ~upper)]
        some = X_val.iloc[np.resize(np.arange(len(y)), BATCH)]
        spent = []
        for _ in range(5):
            start = time.perf_counter()
            estimator.predict_proba(some)
            spent.append(time.perf_counter() - start)
        loss = 1 - float(roc_auc_score(y, scores))
        extras = {
            "latency_us": min(spent) * 1e6 / BATCH,
            "gap": float(abs(ranked[0] - ranked[1])),
        }
        return loss, extras | {"val_loss": loss}


def main() -> int:
    """Read a job from standard input, run it, keep its outcome."""
    job: Job = pickle.load(sys.stdin.buffer)
    warnings.simplefilter("ignore")
    try:
        outcome = run(job)
    except Exception as problem:
        outcome = {"error": traceback.format_exception_only(problem)[-1].strip()}
        traceback.print_exc()
    job.keep(outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())

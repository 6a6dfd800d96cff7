"""Whole AutoML libraries, each with one worker; imported only where they are fitted."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.automl.baselines import FOLDS, predicted
from benchmarks.automl.rows import Split

Answer = tuple[NDArray[np.float64], dict[str, Any]]
_FLAML = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "r2"}
_SKLEARN = {"binary": "roc_auc", "multiclass": "neg_log_loss", "regression": "r2"}
_AUTOGLUON = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "r2"}
_MLJAR = {"binary": "auc", "multiclass": "logloss", "regression": "r2"}
_MLJAR_TASK = {
    "binary": "binary_classification",
    "multiclass": "multiclass_classification",
    "regression": "regression",
}


def flaml(split: Split, seconds: float, seed: int) -> Answer:
    """Fit FLAML on the raw table."""
    from flaml import AutoML

    model = AutoML()
    model.fit(
        split.X,
        split.y,
        task="regression" if split.task == "regression" else "classification",
        metric=_FLAML[split.task],
        time_budget=seconds,
        n_jobs=1,
        seed=seed,
        verbose=0,
        log_file_name="",
    )
    pick = f"{model.best_estimator}({model.best_config})"
    return predicted(model, split.unseen, split), {
        "models": len(model.config_history),
        "pick": pick,
    }


def tpot(split: Split, seconds: float, seed: int) -> Answer:
    """Fit TPOT on ordinal codes, which it one-hot encodes if it likes, gaps filled with the median."""
    from tpot import TPOTClassifier, TPOTRegressor

    X, unseen, _ = split.codes()
    middle = X.median()
    make = TPOTRegressor if split.task == "regression" else TPOTClassifier
    model = make(
        scorers=[_SKLEARN[split.task]],
        scorers_weights=[1.0],
        cv=FOLDS,
        max_time_mins=seconds / 60,
        max_eval_time_mins=max(seconds / 60 / 4, 1 / 12),
        n_jobs=1,
        random_state=seed,
        verbose=0,
    )
    model.fit(X.fillna(middle), split.y)
    found = predicted(model, unseen.fillna(middle), split)
    return found, {
        "models": len(model.evaluated_individuals),
        "pick": str(model.fitted_pipeline_)[:500],
    }


def autogluon(split: Split, seconds: float, seed: int) -> Answer:
    """Fit AutoGluon's medium quality on the raw table."""
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as directory:
        model = TabularPredictor(
            "target",
            problem_type=split.task,
            eval_metric=_AUTOGLUON[split.task],
            path=directory,
            verbosity=0,
        )
        model.fit(
            split.X.assign(target=split.y),
            time_limit=seconds,
            presets="medium_quality",
            num_cpus=1,
            num_gpus=0,
        )
        if split.task == "regression":
            found = model.predict(split.unseen).to_numpy(dtype=float)
        else:
            found = model.predict_proba(split.unseen)[sorted(np.unique(split.y))].to_numpy()
        return np.asarray(found, dtype=float), {
            "models": len(model.model_names()),
            "pick": str(model.model_best),
        }


def mljar(split: Split, seconds: float, seed: int) -> Answer:
    """Fit mljar with the settings it has for models that go to work ("Perform")."""
    from supervised import AutoML

    with tempfile.TemporaryDirectory() as directory:
        model = AutoML(
            results_path=directory,
            total_time_limit=int(seconds),
            mode="Perform",
            ml_task=_MLJAR_TASK[split.task],
            eval_metric=_MLJAR[split.task],
            explain_level=0,
            n_jobs=1,
            random_state=seed,
            verbose=0,
        )
        # It takes names of columns for parts of file names and of formulas.
        names = {name: f"f{i}" for i, name in enumerate(split.X.columns)}
        model.fit(split.X.rename(columns=names), pd.Series(split.y))
        unseen = split.unseen.rename(columns=names)
        ask = model.predict if split.task == "regression" else model.predict_proba
        found = np.asarray(ask(unseen), dtype=float)
        return found, {"models": len(model.get_leaderboard())}

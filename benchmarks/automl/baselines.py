"""Gradient boosting as it comes, and LightGBM tuned by Optuna."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.automl.rows import Split
from benchmarks.automl.scores import score

FOLDS = 3
"""As many as Fenceline has."""


def predicted(model: Any, X: Any, split: Split) -> NDArray[np.float64]:
    """Return probabilities of all classes, or numbers."""
    if split.task == "regression":
        return np.asarray(model.predict(X), dtype=float)
    found = np.asarray(model.predict_proba(X), dtype=float)
    labels = np.asarray(model.classes_).astype(int)
    if len(labels) == split.classes:
        return found
    # A fold may lack a class that is rare.
    whole = np.zeros((len(found), split.classes))
    whole[:, labels] = found
    return whole


def hgb(split: Split, seconds: float, seed: int) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Fit scikit-learn's histogram boosting with default settings, categories as such."""
    X, unseen, categories = split.codes()
    numbers = split.task == "regression"
    make = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    model = make(random_state=seed, categorical_features=categories).fit(X, split.y)
    return predicted(model, unseen, split), {"models": 1}


def lightgbm(split: Split, seconds: float, seed: int) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Fit LightGBM with default settings, categories as such."""
    X, unseen, categories = split.codes()
    model = _lightgbm(split, seed, {}).fit(X, split.y, categorical_feature=_named(X, categories))
    return predicted(model, unseen, split), {"models": 1}


def optuna(split: Split, seconds: float, seed: int) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Tune LightGBM by cross-validation with TPE, then fit the best once more, all in the budget."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    start = time.perf_counter()
    X, unseen, categories = split.codes()
    named = _named(X, categories)
    shuffled = {"n_splits": FOLDS, "shuffle": True, "random_state": seed}
    splitter = KFold(**shuffled) if split.task == "regression" else StratifiedKFold(**shuffled)
    folds = list(splitter.split(X, split.y))

    def last_fit(study: optuna.Study) -> float:
        # Three folds cost about two fits on all rows, so half the best one's time is the last fit's.
        done = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
        return study.best_trial.duration.total_seconds() / 2 if done else 0.0  # type: ignore[union-attr]

    def measure(trial: optuna.Trial) -> float:
        settings = _suggested(trial)
        scores = []
        # The first trial may take as long as it likes: without it there is no answer.
        longest = seconds - last_fit(trial.study) if trial.number else math.inf

        def on_time(_: Any) -> None:
            if time.perf_counter() - start > longest:
                raise optuna.TrialPruned

        for fit, rest in folds:
            model = _lightgbm(split, seed, settings)
            model.fit(X.iloc[fit], split.y[fit], categorical_feature=named, callbacks=[on_time])
            found = predicted(model, X.iloc[rest], split)
            scores.append(score(split.task, split.y[rest], found))
        trial.set_user_attr("settings", settings)
        return float(np.mean(scores))

    def leave_room(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        if time.perf_counter() - start + last_fit(study) > seconds:
            study.stop()

    # With one seed for all, the first draws are the same on every table: one stroke of luck would be sixteen.
    sampler = optuna.samplers.TPESampler(seed=seed + len(split.y))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(_DEFAULTS)
    study.optimize(measure, timeout=seconds, callbacks=[leave_room])
    done = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    settings = study.best_trial.user_attrs["settings"] if done else {}
    model = _lightgbm(split, seed, settings).fit(X, split.y, categorical_feature=named)
    return predicted(model, unseen, split), {"models": len(done), "pick": str(settings)}


_DEFAULTS = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_child_samples": 20,
    "colsample_bytree": 1.0,
    "subsample": 1.0,
    "reg_alpha": 1e-8,
    "reg_lambda": 1e-8,
}
"""What TPE measures first: nobody who tunes LightGBM leaves out its own settings."""


def _suggested(trial: Any) -> dict[str, Any]:
    return {
        "n_estimators": trial.suggest_int("n_estimators", 20, 1000, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 256, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 2, 100, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "subsample": trial.suggest_float("subsample", 0.4, 1.0),
        "subsample_freq": 1,
        "reg_alpha": trial.suggest_float("reg_alpha", 1e-8, 10.0, log=True),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-8, 10.0, log=True),
    }


def _lightgbm(split: Split, seed: int, settings: dict[str, Any]) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    make = LGBMRegressor if split.task == "regression" else LGBMClassifier
    return make(random_state=seed, n_jobs=1, verbose=-1, **settings)


def _named(X: Any, categories: list[bool]) -> list[str] | str:
    """Name the columns that are categories, "auto" if none is: LightGBM takes no empty list."""
    found = [str(name) for name, is_one in zip(X.columns, categories, strict=True) if is_one]
    return found or "auto"

"""Write down what small boosters say about their trees, and what they predict: ``python record_boosters.py``.

Tests read boosters.json, for the libraries are not installed with them: they would join the default space.
"""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("boosters.json")
ROWS, COLUMNS = 40, 3


def table():
    """Return rows with missing values and tenths, which lie beside themselves in single precision."""
    rng = np.random.default_rng(0)
    X = rng.integers(-20, 20, (ROWS, COLUMNS)) / 10
    X[rng.random(ROWS) < 0.2, 0] = np.nan
    score = np.nan_to_num(X[:, 0]) + X[:, 1] - 0.3 * X[:, 2] + rng.normal(size=ROWS) / 4
    return X, {"binary": (score > 0) * 1, "multiclass": np.digitize(score, [-1, 1]), "regression": 10 + score}  # fmt: skip


def seen_at_prediction(X):
    """Return rows with missing values also where the fit saw none."""
    X = X[::-1].copy()
    X[::5, 1] = np.nan
    return X


def made(library, task):
    """Return an unfitted booster of a few small trees."""
    kind = "Regressor" if task == "regression" else "Classifier"
    if library == "lightgbm":
        import lightgbm

        found = getattr(lightgbm, f"LGBM{kind}")
        return found(n_estimators=3, num_leaves=4, min_child_samples=3, verbosity=-1)
    if library == "xgboost":
        import xgboost

        return getattr(xgboost, f"XGB{kind}")(n_estimators=3, max_depth=2, n_jobs=1)
    import catboost

    found = getattr(catboost, f"CatBoost{kind}")
    return found(n_estimators=3, depth=2, verbose=False, allow_writing_files=False, thread_count=1)


def said(library, model):
    """Return what a converter asks a booster for."""
    if library == "lightgbm":
        return model.booster_.dump_model()
    if library == "xgboost":
        return json.loads(model.get_booster().save_raw("json"))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.json"
        model.save_model(str(path), format="json")
        found = json.loads(path.read_text())
    needed = ("features_info", "oblivious_trees", "scale_and_bias")
    loss = model.get_all_params()["loss_function"]
    return {key: found[key] for key in needed} | {"loss_function": loss}


def main():
    """Fit, and write."""
    X, targets = table()
    rows, found = seen_at_prediction(X), {}
    for library in ("lightgbm", "xgboost", "catboost"):
        for task, y in targets.items():
            model = made(library, task).fit(X, y)
            answers = model.predict if task == "regression" else model.predict_proba
            found[f"{library} {task}"] = {
                "version": version(library),
                "said": said(library, model),
                "answers": np.asarray(answers(rows), dtype=float).tolist(),
            }
    FILE.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

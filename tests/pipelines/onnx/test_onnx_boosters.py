"""LightGBM, XGBoost and CatBoost in ONNX: as they were written down, and themselves where they are installed."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from record_boosters import FILE, made, seen_at_prediction, table
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.onnx import compare, convert
from fenceline.pipelines.onnx.compare import TOLERANCE

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
LIBRARIES = ("lightgbm", "xgboost", "catboost")
TASKS = ("binary", "multiclass", "regression")
NAMES = [f"{library} {task}" for library in LIBRARIES for task in TASKS]
LARGEST = {"lightgbm": 1e-14, "xgboost": 1e-5, "catboost": 1e-14}
"""XGBoost adds in single precision."""
X, TARGETS = table()
NEW = seen_at_prediction(X)


class Recorded(BaseEstimator):
    """A booster as it was written down: it says the same, and answers the rows it was asked then."""

    def __init__(self, record=None, single=False):
        said, self.answers = record["said"], np.array(record["answers"])
        if single:
            self.answers = self.answers.astype(np.float32)
        self.classes_ = np.arange(self.answers.shape[1]) if self.answers.ndim == 2 else ()
        self.booster_ = SimpleNamespace(dump_model=lambda: said)
        self.get_booster = lambda: SimpleNamespace(save_raw=lambda form: json.dumps(said).encode())
        self.get_all_params = lambda: said
        self.save_model = lambda path, format: Path(path).write_text(json.dumps(said))

    def predict(self, X):
        return self.answers if self.answers.ndim == 1 else self.answers.argmax(axis=1)

    def predict_proba(self, X):
        return self.answers


def recorded(name, change=lambda said: None):
    library, task = name.split()
    record = copy.deepcopy(RECORDED[name])
    change(record["said"])
    mixin = RegressorMixin if task == "regression" else ClassifierMixin
    kind = type("Recorded", (mixin, Recorded), {"__module__": f"{library}.sklearn"})
    return kind(record, single=library == "xgboost")


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_booster_predicts_the_same_also_where_values_are_missing(name):
    model = recorded(name)
    found = compare(convert(model, X.shape[1]), model, NEW)
    assert found.rows == len(NEW)
    assert found.largest < LARGEST[name.split()[0]]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_real_booster_predicts_the_same(library, task):
    pytest.importorskip(library)
    y = TARGETS[task]
    model = made(library, task)
    if task == "regression":
        model.fit(X, y)
    else:
        model = EncodedLabels(model).fit(X, np.array(["a", "b", "c"])[y])
    found = compare(convert(model, X.shape[1]), model, NEW)
    assert found.largest < LARGEST[library]


def tree(said):
    return said["tree_info"][0]["tree_structure"]


def learner(said):
    return said["learner"]


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("lightgbm binary", lambda s: s.update(objective="cross_entropy"), "for 'cross_entropy'"),
        ("lightgbm binary", lambda s: s.update(average_output=True), "averaged"),
        ("lightgbm binary", lambda s: tree(s).update(decision_type="=="), "by category"),
        ("lightgbm binary", lambda s: tree(s).update(missing_type="Zero"), "zeros as missing"),
        ("lightgbm regression", lambda s: s.update(objective="regression sqrt"), "squared"),
        ("xgboost binary", lambda s: learner(s)["gradient_booster"].update(name="dart"), "'dart'"),
        ("xgboost binary", lambda s: learner(s)["objective"].update(name="rank:map"), "'rank:map'"),
        ("catboost binary", lambda s: s.pop("oblivious_trees"), "not symmetric"),
    ],
)
def test_what_a_booster_does_otherwise_is_refused_by_name(name, change, reason):
    with pytest.raises(DefinitionError, match=f"Recorded cannot be converted to ONNX.*{reason}"):
        convert(recorded(name, change), X.shape[1])


def test_a_slope_of_log_odds_is_kept():
    steep = recorded("lightgbm binary", lambda s: s.update(objective="binary sigmoid:2"))
    odds = np.log(steep.answers / steep.answers[:, ::-1])
    steep.answers = 1 / (1 + np.exp(-2 * odds))
    assert compare(convert(steep, X.shape[1]), steep, NEW).largest < 1e-14


def test_single_precision_of_the_model_itself_is_no_difference():
    model = recorded("xgboost regression")
    model.answers += np.spacing(model.answers) * 50
    converted = convert(model, X.shape[1])
    assert compare(converted, model, NEW).largest > TOLERANCE
    model.answers = model.answers.astype(np.float64)
    with pytest.raises(DefinitionError, match="predicts otherwise"):
        compare(converted, model, NEW)

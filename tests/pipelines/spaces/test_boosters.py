"""LightGBM, and the optional XGBoost and CatBoost: in the default space when they are installed."""

import threading
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from fenceline.errors import SpaceError
from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor
from fenceline.pipelines import fit, named_space, only, preparation
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.spaces import operators
from fenceline.pipelines.spaces.operators import EXTRAS, Setting, installed, make
from fenceline.problem.configuration import Choice

X, Y = make_classification(150, 6, n_informative=4, n_classes=3, class_sep=2.0, random_state=0)
HOLED = np.where(X > 3, np.nan, X)
TARGETS = {
    "binary": np.where(Y > 0, "yes", "no"),
    "multiclass": np.array(["low", "mid", "top"])[Y],
    "regression": 3 * X[:, 0] + X[:, 1],
}
SMALL = {"learning_rate": 0.2, "n_estimators": 12, "max_depth": 3, "reg_lambda": 1.0}


def needs(algorithm):
    package = EXTRAS[algorithm]
    reason = f"{package} is not installed; pip install {package}"
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


INSTALLED = [pytest.param(name, marks=needs(name)) for name in EXTRAS]


@pytest.mark.parametrize("algorithm", INSTALLED)
@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_labels_and_missing_values_are_fitted_on_one_thread(algorithm, task, weighted):
    weights = np.linspace(0.1, 2, len(X)) if weighted else None
    before = threading.active_count()
    pipeline = fit(
        {"scaler": Choice("none"), "estimator": Choice(algorithm, SMALL)},
        HOLED,
        TARGETS[task],
        Setting(task, *X.shape),
        preparation(HOLED),
        weights,
    )
    answers = pipeline.predict(HOLED)
    assert threading.active_count() == before
    assert answers.shape == (150,)
    if task == "regression":
        assert np.corrcoef(answers, TARGETS[task])[0, 1] > 0.8
        return
    assert np.mean(answers == TARGETS[task]) > 0.8
    assert pipeline.classes_.tolist() == sorted(set(TARGETS[task]))
    assert np.allclose(pipeline.predict_proba(HOLED).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("algorithm", INSTALLED)
def test_threads_are_pinned(algorithm):
    model = make(algorithm, SMALL, Setting("binary", *X.shape))
    settings = model.get_params()
    prefix = "estimator__" if isinstance(model, EncodedLabels) else ""
    assert settings[prefix + ("thread_count" if algorithm == "CatBoost" else "n_jobs")] == 1


@pytest.mark.parametrize("algorithm", INSTALLED)
def test_they_take_part_in_a_search(algorithm):
    # A third is kept for the certificate and a half of the rest for a fold: leaves need rows enough.
    table = np.tile(HOLED, (4, 1))
    for task, kind in (("binary", FencelineClassifier), ("regression", FencelineRegressor)):
        space = only(named_space("default", task), "estimator", algorithm)
        space = only(space, "scaler", "StandardScaler")
        fence = ["false_positive_rate <= 0.9"] if task == "binary" else ["r2 >= 0.1"]
        model = kind(constraints=fence, space=space, evaluations=2, cv=2)
        labels = np.tile(TARGETS[task], 4)
        model.fit(table, labels)
        assert model.result_.to_frame()["status"].eq("ok").all()
        assert model.score(table, labels) > 0.7


def test_a_library_that_does_not_load_is_left_out_and_its_trouble_told_to_who_asks_for_it(
    monkeypatch,
):
    def bare(name):
        raise OSError("libgomp.so.1: cannot open shared object file")

    installed.cache_clear()
    monkeypatch.setattr(operators, "import_module", bare)
    try:
        names = [algorithm.name for algorithm in named_space("default").modules[-1].algorithms]
        assert "HistGradientBoosting" in names
        assert not EXTRAS.keys() & set(names)
        with pytest.raises(SpaceError, match="'LightGBM' cannot be made: libgomp"):
            make("LightGBM", SMALL, Setting("binary", 10, 2))
    finally:
        installed.cache_clear()


def test_a_booster_that_is_not_installed_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(EXTRAS, "LightGBM", "no_such_package")
    with pytest.raises(SpaceError, match="'LightGBM' cannot be made: No module named"):
        make("LightGBM", SMALL, Setting("binary", 10, 2))


class WantsNumbers:
    """A classifier as particular as XGBoost's: labels 0, 1, 2 ... only, answers in a column."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y, sample_weight=None):
        if sorted(set(y.tolist())) != list(range(y.max() + 1)):
            raise ValueError("labels must be 0, 1, 2 ...")
        self.weights, self.mode = sample_weight, int(np.bincount(y).argmax())
        return self

    def predict(self, X):
        return np.full((len(X), 1), self.mode)

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


def test_labels_are_encoded_for_those_who_want_numbers_and_answers_are_labels():
    y = np.array(["b", "c", "a", "c"])
    model = clone(EncodedLabels(WantsNumbers())).fit(X[:4], y, sample_weight=np.ones(4))
    assert model.predict(X[:2]).tolist() == ["c", "c"]
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X[:2]).shape == (2, 3)
    assert model.estimator_.weights.tolist() == [1, 1, 1, 1]
    assert model.n_features_in_ == 6

import json
import pickle
import sys
import types
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from fenceline import FencelineClassifier, FencelineRegressor, Limits, load, metrics
from fenceline.errors import MeasurementError, StoreError
from fenceline.estimator.portable import ALLOWED
from fenceline.pipelines import named_space, only
from fenceline.pipelines.fitting.build import fit
from fenceline.pipelines.fitting.prepare import preparation
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice
from fenceline.problem.space import Algorithm, Module, Space

rng = np.random.default_rng(0)
ROWS = 120
TABLE = pd.DataFrame(
    {
        "amount": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS)),
        "town": rng.choice(["Oslo", "Bern", None], ROWS),
        "since": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 99, ROWS), "D"),
        "kind": pd.Categorical(rng.choice(["p", "q"], ROWS)),
        "age": rng.integers(20, 70, ROWS),
    }
)
SIGNAL = np.nan_to_num(TABLE["amount"].to_numpy()) + 0.02 * TABLE["age"].to_numpy()
Y = np.where(SIGNAL + 0.3 * rng.normal(size=ROWS) > 0.9, "yes", "no")


def every_algorithm(name, task):
    """Return configurations of a space that hold each of its algorithms once."""
    space = named_space(name, task)
    for i, module in enumerate(space.modules):
        for j in range(len(module.algorithms)):
            z = [*space.first]
            z[i] = j
            # The middle of KernelPCA's range is a kernel that not every table suits.
            corner = np.zeros(len(space.parameters))
            yield space.decode(tuple(z), corner if name == "paper" else space.centre)


@pytest.mark.parametrize(
    ("name", "task"), [("default", "binary"), ("paper", "binary"), ("default", "regression")]
)
@pytest.mark.filterwarnings("ignore")
def test_every_algorithm_of_the_named_spaces_may_be_in_a_file(name, task):
    rows = np.random.default_rng(0).random((60, 5))
    y = rows[:, 0] if task == "regression" else np.where(rows[:, 0] > 0.5, "yes", "no")
    for configuration in every_algorithm(name, task):
        pipeline = fit(configuration, rows, y, Setting(task, 60, 5), preparation(rows))
        content = skops.io.dumps(pipeline)
        unknown = set(skops.io.get_untrusted_types(data=content))
        assert unknown <= ALLOWED, configuration
        again = skops.io.loads(content, trusted=sorted(unknown))
        assert np.array_equal(again.predict(rows), pipeline.predict(rows)), configuration


LEARNERS = ["LogisticRegression", "HistGradientBoosting", "ExtraTrees", "KNeighbors", "MLP"]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_predicts_the_same_after_a_trip_through_a_file(learner, tmp_path):
    space = only(named_space("default", "binary"), "estimator", learner)
    model = FencelineClassifier(space=space, evaluations=1, cv=2).fit(TABLE, Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    unseen = TABLE.assign(town="Rome", amount=np.nan)
    for rows in (TABLE, unseen):
        assert np.array_equal(again.predict(rows), model.predict(rows))
        assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_a_booster_of_native_categories_may_be_in_a_file():
    # scikit-learn wraps a function of its own around the columns that are no categories.
    choices = {
        "encoder": Choice("ordinal"),
        "model": Choice("HistGradientBoosting", {"max_iter": 3}),
    }
    pipeline = fit(choices, TABLE, Y, Setting("binary", ROWS, 5), preparation(TABLE))
    assert pipeline[-1].is_categorical_.sum() == 2
    content = skops.io.dumps(pipeline)
    unknown = skops.io.get_untrusted_types(data=content)
    assert set(unknown) <= ALLOWED
    again = skops.io.loads(content, trusted=unknown)
    assert np.array_equal(again.predict_proba(TABLE), pipeline.predict_proba(TABLE))


def test_a_regressor_of_a_sparse_table_predicts_the_same(tmp_path):
    space = only(named_space("default", "regression"), "estimator", "Ridge")
    table = sparse.random_array((ROWS, 5), density=0.4, rng=0).tocsr()
    model = FencelineRegressor(space=space, evaluations=1, cv=2).fit(table, SIGNAL)
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(table), model.predict(table))


def cost(pipeline, X, y, groups):
    return float(np.mean(pipeline.predict(X) != y))


SPACE = Space(
    [
        Module("scaler", [Algorithm("StandardScaler")]),
        Module("estimator", [Algorithm("GaussianNB")]),
    ]
)


@pytest.fixture(scope="module")
def fenced():
    fence = [
        metrics.latency_us(batch=100) <= 5000,
        "score_gap(roc_auc, age, bins=40) <= 0.9",
        metrics.custom(cost) <= 0.9,
    ]
    return FencelineClassifier(
        objective="roc_auc",
        constraints=fence,
        space=SPACE,
        evaluations=3,
        cv=2,
        limits=Limits(seconds=60),
        random_state=np.random.RandomState(0),
        callbacks=[lambda progress: None],
    ).fit(TABLE, Y)


def test_everything_but_the_data_and_the_users_functions_is_in_the_file(fenced, tmp_path):
    fenced.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is FencelineClassifier
    assert str(again.certificate_) == str(fenced.certificate_)
    assert again.best_metrics_ == fenced.best_metrics_
    assert again.best_configuration_ == fenced.best_configuration_
    assert again.classes_.tolist() == ["no", "yes"]
    assert again.feature_names_in_.tolist() == list(TABLE.columns)
    assert again.space == SPACE
    assert again.limits == Limits(seconds=60)
    assert again.result_.to_frame().equals(fenced.result_.to_frame())
    assert again.result_.message == fenced.result_.message
    assert again.result_.prices == fenced.result_.prices
    assert len(again.result_.iterations) == len(fenced.result_.iterations)
    content = (tmp_path / "model").read_bytes()
    assert len(content) < 30_000
    assert TABLE["amount"].to_numpy().tobytes() not in content


def test_saving_leaves_the_model_as_it_is(fenced, tmp_path):
    before = str(fenced.get_params()), fenced.result_
    fenced.save(tmp_path / "model")
    assert (str(fenced.get_params()), fenced.result_) == before


def test_a_function_of_the_users_is_named_and_says_so_when_it_is_needed(fenced, tmp_path):
    fenced.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert str(again.constraints[2]) == "cost <= 0.9"
    with pytest.raises(MeasurementError, match="'cost' was not saved"):
        again.constraints[2].of.function(None, None, None, None)
    assert again.callbacks == ()


def test_a_model_that_was_read_can_be_fitted_and_saved_again(fenced, tmp_path):
    fenced.save(tmp_path / "model")
    again = load(tmp_path / "model").set_params(constraints=["size_mb <= 5"]).fit(TABLE, Y)
    again.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(TABLE), again.predict(TABLE))


def test_pickle_works_for_those_who_choose_it():
    model = FencelineClassifier(space=SPACE, evaluations=1, cv=2).fit(TABLE, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(TABLE), model.predict(TABLE))


class Stranger(LogisticRegression):
    pass


def test_unknown_types_are_named_and_refused_unless_they_are_trusted(tmp_path, monkeypatch):
    module = types.ModuleType("stranger")
    monkeypatch.setitem(sys.modules, "stranger", module)
    monkeypatch.setattr(module, "Stranger", Stranger, raising=False)
    monkeypatch.setattr(Stranger, "__module__", "stranger")
    space = Space([Module("estimator", [Algorithm("stranger.Stranger")])])
    model = FencelineClassifier(space=space, evaluations=1, cv=2).fit(TABLE, Y)
    path = tmp_path / "model"
    model.save(path)
    with pytest.raises(StoreError, match=r"stranger\.Stranger.*trusted=\['stranger\.Stranger'\]"):
        load(path)
    for trusted in (["stranger.Stranger"], "stranger.Stranger"):
        again = load(path, trusted=trusted)
        assert np.array_equal(again.predict(TABLE), model.predict(TABLE))


def test_no_list_of_ours_allows_what_can_run_a_command():
    assert not any(name.startswith(("os.", "builtins.", "subprocess.")) for name in ALLOWED)


def broken(path, fenced, how):
    fenced.save(path)
    whole = path.read_bytes()
    if how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("not a model")
    elif how == "pickle":
        path.write_bytes(pickle.dumps(fenced.classes_))
    elif how == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("readme.txt", "hello")
    elif how == "skops":
        skops.io.dump(LogisticRegression(), path)
    elif how == "lost part":
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        parts.pop(next(name for name in parts if name.endswith(".npy")))
        with zipfile.ZipFile(path, "w") as file:
            for name, content in parts.items():
                file.writestr(name, content)


@pytest.mark.parametrize(
    "how", ["truncated", "empty", "text", "pickle", "zip", "skops", "lost part"]
)
def test_a_file_that_is_not_a_whole_model_is_refused(how, fenced, tmp_path):
    broken(tmp_path / "model", fenced, how)
    with pytest.raises(StoreError, match="is not a whole model saved by Fenceline"):
        load(tmp_path / "model")


def rewritten(path, **changes):
    """Change the header of a file."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    header = json.loads(parts["fenceline.json"]) | changes
    with zipfile.ZipFile(path, "w") as file:
        for name, content in (parts | {"fenceline.json": json.dumps(header)}).items():
            file.writestr(name, content)


def test_versions_are_stored_and_a_difference_is_told(fenced, tmp_path):
    path = tmp_path / "model"
    fenced.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)
    rewritten(path, **{"scikit-learn": "0.24.2", "python": "2.7.18"})
    with pytest.warns(UserWarning, match=r"scikit-learn 0\.24\.2 \(here .*python 2\.7\.18"):
        again = load(path)
    assert np.array_equal(again.predict(TABLE), fenced.predict(TABLE))


def test_another_patch_is_no_difference(fenced, tmp_path):
    path = tmp_path / "model"
    fenced.save(path)
    major, minor, *_ = np.__version__.split(".")
    rewritten(path, numpy=f"{major}.{minor}.999")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path)


def test_a_newer_format_is_refused_with_the_version_to_install(fenced, tmp_path):
    path = tmp_path / "model"
    fenced.save(path)
    rewritten(path, format=99, fenceline="9.0.0")
    with pytest.raises(StoreError, match=r"format 99.*fenceline 9\.0\.0"):
        load(path)


def test_paths_that_cannot_be_used_are_refused(fenced, tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        load(tmp_path / "nothing")
    with pytest.raises(StoreError, match="directory that exists"):
        fenced.save(tmp_path / "nowhere" / "model")
    with pytest.raises(StoreError, match="cannot be written"):
        fenced.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_there_is_nothing_to_save_before_a_fit(tmp_path):
    with pytest.raises(NotFittedError):
        FencelineClassifier().save(tmp_path / "model")

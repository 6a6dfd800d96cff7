"""Converted pipelines predict what the pipelines do; skipped without the extra."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fenceline.errors import DefinitionError, MissingDependencyError
from fenceline.pipelines import Setting, fit, preparation
from fenceline.pipelines.fitting.thresholds import decide_at
from fenceline.pipelines.onnx import compare, convert, inputs
from fenceline.pipelines.onnx.graph import require
from fenceline.problem.configuration import Choice

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
ROWS = 300
TABLE = pd.DataFrame(
    {
        "town": pd.Series(RNG.choice(list("abcdefgh"), ROWS)).where(RNG.random(ROWS) > 0.1, None),
        "grade": pd.Categorical(RNG.choice([1, 2, 3], ROWS)),
        "amount": np.where(RNG.random(ROWS) > 0.1, RNG.normal(size=ROWS), np.nan),
        # Tenths: as floats they lie beside the doubles that trees split at.
        "tenths": RNG.integers(0, 30, ROWS) / 10,
        "when": pd.Series(pd.date_range("1899-12-30 05:13:07", periods=ROWS, freq="6177h")).where(
            RNG.random(ROWS) > 0.1
        ),
    }
)
NEW = TABLE.iloc[::-1].assign(town=lambda x: x["town"].replace("c", "never seen"))
SIGNAL = TABLE["amount"].fillna(0) + (TABLE["town"] == "a") + TABLE["tenths"] / 3
TARGETS = {
    "binary": np.where(SIGNAL > 0.7, "yes", "no"),
    "multiclass": np.digitize(SIGNAL, [0.3, 0.9]) * 10,
    "regression": SIGNAL.to_numpy(),
}
SCALED = ("StandardScaler",)
QUANTILES = {"n_quantiles": 50}
MLP = {"alpha": 1e-3, "learning_rate_init": 1e-2, "depth": 2, "nodes": 8, "max_iter": 3}
FOREST = {"n_estimators": 4, "min_samples_leaf": 3}
NEAREST = {"n_neighbors": 7, "p": 1}


def fitted(task="binary", **chosen):
    steps = {module: Choice(*choice) for module, choice in chosen.items()}
    y = TARGETS[task]
    setting = Setting(task, ROWS, TABLE.shape[1], positive="yes")
    with np.errstate(all="ignore"):
        return fit(steps, TABLE, y, setting, preparation(TABLE))


def checked(pipeline, rows=NEW):
    return compare(convert(pipeline, TABLE.shape[1]), pipeline, rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("binary", {"encoder": ("ordinal",), "model": ("HistGradientBoosting", {"max_iter": 8})}),
        ("binary", {"encoder": ("target",), "model": ("RandomForest", FOREST)}),
        ("binary", {"model": ("DecisionTree", {"max_depth": 5})}),
        ("binary", {"scaler": SCALED, "model": ("KNeighbors", NEAREST | {"weights": "distance"})}),
        ("binary", {"scaler": SCALED, "model": ("MLP", MLP | {"activation": "relu"})}),
        ("multiclass", {"scaler": SCALED, "model": ("HistGradientBoosting", {"max_iter": 5})}),
        ("multiclass", {"scaler": SCALED, "model": ("LogisticRegression", {"C": 1.0})}),
        ("multiclass", {"model": ("ExtraTrees", FOREST)}),
        ("regression", {"scaler": ("none",), "model": ("HistGradientBoosting", {"max_iter": 5})}),
        (
            "regression",
            {
                "encoder": ("target",),
                "scaler": ("QuantileTransformer", QUANTILES | {"output_distribution": "uniform"}),
                "selector": ("PCA", {"n_components": 0.9}),
                "model": ("Ridge", {"alpha": 1.0}),
            },
        ),
        (
            "regression",
            {
                "scaler": ("QuantileTransformer", QUANTILES | {"output_distribution": "normal"}),
                "selector": ("SelectPercentile", {"percentile": 60}),
                "model": ("KernelRidge", {"width": 1.0, "n_components": 20, "alpha": 1.0}),
            },
        ),
    ],
)
def test_a_pipeline_predicts_the_same_in_doubles(task, steps):
    found = checked(fitted(task, **steps))
    assert found.rows == ROWS
    assert found.largest < 1e-12
    assert found.labels <= 0


def test_a_threshold_decides_and_leaves_probabilities_alone():
    pipeline = fitted(
        scaler=SCALED, model=("GaussianNB",), threshold=("Threshold", {"log_odds": 1.3})
    )
    assert not np.array_equal(pipeline.predict(NEW), pipeline[-1].estimator_.classes_[
        pipeline.predict_proba(NEW).argmax(axis=1)
    ])  # fmt: skip
    assert checked(pipeline).labels == 0


def test_steps_side_by_side_are_joined_in_order():
    pipeline = fitted(scaler=SCALED, model=("DecisionTree", {"max_depth": 4}))
    prepared = pipeline[0].transform(TABLE)
    union = FeatureUnion([("scaled", StandardScaler()), ("first", make_pipeline(PCA(2)))])
    pipeline.steps[1] = ("scaler", union.fit(prepared))
    tree = DecisionTreeClassifier(max_depth=4).fit(union.transform(prepared), TARGETS["binary"])
    pipeline.steps[2] = ("model", tree)
    assert checked(pipeline).largest < 1e-12


def test_votes_count_as_often_as_they_are_given():
    members = [
        fitted(encoder=("ordinal",), model=("HistGradientBoosting", {"max_iter": 3})),
        fitted(scaler=SCALED, model=("DecisionTree", {"max_depth": 3})),
    ]
    voter = VotingClassifier([("a", members[0]), ("b", members[1])], voting="soft", weights=[3, 1])
    voter.estimators_, voter.classes_ = members, members[0].classes_
    voter.le_ = LabelEncoder().fit(voter.classes_)
    assert checked(decide_at(-0.8, voter, "yes", fitted=True)).largest < 1e-12


def test_arrays_are_one_input_and_the_file_keeps_notes():
    X = np.random.default_rng(1).normal(size=(50, 3))
    X[0, 0] = np.nan
    steps = {"model": Choice("DecisionTree", {"max_depth": 3})}
    y = X[:, 1] > 0
    pipeline = fit(steps, X, y, Setting("binary", 50, 3), preparation(X))
    model = convert(pipeline, 3, {"note": {"a": 1}})
    assert compare(model, pipeline, X).rows == 50
    assert [entry.name for entry in model.graph.input] == ["X"]
    assert json.loads(model.metadata_props[0].value) == {"a": 1}


def test_a_file_that_predicts_otherwise_is_refused():
    other = fitted(model=("DecisionTree", {"max_depth": 1}))
    model = convert(fitted(model=("DecisionTree", {"max_depth": 6})), TABLE.shape[1])
    with pytest.raises(DefinitionError, match="predicts otherwise"):
        compare(model, other, NEW)


def test_missing_values_go_in_as_nan_and_as_empty_texts():
    found = inputs(pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None]}))
    assert found["a"].dtype == np.float64
    assert np.isnan(found["a"][1, 0])
    assert found["b"].tolist() == [["x"], [""]]


def test_what_cannot_be_converted_is_said_by_name():
    empty = TABLE.assign(town=TABLE["town"].fillna(""))
    steps = {"model": Choice("DecisionTree", {"max_depth": 2})}
    setting = Setting("binary", ROWS, 5, positive="yes")
    pipeline = fit(steps, empty, TARGETS["binary"], setting, preparation(empty))
    with pytest.raises(DefinitionError, match="an empty text is a category of 'town'"):
        convert(pipeline, 5)

    class Unknown(LogisticRegression):
        pass

    pytest.importorskip("skl2onnx")
    pipeline = fitted(scaler=SCALED, model=("DecisionTree", {"max_depth": 2}))
    pipeline.steps[-1] = (
        "model",
        Unknown().fit(np.random.default_rng(2).normal(size=(20, 3)), [0, 1] * 10),
    )
    with pytest.raises(DefinitionError, match="Unknown cannot be converted to ONNX"):
        convert(pipeline, 5)


def test_a_missing_package_is_named_with_its_remedy():
    with pytest.raises(MissingDependencyError, match=r"pip install 'fenceline\[onnx\]'"):
        require("onnx_is_not_here")

"""What users hand in by mistake, entry by entry: each is refused in plain words before the search."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from fenceline import metrics
from fenceline.errors import FencelineError, InfeasibleError, MeasurementError
from fenceline.estimator.estimators import FencelineClassifier, FencelineRegressor
from fenceline.pipelines import with_threshold
from fenceline.problem.parameter import Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(300, 5, n_informative=4, n_redundant=0, flip_y=0.02, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcde"))
AGE = np.where(X[:, 0] > 0, "old", "young")
ONES = np.ones(300)
SPACE = Space(
    [
        Module("scaler", [Algorithm("StandardScaler"), Algorithm("none")]),
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)}),
                Algorithm("DecisionTree", {"max_depth": Integer(1, 8)}),
            ],
        ),
    ]
)
ROWS = np.arange(300)


def classifier(**settings):
    return FencelineClassifier(**{"space": SPACE, "evaluations": 6, "cv": 2} | settings)


def one(name, **params):
    return Space([Module("estimator", [Algorithm(name, params)])])


BAD_DATA = {
    "X None": (None, Y, "Expected 2D array"),
    "X 1-D": (X[:, 0], Y, "1D array"),
    "X 3-D": (X.reshape(300, 5, 1), Y, "dim 3"),
    "X empty": (X[:0], Y[:0], r"0 sample\(s\)"),
    "X empty frame": (FRAME.head(0), Y[:0], r"0 sample\(s\)"),
    "X no columns": (X[:, :0], Y, r"0 feature\(s\)"),
    "X frame without columns": (FRAME[[]], Y, r"0 feature\(s\)"),
    "X one row": (X[:1], Y[:1], "minimum of 2"),
    "X one row of a frame": (FRAME.head(1), Y[:1], "minimum of 2"),
    "length mismatch": (X, Y[:-1], "inconsistent numbers of samples"),
    "X infinite": (np.where(X > 2, np.inf, X), Y, "infinity"),
    "X infinite frame": (FRAME.assign(b=np.inf), Y, r"infinity in \['b'\]"),
    "X complex": (X * 1j, Y, "Complex data"),
    "X complex frame": (FRAME.assign(b=1j), Y, "Complex data"),
    "X duplicate columns": (FRAME.set_axis(list("aabcd"), axis=1), Y, r"named \['a'\]"),
    "X all missing": (np.full_like(X, np.nan), Y, "nothing to learn"),
    "X all missing frame": (FRAME.assign(**dict.fromkeys("abcde")), Y, "nothing to learn"),
    "y None": (X, None, "y is None"),
    "y NaN": (X, np.where(Y, np.nan, 1.0), "NaN"),
    "y None inside": (X, np.where(Y, None, "a"), "contains NaN"),
    "y one class": (X, Y * 0, "one class only"),
    "y small class": (X, ROWS == 5, "fewer rows than there are folds"),
    "y continuous": (X, X[:, 0], "Unknown label type"),
    "y texts and numbers": (X, np.array([1, "a"] * 150, dtype=object), "of several types"),
    "y multi-output": (X, np.column_stack([Y, Y]), "1d array"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_tables_and_labels_are_refused(case):
    features, y, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        classifier().fit(features, y)


BAD_GROUPS = {
    "length": ({"age": AGE[:-1]}, "one value for each of the 300 rows"),
    "table": ({"age": np.column_stack([AGE, AGE])}, r"Got shape \(300, 2\)"),
    "missing values": ({"age": np.where(Y, None, "a")}, "missing in"),
    "unknown": ({"agee": AGE}, "no column or group 'age'. Did you mean 'agee'"),
    "none": (None, "no column or group 'age'"),
    "single": ({"age": np.full(300, "a")}, "single value 'a'"),
    "no mapping": (AGE, "must map names"),
    "small": ({"age": np.where(ROWS < 1, "x", AGE)}, "'x' has 1 rows"),
    "one class": ({"age": np.where(Y, "a", AGE)}, "'a' .* all of one class"),
}


@pytest.mark.parametrize("case", BAD_GROUPS)
def test_bad_groups_are_refused(case):
    groups, message = BAD_GROUPS[case]
    with pytest.raises(FencelineError, match=message):
        classifier(constraints=["score_gap(roc_auc, age) <= 0.5"]).fit(X, Y, groups=groups)


def test_bins_of_a_column_of_texts_are_refused():
    model = classifier(constraints=["score_gap(roc_auc, age, bins=30:40) <= 0.5"])
    with pytest.raises(FencelineError, match="bins cut numbers only"):
        model.fit(X, Y, groups={"age": AGE})


BAD_WEIGHTS = {
    "negative": (np.where(ROWS == 7, -1.0, 1.0), r"Got -1.0 in 1 of 300 rows"),
    "NaN": (np.where(ROWS == 7, np.nan, 1.0), r"Got nan in 1 of 300 rows"),
    "infinite": (np.where(ROWS == 7, np.inf, 1.0), r"Got inf in 1 of 300 rows"),
    "length": (ONES[:-1], r"each of the 300 rows. Got shape \(299,\)"),
    "table": (np.ones((300, 2)), r"Got shape \(300, 2\)"),
    "number": (2.0, r"Got shape \(\)"),
    "texts": (AGE, "must be numbers"),
    "all zero": (ONES * 0, "but 0 are zero"),
    "all but one zero": ((ROWS == 7) * 1.0, "but 1 are zero"),
    "one class left": (Y * 1.0, "one class only"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused(case):
    weights, message = BAD_WEIGHTS[case]
    with pytest.raises(FencelineError, match=message):
        classifier().fit(X, Y, sample_weight=weights)


BAD_SETTINGS = {
    "space unknown": ({"space": "papr"}, "'paper'"),
    "space no space": ({"space": 5}, "space must be"),
    "algorithm unknown": ({"space": one("RandomForrest")}, "Did you mean 'RandomForest'"),
    "algorithm not importable": ({"space": one("sklearn.svm.NoSVC")}, "cannot be made"),
    "hyper-parameter unknown": (
        {"space": one("RandomForest", trees=Integer(1, 9))},
        "'RandomForest' cannot be made.*'trees'",
    ),
    "objective unknown": ({"objective": "roc_acu"}, "Did you mean 'roc_auc'"),
    "objective no metric": ({"objective": 5}, "callable"),
    "objective of numbers": ({"objective": "r2"}, "y holds classes"),
    "metric unknown": ({"constraints": ["latency <= 5"]}, "Did you mean 'latency_us'"),
    "metric of numbers": ({"constraints": ["neg_max_error >= 5"]}, "y holds classes"),
    "constraint unreadable": ({"constraints": ["latency_us < 5"]}, "cannot be read"),
    "constraints no list": ({"constraints": "size_mb <= 5"}, "must be a list"),
    "constraints None": ({"constraints": None}, "must be a list"),
    "constraint no constraint": ({"constraints": [5]}, "is not a constraint"),
    "constraint a function": ({"constraints": [classifier]}, "is not a constraint"),
    "bounds contradict": ({"constraints": ["size_mb <= 1", "size_mb >= 2"]}, "loosen one bound"),
    "bounds twice": ({"constraints": ["size_mb <= 1", "size_mb <= 2"]}, "keep the stricter"),
    "bound always true": (
        {"constraints": ["neg_log_loss <= 0.4"]},
        "always true: neg_log_loss is at most 0.* Did you mean 'log_loss <= 0.4'",
    ),
    "bound in percent": ({"constraints": ["accuracy >= 80"]}, "cannot be met.* Did you mean 0.8"),
    "bound positive for a negative score": (
        {"constraints": ["neg_log_loss >= 0.4"]},
        "cannot be met.* Did you mean 'log_loss <= 0.4'",
    ),
    "bound below nothing": ({"constraints": ["size_mb <= -3"]}, "at least 0. Did you mean 3"),
    "bound of any value": ({"constraints": ["accuracy <= 1"]}, "always true.* Leave it out"),
    "cv one fold": ({"cv": 1}, "cv must be"),
    "cv no share": ({"cv": 1.0}, "cv must be"),
    "cv truth": ({"cv": True}, "cv must be"),
    "cv text": ({"cv": "5"}, "cv must be"),
    "cv no folds": ({"cv": []}, "cv must be"),
    "cv no pairs": ({"cv": [ROWS]}, "cv must be"),
    "cv tiny share": ({"cv": 0.001}, "cv=0.001 does not suit 300 rows"),
    "cv unknown rows": ({"cv": [(ROWS, ROWS + 300)]}, "fold 1 .* from 0 to 299"),
    "cv no row numbers": ({"cv": [(ROWS / 2, ROWS)]}, "fold 1 .* from 0 to 299"),
    "cv same rows": ({"cv": [(ROWS[:200], ROWS[100:])]}, "rows that it was fitted on"),
    "cv empty": ({"cv": [(ROWS, ROWS[:0])]}, "no rows left"),
    "evaluations zero": ({"evaluations": 0}, "evaluations must be"),
    "evaluations a fraction": ({"evaluations": 1.5}, "evaluations must be"),
    "seconds negative": ({"seconds": -1}, "seconds must be"),
    "seconds infinite": ({"seconds": float("inf")}, "seconds must be"),
    "seconds NaN": ({"seconds": float("nan")}, "seconds must be"),
    "seconds text": ({"seconds": "10"}, "seconds must be"),
    "workers zero": ({"workers": 0}, "workers must be"),
    "workers a fraction": ({"workers": 1.5}, "workers must be"),
    "random_state negative": ({"random_state": -1}, "random_state must be"),
    "run_dir no path": ({"run_dir": 5}, "run_dir must be a path"),
    "on_infeasible unknown": ({"on_infeasible": "ignore"}, "on_infeasible must be"),
    "confidence above 1": ({"confidence": 2}, "confidence must"),
    "confidence text": ({"confidence": "high"}, "confidence must"),
    "search_threshold text": ({"search_threshold": "yes"}, "search_threshold must be"),
    "search_emphasis number": ({"search_emphasis": 2}, "search_emphasis must be"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_with_what_is_expected(case):
    setting, message = BAD_SETTINGS[case]
    with pytest.raises(FencelineError, match=message):
        classifier(**setting).fit(X, Y)


def test_a_random_state_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'a' cannot be used to seed"):
        classifier(random_state="a").fit(X, Y)


def test_what_is_for_two_classes_is_refused_for_more():
    three = ROWS % 3
    with pytest.raises(FencelineError, match="roc_auc_ovr"):
        classifier(objective="roc_auc").fit(X, three)
    with pytest.raises(FencelineError, match="'recall' is for two classes"):
        classifier(constraints=["recall >= 0.5"]).fit(X, three)
    with pytest.raises(FencelineError, match="false_positive_rate is for tasks that are binary"):
        classifier(constraints=["false_positive_rate <= 0.1"]).fit(X, three)
    with pytest.raises(FencelineError, match="decision threshold of two classes"):
        classifier(space=with_threshold(SPACE)).fit(X, three)


def test_a_regressor_refuses_texts_scores_of_classes_and_more_folds_than_rows():
    with pytest.raises(FencelineError, match="needs numbers in y"):
        FencelineRegressor(evaluations=1).fit(X, AGE)
    with pytest.raises(FencelineError, match="y holds numbers; use 'r2'"):
        FencelineRegressor("roc_auc", evaluations=1).fit(X, X[:, 0])
    with pytest.raises(FencelineError, match="cv=400 does not suit 300 rows"):
        FencelineRegressor(evaluations=1, cv=400).fit(X, X[:, 0])


def test_other_columns_at_prediction_are_refused():
    model = classifier(evaluations=1).fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.rename(columns={"a": "z"}))
    model = classifier(evaluations=1).fit(X, Y)
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(X[:0])


def test_a_column_without_any_value_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match=r"\['c'\]"):
        model = classifier(evaluations=1).fit(FRAME.assign(c=np.nan), Y)
    assert model.predict(FRAME.assign(c=np.nan)).shape == Y.shape


def test_impossible_bounds_raise_with_the_nearest_miss_and_what_to_loosen():
    model = classifier(constraints=[metrics.size_mb() <= 1e-9])
    with pytest.raises(InfeasibleError, match="loosen size_mb") as caught:
        model.fit(X, Y)
    assert caught.value.result is model.result_
    assert caught.value.certificate is None
    assert model.result_.status == "infeasible"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (5, "must be callable"),
        (lambda pipeline, X, y: 1.0, "must take four arguments"),
        (lambda pipeline, X, y, groups, more: 1.0, "must take four arguments"),
    ],
)
def test_functions_that_cannot_be_metrics_are_refused(function, message):
    with pytest.raises(FencelineError, match=message):
        metrics.custom(function, name="cost")


def test_a_function_without_a_name_is_asked_for_one():
    with pytest.raises(FencelineError, match="name='cost'"):
        metrics.custom(lambda pipeline, X, y, groups: 1.0)


BAD_FUNCTIONS = {
    "returns None": (lambda p, X, y, g: None, "finite number. Got None"),
    "returns NaN": (lambda p, X, y, g: float("nan"), "finite number. Got nan"),
    "returns an array": (lambda p, X, y, g: p.predict(X), r"Got an array of shape \(90,\)"),
    "returns text": (lambda p, X, y, g: "low", "finite number. Got 'low'"),
    "always raises": (lambda p, X, y, g: y[9999], "index 9999 is out of bounds"),
}


@pytest.mark.parametrize("case", BAD_FUNCTIONS)
def test_a_function_that_never_works_ends_the_search_after_a_few_pipelines(case):
    function, message = BAD_FUNCTIONS[case]
    seen = []
    model = classifier(
        constraints=[metrics.custom(function, name="cost") <= 1],
        evaluations=1000,
        callbacks=[seen.append],
    )
    with pytest.raises(MeasurementError, match=f"first 5 pipelines all failed with: .*{message}"):
        model.fit(X, Y)
    assert len(seen) == 5


def test_a_budget_below_the_patience_tells_why_every_pipeline_failed():
    cost = metrics.custom(lambda p, X, y, g: None, name="cost")
    with pytest.raises(MeasurementError, match=r"All 2 pipelines failed.*Got None"):
        classifier(constraints=[cost <= 1], evaluations=2).fit(X, Y)


def wrecks(pipeline, features, y, groups):
    features.iloc[:, :] = 0.0
    y[:] = 0
    groups["age"][:] = "old"
    return 0.0


def harmless(pipeline, features, y, groups):
    return 0.0


def test_a_function_that_changes_its_data_changes_nothing_else():
    def found(function):
        fence = [metrics.custom(function, name="cost") <= 1, "score_gap(roc_auc, age) <= 0.9"]
        model = classifier(constraints=fence, evaluations=3)
        return model.fit(FRAME, Y, groups={"age": AGE}).result_.evaluations

    assert [e.metrics for e in found(wrecks)] == [e.metrics for e in found(harmless)]


def test_a_function_that_cannot_be_sent_to_a_worker_is_refused_without_printing_the_data():
    lock = threading.Lock()

    def locked(pipeline, features, y, groups):
        with lock:
            return 0.0

    model = classifier(constraints=[metrics.custom(locked) <= 1], workers=2)
    with pytest.raises(FencelineError, match="cannot be sent to a worker") as refused:
        model.fit(X, Y)
    assert len(str(refused.value)) < 1000

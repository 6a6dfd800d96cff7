"""What a report says of pipelines with a shape."""

from sklearn.datasets import load_iris

import fenceline as fl
from fenceline.pipelines import Setting, fit
from fenceline.report import write_report
from fenceline.report.diagram import diagram
from fenceline.report.sections import in_words

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("StandardScaler")]),
        fl.Module(
            "features", [fl.Algorithm("Identity"), fl.Algorithm("PCA")], most=2, join="union"
        ),
        fl.Module("model", [fl.Algorithm("LogisticRegression")]),
    ],
    reorder=("scaler", "features"),
)
CONFIGURATION = SPACE.configuration(
    {
        "shape": "(features + features_2?) -> scaler? -> model",
        "scaler": "StandardScaler",
        "features": "Identity",
        "features_2": "PCA",
        "model": "LogisticRegression",
    }
)


def test_steps_are_told_in_the_order_in_which_data_reach_them():
    words = [(module, algorithm) for module, algorithm, _ in in_words(CONFIGURATION)]
    assert words == [
        ("features", "Identity"),
        ("features_2", "PCA"),
        ("scaler", "StandardScaler"),
        ("model", "LogisticRegression"),
    ]


def test_branches_are_drawn_side_by_side():
    X, y = load_iris(return_X_y=True)
    drawn = diagram(fit(CONFIGURATION, X, y, Setting("multiclass", *X.shape)))
    assert "FeatureUnion" in drawn
    assert "sk-parallel" in drawn


def test_a_page_is_written(tmp_path):
    problem = fl.Problem(SPACE, lambda c: {"loss": float(len(str(c)))})
    result = fl.minimize(problem, evaluations=6, algorithm=fl.baselines.RandomSearch())
    text = write_report(result, tmp_path / "report.html").read_text("utf-8")
    assert "features_2" in text
    assert "9 pipelines before hyper-parameters" in text

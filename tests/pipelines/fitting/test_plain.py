import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import fenceline as fl
from fenceline.errors import DefinitionError
from fenceline.pipelines import Setting, fit, preparation
from fenceline.pipelines.fitting.encoders import ENCODERS
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.plain import plain
from fenceline.problem.configuration import Choice

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "town": pd.Series(RNG.choice(list("abcdefgh"), 200), dtype=object).where(
            RNG.random(200) > 0.1, None
        ),
        "grade": pd.Categorical(RNG.choice([1, 2, 3], 200)),
        "amount": np.where(RNG.random(200) > 0.1, RNG.normal(size=200), np.nan),
        "when": pd.Series(pd.date_range("2026-01-01", periods=200, freq="9h")).where(
            RNG.random(200) > 0.1
        ),
    }
)
Y = (X["amount"].fillna(0) + (X["town"] == "a") > 0.2).astype(int).to_numpy()
NEW = X.iloc[::-1].assign(town=lambda x: x["town"].replace("c", "never seen"))
SCALED = ("StandardScaler",)
NUMBERS = RNG.normal(size=(200, 3))
# What a machine without this package does with the files.
ELSEWHERE = """
import pathlib, pickle, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "fenceline":
            raise ImportError("fenceline is not installed")

sys.meta_path.insert(0, Refuse())
import numpy, skops.io
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pickle")):
    rows, labels, shares = pickle.loads(path.with_suffix(".rows").read_bytes())
    file = path.with_suffix(".skops")
    safe = skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))
    for model in (pickle.loads(path.read_bytes()), safe):
        assert numpy.array_equal(model.predict(rows), labels), path.stem
        assert numpy.array_equal(model.predict_proba(rows), shares), path.stem
    print(path.stem)
assert "fenceline" not in sys.modules
"""


def fitted(steps, rows, y=Y, prepared=None):
    choices = {module: Choice(*chosen) for module, chosen in steps.items()}
    setting = Setting("binary", len(y), 3, sparse=sparse.issparse(rows), positive=np.unique(y)[-1])
    return fit(choices, rows, y, setting, preparation(rows) if prepared is None else prepared)


def logistic(**first):
    return first | {"estimator": ("LogisticRegression", {"C": 1.0})}


def decided(**first):
    return logistic(**first) | {"threshold": ("Threshold", {"log_odds": -0.7})}


def modules(step):
    """Return the packages that the parts of a pipeline come from."""
    found = {type(step).__module__.partition(".")[0]}
    if isinstance(step, Pipeline):
        return found.union(*(modules(part) for _, part in step.steps if part != "passthrough"))
    if isinstance(step, ColumnTransformer):
        return found.union(*(modules(part) for _, part, _ in step.transformers_))
    return found


def names_fenceline(model, path):
    """Tell whether files of a model name anything of ours: there every part is named by its import path."""
    skops.io.dump(model, path)
    schema = zipfile.ZipFile(path).read("schema.json")
    return b"fenceline" in pickle.dumps(model) or b"fenceline" in schema


@pytest.mark.parametrize("encoder", ENCODERS)
def test_steps_of_scikit_learn_alone_predict_the_same(encoder):
    ours = fitted(logistic(encoder=(encoder,), scaler=SCALED), X)
    turned = plain(ours)
    assert modules(ours) == {"fenceline", "sklearn"}
    assert modules(turned) == {"sklearn"}
    for rows in (NEW, NEW.head(1)):
        assert np.array_equal(turned.predict_proba(rows), ours.predict_proba(rows))


def test_plain_models_predict_the_same_where_this_package_is_not_installed(tmp_path):
    texts = np.where(Y, "yes", "no")
    boosted = {"encoder": ("ordinal",), "estimator": ("HistGradientBoosting", {"max_iter": 5})}
    models = {
        "one-hot": (
            fitted(decided(encoder=("onehot",), scaler=SCALED, selector=("none",)), X, texts),
            NEW,
        ),
        "native categories": (fitted(boosted, X), NEW),
        "target": (fitted(decided(encoder=("target",), scaler=SCALED), X), NEW),
        "numbers": (fitted(logistic(), NUMBERS), np.where(NUMBERS > 2, np.nan, NUMBERS)),
        "sparse": (fitted(logistic(), sparse.csr_matrix(NUMBERS)), NUMBERS),
        "labels": (EncodedLabels(LogisticRegression()).fit(NUMBERS, texts), NUMBERS),
    }
    for name, (ours, rows) in models.items():
        turned = plain(ours)
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(turned))
        skops.io.dump(turned, tmp_path / f"{name}.skops")
        expected = (rows, ours.predict(rows), ours.predict_proba(rows))
        (tmp_path / f"{name}.rows").write_bytes(pickle.dumps(expected))
    done = subprocess.run(
        [sys.executable, "-I", "-c", ELSEWHERE, tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == sorted(models)


@pytest.mark.parametrize("settings", [{}, {"objective": "accuracy", "ensemble": 3}])
def test_a_model_turns_into_plain_scikit_learn(settings, tmp_path):
    model = fl.FencelineClassifier(evaluations=5, **settings).fit(X, Y)
    turned = model.to_sklearn()
    assert np.array_equal(turned.predict(NEW), model.predict(NEW))
    assert np.array_equal(turned.predict_proba(NEW), model.predict_proba(NEW))
    assert names_fenceline(model.best_pipeline_, tmp_path / "ours.skops")
    assert not names_fenceline(turned, tmp_path / "plain.skops")
    assert not names_fenceline(clone(turned), tmp_path / "unfitted.skops")


def test_numbers_alone_are_plain_but_for_the_imputer():
    model = fl.FencelineRegressor(evaluations=2).fit(NUMBERS, Y)
    assert np.array_equal(model.to_sklearn().predict(NUMBERS), model.predict(NUMBERS))
    assert b"fenceline" not in pickle.dumps(model.to_sklearn())


class Ours(BaseEstimator):
    __module__ = "fenceline.somewhere"


def test_a_step_without_an_equal_is_refused_by_name():
    with pytest.raises(DefinitionError, match="Ours has no equal"):
        plain(Pipeline([("step", Ours())]))

"""First steps that pipelines share: the same measurements, sooner, and within their memory."""

import pickle
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from fenceline import Problem, metrics, minimize
from fenceline.errors import DefinitionError, MeasurementError
from fenceline.evaluation import Local
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, fit, named_space, preparation, with_threshold
from fenceline.pipelines.fitting.prefix import Prefixes
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice
from fenceline.problem.parameter import Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(150, 6, n_informative=4, random_state=0)
TABLE = Table(X, Y, "binary")
LOSS = metrics.loss("roc_auc")
PAPER = named_space("paper", "binary")
CHEAP = {"GaussianNB", "QuadraticDiscriminantAnalysis", "DecisionTree", "LogisticRegression"}


def measuring(*given, table=TABLE, **settings):
    chosen = {m.name: m for m in given or (LOSS,)}
    return CrossValidation(table, chosen, (), preparation(table.X), **{"folds": 2} | settings)


def some_pipelines(count, seed=0):
    """Return pipelines of one theta, as a z-min visits them."""
    rng = np.random.default_rng(seed)
    theta = rng.random(len(PAPER.centre))
    found = {}
    while len(found) < count:
        z = tuple(int(rng.integers(len(m.algorithms))) for m in PAPER.modules)
        configuration = PAPER.decode(z, theta)
        if configuration["estimator"].algorithm in CHEAP:
            found[configuration] = None
    return list(found)


def outcome(measure, configuration):
    try:
        return measure(configuration)
    except Exception as problem:
        return str(problem)


def test_measurements_are_identical_with_and_without_reuse():
    scores = (LOSS, metrics.false_positive_rate(), metrics.robustness("accuracy"))
    alone = measuring(*scores, cache_megabytes=0)
    sharing = measuring(*scores)
    for configuration in some_pipelines(40):
        assert outcome(sharing, configuration) == outcome(alone, configuration)
    assert len(sharing.prefixes) > 20
    assert len(alone.prefixes) == 0


def test_sizes_are_those_of_whole_pipelines():
    alone, sharing = (measuring(metrics.size_mb(), cache_megabytes=m) for m in (0, 100))
    for configuration in some_pipelines(15):
        for _ in range(2):
            assert outcome(sharing, configuration) == outcome(alone, configuration)


@pytest.mark.parametrize("kind", ["frame", "sparse", "weighted", "regression"])
def test_tables_of_all_kinds_are_measured_alike(kind):
    table, space, loss = TABLE, PAPER, LOSS
    if kind == "frame":
        town = np.where(np.arange(len(Y)) % 3 == 0, "a", "b")
        table = Table(pd.DataFrame(X).assign(town=town).rename(columns=str), Y, "binary")
    elif kind == "sparse":
        table = Table(sparse.random_array(X.shape, density=0.5, rng=0, format="csr"), Y, "binary")
    elif kind == "weighted":
        table = Table(X, Y, "binary", weights=np.linspace(0.5, 2.0, len(Y)))
    else:
        table, space = (
            Table(X, X @ np.arange(6.0), "regression"),
            named_space("default", "regression"),
        )
        loss = metrics.loss("r2")
    alone, sharing = (measuring(loss, table=table, cache_megabytes=m) for m in (0, 100))
    rng = np.random.default_rng(1)
    last = "Ridge" if kind == "regression" else "LogisticRegression"
    theta = rng.random(len(space.centre))
    where = [a.name for a in space.modules[-1].algorithms].index(last)
    for _ in range(8):
        z = [int(rng.integers(len(m.algorithms))) for m in space.modules[:-1]]
        configuration = space.decode((*z, where), theta)
        assert outcome(sharing, configuration) == outcome(alone, configuration)


def chosen(**choices):
    first = {m.name: (m.algorithms[0].name, {}) for m in PAPER.modules}
    return PAPER.configuration(first | choices)


class Slow(TransformerMixin, BaseEstimator):
    """Takes its time to fit, and warns."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        start = time.thread_time()
        while time.thread_time() - start < 0.05:
            pass
        warnings.warn("slow", UserWarning, stacklevel=1)
        return self

    def transform(self, X):
        warnings.warn("still slow", UserWarning, stacklevel=1)
        return X


class Careless(TransformerMixin, BaseEstimator):
    """Writes into what it is given."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X *= -3.0
        return X


HERE = __name__
OWN = Space(
    [
        Module(
            "scaler", [Algorithm("none"), Algorithm("StandardScaler"), Algorithm(f"{HERE}.Slow")]
        ),
        Module("transformer", [Algorithm("none"), Algorithm(f"{HERE}.Careless")]),
        Module(
            "estimator",
            [Algorithm("GaussianNB"), Algorithm("LogisticRegression", {"C": Real(0.1, 9)})],
        ),
    ]
)


def own(scaler="none", transformer="none", C=None):
    last = ("GaussianNB", {}) if C is None else ("LogisticRegression", {"C": C})
    return OWN.configuration(
        {"scaler": (scaler, {}), "transformer": (transformer, {}), "estimator": last}
    )


def test_what_is_shared_is_fitted_once_and_its_time_and_warnings_count_for_all():
    measure = measuring(LOSS, metrics.train_seconds())
    Slow.fits = 0
    first, second = measure(own(f"{HERE}.Slow")), measure(own(f"{HERE}.Slow", C=1.0))
    assert Slow.fits == 2, "once in each fold"
    assert first["train_seconds"] >= 0.05
    assert second["train_seconds"] >= 0.05
    # Two folds; in each it warns when it is fitted, and when it transforms either part.
    assert first["warnings"] == second["warnings"] == 6


def test_a_step_that_writes_into_its_rows_spoils_nothing_for_others():
    measure, alone = measuring(), measuring(cache_megabytes=0)
    expected = [alone(own("StandardScaler")), alone(own("StandardScaler", C=1.0))]
    for _ in range(2):
        measure(own("StandardScaler", f"{HERE}.Careless"))
        measure(own("StandardScaler", f"{HERE}.Careless", C=2.0))
        assert measure(own("StandardScaler")) == expected[0]
        assert measure(own("StandardScaler", C=1.0)) == expected[1]


def test_a_metric_that_fits_the_pipeline_anew_spoils_nothing_for_others():
    def refitting(pipeline, features, y, groups):
        return float(pipeline.fit(features + 5.0, y).predict(features).mean())

    measure, alone = measuring(LOSS, metrics.custom(refitting)), measuring(LOSS, cache_megabytes=0)
    measure(own("StandardScaler"))
    assert (
        measure(own("StandardScaler", C=1.0))[LOSS.name]
        == alone(own("StandardScaler", C=1.0))[LOSS.name]
    )


@pytest.mark.parametrize(
    ("module", "algorithm"),
    [(m.name, a) for m in PAPER.modules[:-1] for a in m.algorithms if a.name != "none"],
    ids=lambda part: getattr(part, "name", part),
)
def test_no_step_of_the_catalogue_writes_into_what_it_is_given(module, algorithm):
    locked, labels = X[:60].copy(), Y[:60]
    locked.flags.writeable = False
    params = {name: p.from_unit(0.3) for name, p in algorithm.params.items()}
    choices = {module: Choice(algorithm.name, params), "estimator": Choice("GaussianNB")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipeline = fit(choices, locked, labels, Setting("binary", *locked.shape))
        except MeasurementError:
            return  # it dropped every column, and wrote into none
        assert pipeline[:-1].transform(locked).shape[0] == 60


def test_pipelines_are_plain_and_share_no_object():
    measure = measuring()
    train, valid = measure.splits[0]
    one = measure.trial(chosen(scaler=("StandardScaler", {})), train, valid).pipeline
    other = measure.trial(chosen(scaler=("StandardScaler", {})), train, valid).pipeline
    assert type(one) is Pipeline
    assert [name for name, _ in one.steps] == [
        "prepare",
        "scaler",
        "transformer",
        "selector",
        "estimator",
    ]
    assert one.named_steps["scaler"] is not other.named_steps["scaler"]
    assert not np.shares_memory(one.named_steps["scaler"].mean_, other.named_steps["scaler"].mean_)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_another_threshold_does_not_fit_the_model_again(monkeypatch):
    fits = []
    plain_fit = LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda *args, **named: fits.append(1) or plain_fit(*args, **named),
    )
    space = with_threshold(OWN)
    rates = (metrics.false_positive_rate(), metrics.train_seconds())
    measure, alone = measuring(*rates), measuring(rates[0], cache_megabytes=0)

    def at(odds):
        return space.configuration(
            dict(own(C=1.0)) | {"threshold": ("Threshold", {"log_odds": odds})}
        )

    found = [measure(at(odds)) for odds in (-1.0, 0.0, 1.0)]
    assert len(fits) == 2, "once in each fold"
    name = rates[0].name
    assert [f[name] for f in found] == [alone(at(odds))[name] for odds in (-1.0, 0.0, 1.0)]
    assert len({f["train_seconds"] for f in found}) == 1


def test_memory_stays_within_its_bound_and_what_was_used_lately_is_kept():
    bound = 0.5
    measure = measuring(cache_megabytes=bound)
    for configuration in some_pipelines(40):
        outcome(measure, configuration)
        assert measure.prefixes.megabytes <= bound
    assert len(measure.prefixes) > 0


def test_the_least_recently_used_goes_first():
    measure = measuring()
    measure(own("StandardScaler"))
    ((kept, weight), *_) = measure.prefixes._kept.values()
    prefixes = Prefixes(8.5 * weight)
    for key in "abcdefgahia":
        prefixes.recall(key, lambda: kept)
    assert list(prefixes._kept) == list("cdefghia")
    assert prefixes.megabytes == pytest.approx(8 * weight)


def test_what_is_too_large_or_cannot_be_weighed_is_not_kept():
    tiny = measuring(cache_megabytes=1e-6)
    assert tiny(own()) == measuring(cache_megabytes=0)(own())
    assert len(tiny.prefixes) == 0


def test_lower_fidelity_and_other_folds_share_nothing():
    measure, alone = measuring(), measuring(cache_megabytes=0)
    assert measure(own(), 0.5) == alone(own(), 0.5)
    assert measure(own()) == alone(own())


def test_a_pickled_measure_begins_empty():
    measure = measuring()
    fresh = len(pickle.dumps(measure))
    measure(own())
    again = pickle.loads(pickle.dumps(measure))
    assert len(measure.prefixes) > 0
    assert len(again.prefixes) == 0
    assert len(pickle.dumps(measure)) < fresh + 5000, "its folds, and no prefix"


class Counted(CrossValidation):
    """Tells how many prefixes its process keeps."""

    def __call__(self, configuration, fidelity=1.0, incumbent=None):
        kept = float(len(self.prefixes))
        found = super().__call__(configuration, fidelity, incumbent)
        return replace(found, metrics=found.metrics | {"kept": kept})


def test_a_worker_keeps_its_prefixes_from_task_to_task():
    measure = Counted(TABLE, {LOSS.name: LOSS}, (), preparation(X), 2)
    engine = Local(1)
    try:
        result = minimize(Problem(OWN_PLAIN, measure, LOSS.name), evaluations=3, engine=engine)
    finally:
        engine.close()
    assert [e.status for e in result.evaluations] == ["ok"] * 3
    assert result.evaluations[0].metrics["kept"] == 0
    assert result.evaluations[-1].metrics["kept"] > 0


OWN_PLAIN = Space([OWN.modules[-1]])


@pytest.mark.parametrize("megabytes", [-1, float("nan")])
def test_a_bound_that_makes_no_sense_is_refused(megabytes):
    with pytest.raises(DefinitionError, match="cache_megabytes"):
        measuring(cache_megabytes=megabytes)

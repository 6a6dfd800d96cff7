import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from fenceline import Problem, metrics, minimize
from fenceline.errors import DefinitionError, MeasurementError
from fenceline.metrics import Table
from fenceline.metrics.trial import Trial
from fenceline.pipelines import CrossValidation, drop, named_space, only, preparation
from fenceline.pipelines.fit_time import growth
from fenceline.pipelines.fitting import prefix
from fenceline.pipelines.fold_votes import fitting
from fenceline.problem.configuration import Choice
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.parameter import Categorical, Integer, Real
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(240, 5, random_state=0)
BAND = np.where(X[:, 0] > 0, "old", "young")
TABLE = Table(X, Y, "binary", {"band": BAND})
SPACE = Space(
    [Module("estimator", [Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)})])]
)
ONE = SPACE.configuration({"estimator": ("LogisticRegression", {"C": 1.0})})


def measuring(*given, constraints=(), table=TABLE, **settings):
    chosen = {m.name: m for m in given}
    return CrossValidation(table, chosen, constraints, preparation(table.X), **settings)


def test_values_are_those_of_scikit_learns_own_cross_validation():
    measure = measuring(metrics.loss("roc_auc"))
    expected = []
    for train, valid in StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y):
        model = LogisticRegression(C=1.0, max_iter=500).fit(X[train], Y[train])
        expected.append(1 - roc_auc_score(Y[valid], model.predict_proba(X[valid])[:, 1]))
    found = measure(ONE)
    spread = found.spreads["loss(roc_auc)"]
    assert spread.parts == pytest.approx(expected)
    assert found["loss(roc_auc)"] == pytest.approx(np.mean(expected))
    assert spread.error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3))
    assert found["folds"] == 3


def test_groups_are_averaged_over_folds_before_they_are_compared():
    gap = metrics.score_gap("roc_auc", "band")
    found = measuring(gap)(ONE)
    assert found[gap.name] <= np.mean(found.spreads[gap.name].parts) + 1e-12


def test_every_fold_holds_its_share_of_classes_and_groups():
    measure = measuring(metrics.score_gap("roc_auc", "band"))
    cells = np.char.add(BAND, Y.astype(str))
    for _, valid in measure.splits:
        counts = np.unique(cells[valid], return_counts=True)[1] * 3
        assert np.allclose(counts, np.unique(cells, return_counts=True)[1], atol=3)


def test_the_same_configuration_is_measured_alike_after_pickling():
    measure = measuring(metrics.loss("roc_auc"), metrics.false_positive_rate())
    assert pickle.loads(pickle.dumps(measure))(ONE) == measure(ONE)


def test_a_pipeline_too_large_for_its_bound_stops_after_the_first_fold():
    size = metrics.size_mb()
    measure = measuring(metrics.loss("roc_auc"), size, constraints=[size <= 1e-6])
    found = measure(ONE)
    assert found["folds"] == 1
    assert found.spreads["loss(roc_auc)"].parts == (found["loss(roc_auc)"],)


def test_a_pipeline_near_its_bound_is_measured_in_full():
    size = metrics.size_mb()
    value = measuring(size)(ONE)["size_mb"]
    measure = measuring(metrics.loss("roc_auc"), size, constraints=[size <= 0.95 * value])
    assert measure(ONE)["folds"] == 3


def test_folds_that_would_end_too_late_are_left_out_and_the_first_is_kept():
    hasty = measuring(metrics.loss("roc_auc"), fold_seconds=1e-9)
    found, all_folds = hasty(ONE), measuring(metrics.loss("roc_auc"), fold_seconds=60.0)(ONE)
    assert (found["folds"], all_folds["folds"]) == (1, 3)
    assert found["loss(roc_auc)"] == all_folds.spreads["loss(roc_auc)"].parts[0]
    assert (hasty.parts, measuring(metrics.loss("roc_auc")).parts) == (3, 1)


@pytest.mark.parametrize(
    ("fits_after", "folds", "measured", "seconds"),
    # A fold of three is fitted on two thirds of the rows, the last fit on all.
    [(True, 3, 3.0, 1.5), (True, 3, 1.0, 4.5), (True, 0.3, 1.0, 6.0), (False, 3, 3.0, 0.0)],
)
def test_a_search_is_told_what_the_last_fit_of_its_best_takes(fits_after, folds, measured, seconds):
    measure = measuring(folds=folds, fits_after=fits_after)
    best = Evaluation(ONE, {"folds": measured}, 0.5, 0.0, seconds=3.0)
    assert measure.seconds_after(best) == pytest.approx(seconds)


def test_a_share_is_held_out_once():
    measure = measuring(metrics.loss("accuracy"), folds=0.25)
    ((train, valid),) = measure.splits
    assert len(valid) == 60
    assert not set(train) & set(valid)
    assert measure(ONE)["folds"] == 1


def test_latency_comes_with_its_quantile_and_error():
    found = measuring(metrics.latency_us(batch=100))(ONE)
    name = "latency_us(batch=100)"
    assert found[f"{name}/p95"] >= found[name] > 0
    assert found.spreads[name].error == found.errors[name] > 0


def test_training_time_is_measured():
    assert measuring(metrics.train_seconds())(ONE)["train_seconds"] > 0


def test_warnings_are_counted_and_kept_quiet():
    space = named_space("paper")
    chosen = space.configuration(
        {m.name: (m.algorithms[0].name, {}) for m in space.modules}
        | {"selector": ("SelectFwe", {"alpha": 0.01})}
    )
    noise = Table(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2, "binary")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MeasurementError, match="dropped every column"):
            measuring(metrics.loss("roc_auc"), table=noise)(chosen)
        constant = Table(np.column_stack([X, np.zeros(len(X))]), Y, "binary")
        found = measuring(metrics.loss("roc_auc"), table=constant)(
            space.configuration(dict(chosen) | {"selector": ("SelectKBest", {"k": 3})})
        )
    assert found["warnings"] >= 3


def test_a_look_has_one_fold_and_keeps_to_its_first_split():
    measure = measuring(metrics.loss("roc_auc"))
    looked = measure(ONE, fidelity=0.8)
    assert looked["folds"] == 1
    train, valid = measure._part(0.8)
    assert set(train) < set(measure.splits[0][0])
    assert set(valid) == set(measure.splits[0][1])


def test_looks_are_offered_only_where_rows_are_many():
    assert measuring(metrics.loss("roc_auc")).fidelities == ()
    many = Table(np.zeros((30_000, 1)), np.arange(30_000) % 2, "binary")
    assert measuring(metrics.loss("roc_auc"), table=many).fidelities == (0.125, 0.5)
    assert Problem(
        SPACE, measuring(metrics.loss("roc_auc"), table=many), "loss(roc_auc)"
    ).fidelities


def test_a_look_at_a_rare_class_takes_more_rows():
    rare = Table(np.zeros((30_000, 1)), (np.arange(30_000) % 10 == 0).astype(int), "binary")
    assert measuring(metrics.loss("roc_auc"), table=rare).fidelities == (0.3472,)


def test_where_rows_are_many_boosters_stop_early_and_looks_do_as_full_measurements():
    boosters = [Algorithm("HistGradientBoosting", {"max_iter": Integer(300, 301)})]
    booster = Space([Module("estimator", boosters)]).initial
    rng = np.random.default_rng(0)
    many = Table(rng.normal(size=(6_000, 2)), rng.integers(2, size=6_000), "binary")
    alone = Table(many.X, np.r_[np.full(10, 2), many.y[10:]], "multiclass")

    def trees(table, rows):
        measure = measuring(metrics.loss("accuracy"), table=table)
        train, valid = measure.splits[0]
        return measure.trial(booster, train[-rows:], valid).pipeline[-1].n_iter_

    assert trees(many, 4_000) < 100
    assert trees(many, 1_000) < 100  # a look
    assert trees(alone, 4_000) == 300  # too few of a class to keep some aside


BOOSTER = Space(
    [
        Module(
            "estimator",
            [
                Algorithm(
                    "HistGradientBoosting",
                    {"max_iter": Integer(200, 201), "early_stopping": Categorical([True, False])},
                )
            ],
        )
    ]
)


@pytest.mark.parametrize("stops", [True, False])
def test_the_last_fit_has_as_many_trees_as_the_folds_had(stops):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)
    params = {"max_iter": 200, "early_stopping": stops}
    chosen = BOOSTER.configuration({"estimator": ("HistGradientBoosting", params)})
    measure = measuring(metrics.loss("roc_auc"), table=Table(X, y, "binary"))
    measured = measure(chosen)
    assert ("stopped_after" in measured.metrics) is stops
    trees = measured.metrics.get("stopped_after")
    rows = np.arange(900)
    last = measure.trial(chosen, rows, rows[:0], trees).pipeline[-1]
    assert last.n_iter_ == (round(trees) if stops else 200)
    assert last.n_iter_ < 100 or not stops
    assert not last.do_early_stopping_  # no row is kept aside


@pytest.mark.parametrize("stops", [True, False])
def test_a_booster_that_takes_too_long_has_fewer_trees_in_folds_looks_and_votes(stops, monkeypatch):
    asked = []

    def seven(model, X, y, weights, seconds, outputs):
        asked.append((len(X), seconds))
        return 7

    monkeypatch.setattr(prefix, "affordable", seven)
    X = np.random.default_rng(0).normal(size=(900, 3))
    table = Table(X, (X[:, 0] > 0).astype(int), "binary")
    params = {"max_iter": 200, "early_stopping": stops}
    chosen = BOOSTER.configuration({"estimator": ("HistGradientBoosting", params)})
    unlimited = measuring(metrics.loss("roc_auc"), table=table)
    unlimited(chosen)
    assert asked == []
    measure = replace(unlimited, fold_seconds=8.0)
    trees = measure(chosen).metrics["stopped_after"]
    assert trees == 7
    assert measure(chosen, fidelity=0.5).metrics["stopped_after"] == 7
    (rows, seconds), *_, (fewer, less) = asked
    assert (rows, seconds) == (600, 6.0)
    assert fewer < rows
    assert 3.0 < less < 6.0
    votes = fitting(measure, table, np.arange(900), votes=True)
    fits = votes.trial(chosen, np.arange(900), np.arange(0)).pipeline.estimators_
    assert [fit[-1].n_iter_ for fit in fits] == [7, 7, 7]
    last = measure.trial(chosen, np.arange(900), np.arange(0), trees).pipeline[-1]
    assert last.n_iter_ == 7
    assert not last.do_early_stopping_


def test_boosters_of_a_fixed_number_of_trees_grow_slowest_with_the_rows():
    measure = measuring(metrics.score("roc_auc"))
    space = named_space("default", "binary")
    grows = {
        algorithm.name: measure.growth(
            space.configuration(
                {
                    "scaler": ("none", {}),
                    "selector": ("none", {}),
                    "estimator": (algorithm.name, algorithm.start),
                }
            )
        )
        for algorithm in space.modules[-1].algorithms
    }
    assert grows["RandomForest"] > grows["HistGradientBoosting"] > grows["KNeighbors"]
    assert grows.get("XGBoost", 0.3) == 0.3
    if "LightGBM" in grows:
        assert grows["LightGBM"] == grows["HistGradientBoosting"]  # both stop early at their starts
        assert growth({"estimator": Choice("LightGBM", {"early_stopping": False})}) == 0.3


def test_lower_fidelity_fits_on_fewer_rows():
    measure = measuring(metrics.loss("roc_auc"))
    assert measure(ONE, fidelity=0.2)["loss(roc_auc)"] != measure(ONE)["loss(roc_auc)"]
    with pytest.raises(MeasurementError, match="fidelity"):
        measure(ONE, fidelity=0.0)


def test_preparation_is_fitted_within_folds():
    # A value that only validation rows have must not become a column.
    town = np.where(np.arange(len(Y)) % 3 == 0, "a", "b").astype(object)
    frame = pd.DataFrame({"x": X[:, 0], "town": town})
    measure = measuring(metrics.loss("roc_auc"), table=Table(frame, Y, "binary"))
    train, valid = measure.splits[0]
    frame.loc[valid[:5], "town"] = "only here"
    fitted = measure.trial(ONE, train, valid).pipeline
    assert "only here" not in " ".join(fitted[0].get_feature_names_out())


def test_a_metric_of_another_task_is_refused_before_any_time_is_spent():
    table = Table(X, np.arange(len(Y)) % 3, "multiclass")
    with pytest.raises(DefinitionError, match="binary; this one is multiclass"):
        measuring(metrics.false_positive_rate(), table=table)


@pytest.mark.parametrize("folds", [1, 0, True, 1.5, "3", None])
def test_folds_out_of_range_are_refused(folds):
    with pytest.raises(DefinitionError, match="cv must be"):
        measuring(metrics.loss("roc_auc"), folds=folds)


def test_a_run_over_real_pipelines_records_failures_as_data():
    space = drop(
        only(named_space("default"), "estimator", "LogisticRegression", "DecisionTree"), "selector"
    )
    fence = [metrics.false_positive_rate() <= 0.5]
    measure = measuring(metrics.loss("roc_auc"), metrics.false_positive_rate(), constraints=fence)
    result = minimize(Problem(space, measure, "loss(roc_auc)", fence), evaluations=6, seed=0)
    assert result.best is not None
    assert all(e.ok for e in result.evaluations)


class TestModelsStopAsTheyWereMeasured:
    """Whether a booster keeps rows aside is decided by the folds of the search, wherever it is fitted."""

    BOOSTER = Space(
        [Module("estimator", [Algorithm("HistGradientBoosting", {"max_iter": Integer(2, 9)})])]
    )

    @staticmethod
    def stops(trial):
        model = trial.pipeline[-1]
        return bool(getattr(model, "do_early_stopping_", False))

    @pytest.mark.parametrize("votes", [False, True])
    @pytest.mark.parametrize(
        ("rows", "searched", "expected"),
        [(4000, 4000, False), (6000, 3600, False), (9000, 5000, True)],
    )
    def test_more_rows_than_a_fold_has_change_nothing(self, rows, searched, expected, votes):
        inputs, labels = make_classification(rows, 4, random_state=0)
        table, search = Table(inputs, labels, "binary"), np.arange(searched)
        measure = measuring(metrics.loss("roc_auc"), table=table.take(search))
        whole = fitting(measure, table, search, votes)
        measured = self.stops(measure.trial(self.BOOSTER.initial, *measure.splits[0]))
        fitted = whole.trial(self.BOOSTER.initial, search, search[:10])
        model = fitted.pipeline
        members = [Trial(m, table, search[:10]) for m in model.estimators_] if votes else [fitted]
        assert measured is expected
        assert [self.stops(one) for one in members] == [expected] * len(members)

    def test_a_class_that_is_rare_in_the_folds_is_rare_in_the_last_fit(self):
        labels = (np.arange(600) < 24).astype(int)  # 16 in a fold, 24 in all
        table = Table(np.random.default_rng(0).normal(size=(600, 3)), labels, "binary")
        space = Space(
            [
                Module(
                    "estimator",
                    [
                        Algorithm(
                            "HistGradientBoosting", {"early_stopping": Categorical([True, False])}
                        )
                    ],
                )
            ]
        )
        chosen = space.configuration(
            {"estimator": ("HistGradientBoosting", {"early_stopping": True})}
        )
        measure = measuring(metrics.loss("roc_auc"), table=table)
        every = np.arange(600)
        assert not self.stops(measure.trial(chosen, *measure.splits[0]))
        assert not self.stops(
            fitting(measure, table, every, False).trial(chosen, every, every[:10])
        )

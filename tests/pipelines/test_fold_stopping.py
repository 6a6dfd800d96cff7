"""Measurements that stop before their last fold, and what a run makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from fenceline import ADMM, Problem, metrics, minimize
from fenceline.baselines import RandomSearch
from fenceline.evaluation.incumbent import Incumbent
from fenceline.metrics import Table
from fenceline.metrics.metric import Reading
from fenceline.metrics.trial import Trial
from fenceline.pipelines import CrossValidation, drop, named_space, only, preparation
from fenceline.pipelines.fold_stopping import PARTS, blocks, ease, surely_beaten
from fenceline.problem.measurement import Spread
from fenceline.problem.parameter import Real
from fenceline.problem.problem import takes
from fenceline.problem.space import Algorithm, Module, Space

X, Y = make_classification(600, 6, n_informative=4, class_sep=1.5, random_state=0)
LOSS = metrics.loss("roc_auc")
GOOD = ("LogisticRegression", {"C": 1.0})
BAD = ("DecisionTree", {"min_weight_fraction_leaf": 0.49})
SPACE = Space(
    [
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)}),
                Algorithm("DecisionTree", {"min_weight_fraction_leaf": Real(0.0, 0.5)}),
            ],
        )
    ]
)


def configured(choice):
    return SPACE.configuration({"estimator": choice})


def measuring(*given, constraints=(), folds=5):
    chosen = {m.name: m for m in (LOSS, *given)}
    return CrossValidation(Table(X, Y, "binary"), chosen, constraints, preparation(X), folds)


def rival(*folds, parts=()):
    whole = {"loss": float(np.mean(folds))}
    return Incumbent("loss", whole, {"loss": Spread(None, folds)}, parts)


def incumbent(measured, objective=LOSS.name):
    return Incumbent(objective, measured.metrics, measured.spreads)


def seen(*values):
    return [Reading(np.array([1.0 - value])) for value in values]


class Scores(ClassifierMixin, BaseEstimator):
    """A fitted model that has seen every row's score."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def scored_trial(truth, scores):
    rows = np.arange(len(truth))
    return Trial(Scores(), Table(scores[:, None], truth, "binary"), rows)


def test_a_pipeline_far_behind_the_incumbent_stops_early_and_shows_what_it_was_measured_on():
    measure = measuring()
    best = measure(configured(GOOD))
    whole = measure(configured(BAD))
    part = measure(configured(BAD), incumbent=incumbent(best))
    assert 1 <= part["folds"] < whole["folds"] == 5
    folds = part.spreads[LOSS.name].parts
    assert len(folds) == part["folds"]
    assert folds == whole.spreads[LOSS.name].parts[: len(folds)]
    theirs = best.spreads[LOSS.name].parts
    behind = np.mean(folds) - np.mean(theirs[: len(folds)])
    assert part[LOSS.name] == pytest.approx(best[LOSS.name] + behind)
    assert part[LOSS.name] > best[LOSS.name]


def test_an_easy_fold_makes_nobody_the_best():
    assert ease(rival(0.10, 0.20, 0.30), folds=1) == pytest.approx(0.10)
    assert ease(rival(0.10, 0.20, 0.30), folds=3) == 0.0
    # The incumbent itself had no time for more: its value holds what was known of its fold.
    assert ease(Incumbent("loss", {"loss": 0.2}, {"loss": Spread(None, (0.1,))}), 1) == 0.0
    assert ease(Incumbent("loss", {"loss": 0.2}, {}), 1) == 0.0


def test_slow_pipelines_are_compared_on_the_folds_that_they_had():
    measure = measuring()
    best = measure(configured(GOOD))
    slow = replace(measure, fold_seconds=1e-6)(configured(GOOD), incumbent=incumbent(best))
    assert slow["folds"] == 1
    assert slow[LOSS.name] == pytest.approx(best[LOSS.name])
    assert slow.spreads[LOSS.name].parts != pytest.approx([best[LOSS.name]])


def test_the_incumbent_itself_and_its_equals_are_measured_in_full():
    measure = measuring()
    best = measure(configured(GOOD))
    assert measure(configured(GOOD), incumbent=incumbent(best)) == best
    near = ("LogisticRegression", {"C": 0.5})
    assert measure(configured(near), incumbent=incumbent(best))["folds"] == 5


@pytest.mark.parametrize(
    ("folds", "values", "stops"),
    [
        ((0.10, 0.11, 0.12), (0.30,), True),
        ((0.10, 0.11, 0.12), (0.14,), False),  # within what folds differ by
        ((0.10, 0.30, 0.32), (0.20,), False),  # worse on that fold, yet below the incumbent
        ((0.10, 0.10, 0.10), (0.105,), False),  # sure, but too little to matter
        ((0.10, 0.11, 0.12), (0.30, 0.12), False),  # the second fold takes the first one back
        ((0.10, 0.11, 0.12), (0.30, 0.31, 0.32), False),  # nothing is left to save
    ],
)
def test_only_what_is_surely_worse_stops(folds, values, stops):
    assert surely_beaten(LOSS, seen(*values), rival(*folds)) is stops


def test_equal_pipelines_are_hardly_ever_stopped():
    rng = np.random.default_rng(0)
    stopped = 0
    for _ in range(2000):
        hard = rng.normal(0.0, 0.02, 5)
        theirs, ours = (0.2 + hard + rng.normal(0.0, 0.01, 5) for _ in range(2))
        readings = seen(*ours)
        stopped += any(surely_beaten(LOSS, readings[:k], rival(*theirs)) for k in (1, 2, 3, 4))
    assert stopped < 20


def around(value, spread, seed=0):
    """Return parts of a fold that differ as the rows do, whatever the pipeline."""
    return tuple(value + spread * np.random.default_rng(seed).standard_normal(PARTS))


@pytest.mark.parametrize(
    ("values", "stops"),
    [((0.13,), True), ((0.1005,), False), ((0.10, 0.14), True), ((0.12, 0.1005), False)],
)
def test_where_parts_of_folds_are_compared_clear_losers_stop_sooner(values, stops):
    # With the folds alone, 7 of their spreads and a tenth of the loss: beyond .18.
    assert not surely_beaten(LOSS, seen(0.13), rival(0.10, 0.11, 0.12))
    best = rival(0.10, 0.11, 0.12, parts=[around(v, 0.03) for v in (0.10, 0.11, 0.12)])
    own = np.random.default_rng(1).normal(0.0, 0.004, (len(values), PARTS))
    parts = [np.add(around(v, 0.03), noise) for v, noise in zip(values, own, strict=True)]
    assert surely_beaten(LOSS, seen(*values), best, parts) is stops


def test_parts_that_are_not_known_of_both_in_every_fold_are_not_compared():
    parts = [around(0.13, 0.03)]
    assert not surely_beaten(LOSS, seen(0.13), rival(0.10, 0.11, 0.12), parts)
    assert not surely_beaten(LOSS, seen(0.13), rival(0.10, 0.11, 0.12, parts=[()]), parts)
    best = rival(0.10, 0.11, 0.12, parts=[around(0.10, 0.03)])
    assert surely_beaten(LOSS, seen(0.13), best, parts)
    assert not surely_beaten(LOSS, seen(0.13, 0.14), best, [*parts, around(0.14, 0.03)])


def test_parts_of_a_fold_are_the_same_rows_for_every_pipeline_and_together_as_hard_as_the_fold():
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.3).astype(int)
    scores = rng.normal(size=2000) + truth
    found = blocks(LOSS, scored_trial(truth, scores))
    assert found == blocks(LOSS, scored_trial(truth, 2 * scores))
    assert np.mean(found) == pytest.approx(LOSS.value(scored_trial(truth, scores)), abs=0.01)


def test_a_metric_that_is_no_score_is_not_read_ten_times_more():
    truth = np.arange(1000) % 2
    trial = scored_trial(truth, truth + 0.0)
    assert blocks(metrics.robustness("accuracy"), trial) == ()
    assert len(blocks(metrics.loss("roc_auc"), trial)) == PARTS


def test_few_rows_have_no_parts():
    truth = np.arange(400) % 2
    assert blocks(LOSS, scored_trial(truth, truth + 0.0)) == ()
    rare = (np.arange(1000) < 15).astype(int)
    assert blocks(LOSS, scored_trial(rare, rare + 0.0)) == ()


def test_equal_pipelines_are_seldom_stopped_where_parts_are_compared():
    rng = np.random.default_rng(0)
    stopped = 0
    for _ in range(100):
        folds, ours, theirs, mine = [], [], [], []
        for _ in range(3):
            truth = (rng.random(600) < 0.3).astype(int)
            shared = rng.normal(size=600)
            one, other = (
                scored_trial(truth, 1.5 * truth + shared + rng.normal(size=600)) for _ in range(2)
            )
            folds.append(LOSS.value(other))
            ours.append(LOSS.value(one))
            theirs.append(blocks(LOSS, other))
            mine.append(blocks(LOSS, one))
        readings, best = seen(*ours), rival(*folds, parts=theirs)
        stopped += any(surely_beaten(LOSS, readings[:k], best, mine[:k]) for k in (1, 2))
    assert stopped <= 10


def test_an_incumbent_without_folds_stops_nothing():
    assert not surely_beaten(LOSS, seen(0.9), Incumbent("loss", {"loss": 0.1}))


def test_an_objective_that_one_fold_tells_stops_nothing():
    size = metrics.size_mb()
    measure = measuring(size)
    best = measure(configured(GOOD))
    smaller = replace(best, metrics=best.metrics | {"size_mb": best["size_mb"] / 100})
    bound = incumbent(smaller, "size_mb")
    assert measure(configured(GOOD), incumbent=bound)["folds"] == 5


def problem():
    space = drop(
        only(named_space("default"), "estimator", "LogisticRegression", "DecisionTree"), "selector"
    )
    return Problem(space, measuring(), LOSS.name)


class Full:
    """Measures everything in full."""

    def __init__(self, measure):
        self.measure = measure

    def __call__(self, configuration):
        return self.measure(configuration)


def test_a_run_stops_the_hopeless_and_finds_the_same_best_pipeline():
    thrifty = problem()
    assert takes(thrifty.measure, "incumbent")
    settings = {"evaluations": 25, "algorithm": RandomSearch(), "seed": 1}
    found = minimize(thrifty, **settings)
    whole = minimize(Problem(thrifty.space, Full(thrifty.measure), LOSS.name), **settings)
    assert [e.configuration for e in found.evaluations] == [
        e.configuration for e in whole.evaluations
    ]
    folds = [e.metrics["folds"] for e in found.evaluations]
    assert min(folds) < 5
    assert {e.metrics["folds"] for e in whole.evaluations} == {5}
    assert found.best.metrics == whole.best.metrics
    assert np.array_equal(found.trajectory, whole.trajectory)


@pytest.mark.parametrize("first", [1, 6, 11])
def test_a_resumed_run_stops_what_an_uninterrupted_one_stops(tmp_path, first):
    settings = {"algorithm": ADMM(), "seed": 3}
    whole = minimize(problem(), evaluations=14, **settings)
    minimize(problem(), evaluations=first, run_dir=tmp_path, **settings)
    resumed = minimize(problem(), evaluations=14, run_dir=tmp_path, **settings)
    assert [e.metrics for e in resumed.evaluations] == [e.metrics for e in whole.evaluations]
    assert min(e.metrics["folds"] for e in whole.evaluations) < 5


def test_a_measure_that_does_not_ask_is_called_with_the_configuration_alone():
    assert not takes(Full(None), "incumbent")
    assert not takes(lambda configuration, fidelity=1.0: {}, "incumbent")
    assert not takes(max, "incumbent")


def test_what_keeps_farther_inside_is_measured_in_full_though_it_is_beaten():
    gap = metrics.score_gap("roc_auc", "half")
    table = Table(X, Y, "binary", {"half": X[:, 0] > 0})
    chosen = {m.name: m for m in (LOSS, gap)}
    measure = CrossValidation(table, chosen, [gap <= 0.9], preparation(X), 5)
    best = measure(configured(GOOD))
    tight = replace(best, spreads=best.spreads | {gap.name: Spread(None, (0.9,) * 5)})
    aloof = measure(configured(BAD), incumbent=incumbent(tight))
    roomy = replace(best, spreads=best.spreads | {gap.name: Spread(None, (0.0,) * 5)})
    dominated = measure(configured(BAD), incumbent=incumbent(roomy))
    assert aloof["folds"] == 5
    assert dominated["folds"] < 5

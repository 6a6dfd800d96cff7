import math
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import make_friedman1
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import FixedThresholdClassifier

from fenceline import FencelineClassifier, FencelineRegressor, Integer, load, metrics
from fenceline.errors import DefinitionError
from fenceline.evaluation import Outcome
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.ensemble import assemble
from fenceline.pipelines.fitting.thresholds import with_threshold
from fenceline.problem.parameter import Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

rng = np.random.default_rng(1)
X = rng.normal(size=(240, 6))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=240) > 0.8, "yes", "no")
SPACE = Space(
    [
        Module("scaler", [Algorithm("StandardScaler")]),
        Module(
            "estimator",
            [
                Algorithm("LogisticRegression", {"C": Real(0.01, 100, log=True)}),
                Algorithm("DecisionTree", {"max_depth": Integer(2, 6)}),
                Algorithm("GaussianNB"),
                Algorithm("KNeighbors", {"n_neighbors": Integer(3, 30)}),
            ],
        ),
    ]
)


def measured(space=SPACE, constraints=(), y=Y, task="binary", objective="loss(roc_auc)", count=8):
    """Measure some configurations as a search would."""
    fence = list(constraints)
    known = {m.name: m for m in map(metrics.as_metric, [metrics.parse(objective), *fence])}
    cv = CrossValidation(metrics.Table(X, y, task), known, fence, folds=2)
    problem = Problem(space, cv, objective, fence)
    draws = np.random.default_rng(0)
    evaluations = []
    for configuration in {space.sample(draws) for _ in range(count)}:
        ended = Outcome("ok", seconds=0.1)
        evaluations.append(problem.evaluation(configuration, ended, cv(configuration)))
    return problem, cv, evaluations


def best(evaluations):
    return min((e.objective for e in evaluations if e.feasible), default=math.inf)


def test_an_ensemble_is_better_than_the_best_of_its_members_on_the_same_folds():
    problem, cv, evaluations = measured()
    found = assemble(problem, cv, evaluations, 6, math.inf)
    assert len(set(found.members)) > 1
    assert len(found.members) <= 6
    assert found.metrics["loss(roc_auc)"] < best(evaluations)
    trial = found.fit(cv, *cv.splits[0])
    assert type(trial.pipeline) is VotingClassifier
    assert trial.pipeline.classes_.tolist() == ["no", "yes"]
    assert set(trial.pipeline.predict(X)) == {"no", "yes"}
    # The mean over folds of what the voter itself is worth.
    values = [cv.metrics["loss(roc_auc)"].value(found.fit(cv, *split)) for split in cv.splits]
    assert np.mean(values) == pytest.approx(found.metrics["loss(roc_auc)"], abs=1e-12)


def test_probabilities_are_the_mean_of_the_votes():
    problem, cv, evaluations = measured()
    found = assemble(problem, cv, evaluations, 6, math.inf)
    train, valid = cv.splits[0]
    single = [cv.trial(m, train, valid).pipeline.predict_proba(X) for m in found.members]
    voted = found.fit(cv, train, valid).pipeline.predict_proba(X)
    assert np.allclose(voted, np.mean(single, axis=0))


def test_other_learners_are_asked_although_the_best_are_all_alike():
    problem, cv, evaluations = measured(count=60)
    by_learner = {}
    for e in sorted(evaluations, key=lambda e: e.objective):
        by_learner.setdefault(e.configuration["estimator"].algorithm, []).append(e)
    alike = by_learner["LogisticRegression"]
    assert len(alike) > 8
    first = [replace(e, objective=alike[0].objective + 1e-9 * i) for i, e in enumerate(alike)]
    last = replace(by_learner["GaussianNB"][0], objective=1.0)
    found = assemble(problem, cv, [*first, last], 4, math.inf)
    assert last.configuration in found.members


def test_a_fence_that_no_two_pipelines_keep_to_together_leaves_one():
    _, _, evaluations = measured(constraints=[metrics.size_mb() <= 1])
    largest = max(e.metrics["size_mb"] for e in evaluations)
    evaluations = [e for e in evaluations if 2 * e.metrics["size_mb"] > 1.01 * largest]
    found = {}
    for bound in (1.01 * largest, 1.0):
        problem, cv, _ = measured(constraints=[metrics.size_mb() <= bound], count=1)
        found[bound] = assemble(problem, cv, evaluations, 6, math.inf)
    assert found[1.01 * largest] is None
    assert len(set(found[1.0].members)) > 1


def test_numbers_are_averaged():
    features, y = make_friedman1(240, 6, noise=0.5, random_state=0)
    models = [
        Algorithm("Ridge", {"alpha": Real(0.1, 10)}),
        Algorithm("DecisionTree", {"max_depth": Integer(3, 8)}),
        Algorithm("KNeighbors", {"n_neighbors": Integer(3, 30)}),
    ]
    space = Space([Module("scaler", [Algorithm("none")]), Module("estimator", models)])
    model = FencelineRegressor(
        space=space, evaluations=8, cv=2, ensemble=5, constraints=[metrics.size_mb() <= 5]
    ).fit(features, y)
    assert type(model.best_pipeline_) is VotingRegressor
    assert len(model.best_configuration_) <= 5
    assert model.best_metrics_["loss(r2)"] < model.result_.best.objective
    assert model.certificate_.status == "certified"
    assert model.predict(features).shape == y.shape


def test_a_voter_keeps_to_the_fence_as_a_whole_and_survives_a_file(tmp_path):
    town = np.random.default_rng(0).choice(["Oslo", "Bern"], 240)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(town=town)
    fence = [metrics.false_positive_rate() <= 0.4, metrics.score_gap("roc_auc", "town") <= 0.5]
    model = FencelineClassifier(
        objective="roc_auc", space=SPACE, evaluations=10, cv=2, ensemble=4, constraints=fence
    )
    model.fit(table, Y)
    # Error rates depend on decisions, so there is a threshold: computed for the vote as a whole.
    assert type(model.best_pipeline_) is FixedThresholdClassifier
    assert model.best_pipeline_.threshold == expit(model.best_metrics_["threshold"])
    assert type(model.best_pipeline_.estimator_) is VotingClassifier
    assert model.best_metrics_["false_positive_rate"] <= 0.4
    assert model.best_metrics_["loss(roc_auc)"] < model.result_.best.objective
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.best_configuration_ == model.best_configuration_


def test_members_are_chosen_by_what_they_are_worth_together_at_their_best_threshold():
    known = {m.name: m for m in (metrics.loss("balanced_accuracy"), metrics.false_positive_rate())}
    fence = [metrics.false_positive_rate() <= 0.3]
    cv = CrossValidation(
        metrics.Table(X, Y, "binary"), known, fence, folds=2, objective="loss(balanced_accuracy)"
    )
    problem = Problem(SPACE, cv, "loss(balanced_accuracy)", fence)
    draws = np.random.default_rng(0)
    evaluations = [
        problem.evaluation(configuration, Outcome("ok"), cv(configuration))
        for configuration in {SPACE.sample(draws) for _ in range(12)}
    ]
    voters = assemble(problem, cv, evaluations, 6, math.inf)
    assert voters is not None
    assert len(set(voters.members)) > 1
    assert voters.metrics["false_positive_rate"] <= 0.3
    assert voters.metrics[problem.objective] < best(evaluations)
    at = np.argmin(np.abs(voters.curve.log_odds - voters.threshold))
    assert voters.curve.values["false_positive_rate"][at] == pytest.approx(
        voters.metrics["false_positive_rate"], abs=1e-3
    )
    trial = voters.fit(cv, *cv.splits[0])
    assert trial.pipeline.threshold == expit(voters.threshold)


def test_thresholds_of_the_same_model_are_no_second_opinion():
    space = with_threshold(Space([Module("estimator", [Algorithm("GaussianNB")])]))
    problem, cv, evaluations = measured(space, objective="loss(balanced_accuracy)")
    assert len(evaluations) > 1
    assert assemble(problem, cv, evaluations, 6, math.inf) is None


def test_no_vote_makes_a_pipeline_smaller():
    problem, cv, evaluations = measured(objective="size_mb")
    assert assemble(problem, cv, evaluations, 6, math.inf) is None


def test_without_time_nothing_is_assembled():
    problem, cv, evaluations = measured()
    assert assemble(problem, cv, evaluations, 6, time.monotonic()) is None


def test_a_model_without_probabilities_has_no_vote():
    models = [Algorithm("sklearn.svm.LinearSVC", {"C": Real(0.1, 1)}), Algorithm("GaussianNB")]
    space = Space([Module("estimator", models)])
    problem, cv, evaluations = measured(space)
    found = assemble(problem, cv, evaluations, 6, math.inf)
    assert found is None


@pytest.mark.parametrize("votes", [0, None, 1])
def test_a_single_pipeline_is_the_default(votes):
    model = FencelineClassifier(space=SPACE, evaluations=4, cv=2, ensemble=votes).fit(X, Y)
    assert model.best_configuration_ == model.result_.best.configuration


@pytest.mark.parametrize("votes", [-1, True, 2.5, "many"])
def test_votes_that_make_no_sense_are_refused(votes):
    with pytest.raises(DefinitionError, match="ensemble must be"):
        FencelineClassifier(ensemble=votes).fit(X, Y)

"""Fits of the folds that vote: who they are, when they help, and what is said of them."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fenceline import FencelineClassifier, metrics
from fenceline.errors import DefinitionError
from fenceline.metrics import Table
from fenceline.pipelines import CrossValidation, preparation
from fenceline.pipelines.fold_votes import FoldVotes, fitting, voters, votes_help
from fenceline.problem.parameter import Real
from fenceline.problem.space import Algorithm, Module, Space
from fenceline.report.explain import explain

X, Y = make_classification(600, 5, n_informative=3, flip_y=0.2, random_state=0)
GROUP = np.where(X[:, 1] > 0, "a", "b")
TABLE = Table(X, Y, "binary", {"g": GROUP})
SPACE = Space([Module("estimator", [Algorithm("LogisticRegression", {"C": Real(0.1, 10.0)})])])
DPD = metrics.demographic_parity_difference("g") <= 0.4
FPR = metrics.false_positive_rate() <= 0.5
SIZE = metrics.size_mb() <= 1000.0


def measuring(*constraints, folds=3):
    known = {m.name: m for m in (DPD_METRIC, metrics.false_positive_rate(), metrics.size_mb())}
    return CrossValidation(TABLE.take(SEARCH), known, constraints, preparation(X), folds)


DPD_METRIC = metrics.demographic_parity_difference("g")
SEARCH, UNSEEN = np.arange(0, 400), np.arange(400, 600)


@pytest.mark.parametrize(
    ("constraints", "folds", "helps"),
    [
        ([DPD], 3, True),
        ([DPD, FPR], 3, True),
        ([FPR], 3, False),  # no groups are compared
        ([DPD, SIZE], 3, False),  # votes are larger
        ([DPD], 0.3, False),  # there is one fold
        ([], 3, False),
    ],
)
def test_votes_help_where_groups_are_compared_and_nothing_bounds_their_size(
    constraints, folds, helps
):
    assert votes_help(measuring(*constraints, folds=folds)) is helps


def test_every_fit_has_the_rows_of_one_fold_and_they_vote_with_equal_weight():
    measure = measuring(DPD)
    votes = fitting(measure, TABLE, SEARCH, None)
    assert isinstance(votes, FoldVotes)
    whole = votes.trial(SPACE.initial, SEARCH, UNSEEN)
    alone = [
        CrossValidation(TABLE, measure.metrics, (), preparation(X)).trial(
            SPACE.initial, SEARCH[train], UNSEEN
        )
        for train, _ in measure.splits
    ]
    expected = np.mean([t.pipeline.predict_proba(X[UNSEEN]) for t in alone], axis=0)
    np.testing.assert_allclose(whole.pipeline.predict_proba(X[UNSEEN]), expected)
    assert voters(whole.pipeline) == 3


def test_three_fits_take_as_long_as_the_folds_did():
    votes = fitting(measuring(DPD), TABLE, SEARCH, None)
    assert votes.seconds_of_fit(6.0, 3.0) == 6.0
    assert votes.seconds_of_fit(2.0, 1.0) == 6.0


def test_a_pipeline_without_probabilities_is_fitted_once():
    name = "sklearn.svm.LinearSVC"
    space = Space([Module("estimator", [Algorithm(name, {"C": Real(0.1, 10.0)})])])
    votes = fitting(measuring(DPD), TABLE, SEARCH, None)
    assert voters(votes.trial(space.initial, SEARCH, UNSEEN).pipeline) == 1


@pytest.mark.parametrize(("wanted", "fits"), [(None, 3), (True, 3), (False, 1)])
def test_an_estimator_delivers_the_vote_and_says_so(wanted, fits):
    model = FencelineClassifier(
        "balanced_accuracy", [DPD], SPACE, evaluations=3, fold_votes=wanted, on_infeasible="warn"
    )
    model.fit(X, Y, groups={"g": GROUP})
    assert voters(model.best_pipeline_) == fits
    assert ("fitted 3 times" in str(explain(model))) == (fits == 3)
    assert voters(model.to_sklearn()) == fits
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fold_votes": "yes"}, "fold_votes must be True, False or None"),
        ({"fold_votes": True, "ensemble": 5}, "leave out one of the two"),
        ({"fold_votes": True, "cv": 0.3}, "needs a number of folds"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_door(settings, message):
    with pytest.raises(DefinitionError, match=message):
        FencelineClassifier(evaluations=1, **settings).fit(X, Y)

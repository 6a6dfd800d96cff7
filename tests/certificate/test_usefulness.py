import math

import numpy as np
import pytest

from fenceline import FencelineClassifier, metrics
from fenceline.certificate.sequence import Option
from fenceline.certificate.usefulness import dummy_objective, useful
from fenceline.errors import InfeasibleError
from fenceline.estimator.fence import objective_metric
from fenceline.metrics import Table
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.ensemble import Candidate
from fenceline.problem.measurement import Spread
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
Y = (rng.random(400) < 0.3).astype(int)
GROUP = np.arange(400) % 2


def option(objective, se=0.0, merit=0.0, name="a"):
    candidate = Candidate((name,), {}, 1.0, spreads={"loss": Spread(se)})
    return Option(candidate, objective, 1.0, {}, None, merit)


def kept(options, dummy):
    problem = Problem(SPACE, lambda c: {}, "loss", [metrics.size_mb() <= 1])
    return [o.objective for o in useful(options, problem, dummy)]


def test_certainty_may_not_cost_more_than_two_thirds_of_what_the_best_gains():
    assert kept([option(0.2), option(0.39), option(0.41)], dummy=0.5) == [0.2, 0.39]


def test_what_beats_a_dummy_by_less_than_its_error_is_of_no_use():
    best = option(0.4, se=0.01)
    assert kept([best, option(0.41, se=0.08), option(0.42, se=0.09)], dummy=0.5) == [0.4, 0.41]
    assert kept([option(0.5), option(0.6)], dummy=0.5) == []


def test_nothing_is_of_use_where_chance_may_have_made_the_best():
    # One pipeline may be sqrt(2 ln 2) = 1.2 errors ahead, the best of ten 2.4, the best of twenty 2.7.
    assert kept([option(0.4, se=0.08)], dummy=0.5) == [0.4]
    assert kept([option(0.4, se=0.09)], dummy=0.5) == []
    many = [option(0.4, se=0.039, name=str(i)) for i in range(20)]
    assert kept(many[:10], dummy=0.5) == [0.4] * 10
    assert kept(many, dummy=0.5) == []


def test_where_no_dummy_is_inside_everything_is_of_use():
    assert kept([option(0.2), option(0.9)], dummy=math.inf) == [0.2, 0.9]


def test_thresholds_that_hardly_choose_anybody_are_of_no_use_where_the_objective_only_ranks():
    given = [option(0.2, merit=0.3), option(0.2, merit=0.44)]
    assert kept(given, dummy=0.5) == [0.2]


def test_where_every_threshold_is_worse_than_a_coin_nothing_is_of_use():
    assert kept([option(0.6, merit=0.55)], dummy=math.inf) == []
    assert kept([option(0.6, merit=0.55)], dummy=0.5) == []
    assert kept([], dummy=0.5) == []


def test_options_know_what_they_gain():
    problem = Problem(SPACE, lambda c: {}, "loss", [metrics.size_mb() <= 1])
    gains = [o.gain for o in useful([option(0.2), option(0.3)], problem, 0.5)]
    assert gains == pytest.approx([0.3, 0.2])
    # Without a dummy inside the best gains twice as much; where the objective ranks, what decides counts.
    assert [o.gain for o in useful([option(2.0), option(9.0)], problem, math.inf)] == [14.0, 7.0]
    assert [o.gain for o in useful([option(0.2, merit=0.3)], problem, 0.5)] == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("objective", "fence", "expected"),
    [
        ("balanced_accuracy", metrics.false_positive_rate() <= 0.5, 0.5),
        ("accuracy", metrics.false_positive_rate() <= 0.5, np.mean(Y)),
        ("precision", metrics.false_negative_rate() <= 0.2, 1 - np.mean(Y)),
        ("roc_auc", metrics.demographic_parity_difference("g") <= 0.1, 0.5),
        ("recall", metrics.score("precision") >= 0.5, math.inf),
    ],
)
def test_dummies_are_measured_like_pipelines_and_only_those_inside_count(
    objective, fence, expected
):
    loss = objective_metric(objective, "binary")
    known = {loss.name: loss, fence.metric: metrics.as_metric(fence)}
    measure = CrossValidation(Table(X, Y, "binary", {"g": GROUP}), known, [fence], folds=4)
    problem = Problem(SPACE, measure, loss.name, [fence])
    assert dummy_objective(measure, problem) == pytest.approx(expected, abs=0.01)


def test_a_coin_flip_is_not_delivered():
    fence = [metrics.demographic_parity_difference("g") <= 0.5]
    model = FencelineClassifier("balanced_accuracy", fence, "default", evaluations=3, cv=2)
    with pytest.raises(InfeasibleError, match="nothing useful inside the fence"):
        model.fit(X, Y, groups={"g": GROUP})
    assert model.result_.best is not None

import math
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from sleeper import Sleeper

from fenceline import FencelineClassifier, metrics
from fenceline.certificate.certify import Certificate, Check
from fenceline.certificate.finalists import Refit
from fenceline.errors import MeasurementError
from fenceline.metrics import Table, Trial
from fenceline.pipelines.ensemble import Candidate
from fenceline.problem.parameter import Real
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

rng = np.random.default_rng(0)
X = rng.normal(size=(160, 3))
Y = (X[:, 0] + 0.3 * rng.normal(size=160) > 0).astype(int)
FENCE = metrics.size_mb() <= 1


def space(*models):
    return Space([Module("scaler", [Algorithm("none")]), Module("estimator", list(models))])


def sleepy(seconds):
    return Algorithm("sleeper.Sleeper", {"seconds": Real(seconds, seconds)})


@dataclass
class Fits:
    """Stands for the measurement: every fit takes its place in a script."""

    script: list = field(default_factory=list)
    metrics = {"size_mb": metrics.size_mb()}  # noqa: RUF012
    random_state = 0
    table = Table(X, Y, "binary")

    def trial(self, configuration, train, valid):
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return Trial(step, self.table, valid)


def refit(script, verdicts, monkeypatch, deadline=math.inf):
    given = iter(verdicts)

    def certify(trial, constraints, *_, **__):
        step = next(given)
        if isinstance(step, BaseException):
            raise step
        verdict, value = step if isinstance(step, tuple) else (step, 0.5)
        return Certificate((Check(FENCE, value, -math.inf, value + 0.6, verdict),), 0.95, 40, 3)

    monkeypatch.setattr("fenceline.certificate.finalists.certify", certify)
    here = space(Algorithm("GaussianNB"))
    problem = Problem(here, lambda c: {}, "loss", [FENCE])
    rows = np.arange(160)
    return Refit(problem, Fits(script), rows[:120], rows[120:], 0.95, deadline)


def candidates(*seconds):
    here = space(sleepy(0.0))
    configuration = here.decode(here.first, here.centre)
    return [
        Candidate((configuration,), {"size_mb": 0.5, "nr": i}, s) for i, s in enumerate(seconds)
    ]


def test_the_first_candidate_that_is_certified_is_the_model(monkeypatch):
    stage = refit(["a", "b", "c"], ["feasible", "certified"], monkeypatch)
    best = stage.best(candidates(1, 1, 1))
    assert (best.trial.pipeline, best.certificate.status) == ("b", "certified")


def test_without_a_certificate_the_best_verdict_decides(monkeypatch):
    stage = refit(["a", "b", "c"], ["infeasible", "feasible", "infeasible"], monkeypatch)
    assert stage.best(candidates(1, 1, 1)).trial.pipeline == "b"


def test_of_equal_verdicts_the_one_with_most_room_is_the_model_by_all_rows_and_unseen_ones(
    monkeypatch,
):
    stage = refit(["a", "b", "c"], [("feasible", v) for v in (0.7, 0.8, 0.9)], monkeypatch)
    # The first is near the bound of 1 on the rows of the search, the third on the unseen ones.
    given = [
        Candidate(c.members, {"size_mb": size}, 1)
        for c, size in zip(candidates(1, 1, 1), (0.9, 0.8, 0.6), strict=True)
    ]
    assert stage.best(given).trial.pipeline == "b"


def test_a_candidate_that_cannot_be_fitted_makes_room_for_the_next(monkeypatch):
    stage = refit([RuntimeError("singular"), "b"], ["certified"], monkeypatch)
    assert stage.best(candidates(1, 1)).trial.pipeline == "b"


def test_those_that_follow_are_told_how_the_first_have_grown(monkeypatch):
    told = []

    def following(growth):
        told.append(growth)
        return candidates(1, 1)

    verdicts = [("infeasible", 1.2), "certified"]
    best = refit(["a", "b"], verdicts, monkeypatch).best(candidates(1), following)
    assert best.trial.pipeline == "b"
    assert told == [{"size_mb": pytest.approx(1.2 / 0.5)}]


def test_a_smaller_model_on_all_rows_is_no_reason_to_leave_less_room(monkeypatch):
    told = []
    stage = refit(["a"], [("feasible", 0.4)], monkeypatch)
    stage.best(candidates(1), lambda growth: told.append(growth) or [])
    assert told == [{"size_mb": 1.0}]


def test_there_are_three_candidates_and_the_safest_are_not_left_out(monkeypatch):
    stage = refit(["a", "b", "c"], ["feasible", "feasible", "certified"], monkeypatch)
    best = stage.best(candidates(1, 1), lambda growth: candidates(1, 1))
    assert best.trial.pipeline == "c"
    assert best.candidate.metrics["nr"] == 1


def test_if_none_can_be_fitted_the_reasons_are_told(monkeypatch):
    stage = refit([RuntimeError("singular"), ValueError("empty")], [], monkeypatch)
    with pytest.raises(MeasurementError, match=r"singular.*empty"):
        stage.best(candidates(1, 1))


def test_a_metric_that_fails_on_unseen_rows_costs_the_certificate_and_not_the_model(monkeypatch):
    stage = refit(["a"], [ZeroDivisionError("no rows")], monkeypatch)
    best = stage.best(candidates(1))
    assert best.certificate.status == "feasible"
    assert "ZeroDivisionError: no rows" in str(best.certificate)


def test_past_the_budget_the_first_candidate_is_fitted_and_no_slow_one_after_it(monkeypatch):
    past = time.monotonic() - 1
    stage = refit(["a", "b"], ["feasible", "certified"], monkeypatch, deadline=past)
    assert stage.best(candidates(100, 100)).trial.pipeline == "a"
    stage = refit(["a", "b"], ["feasible", "certified"], monkeypatch, deadline=past)
    assert stage.best(candidates(100, 0.1)).trial.pipeline == "b"


@pytest.mark.parametrize(
    ("script", "verdicts"),
    [(["a", KeyboardInterrupt()], ["feasible"]), (["a", "b"], [KeyboardInterrupt()])],
    ids=["while fitting the second", "while certifying the first"],
)
def test_ctrl_c_returns_the_best_so_far(script, verdicts, monkeypatch):
    best = refit(script, verdicts, monkeypatch).best(candidates(1, 1))
    assert best.trial.pipeline == "a"
    assert best.certificate.status == "feasible"


def test_ctrl_c_before_there_is_a_model_passes_and_leaves_the_result(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = FencelineClassifier(space=space(Algorithm("GaussianNB")), evaluations=1, cv=2)
    monkeypatch.setattr(Candidate, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.result_.best is not None


def test_a_budget_is_kept_although_a_single_fit_would_take_minutes():
    here = space(Algorithm("GaussianNB"), sleepy(120.0))
    start = time.monotonic()
    model = FencelineClassifier(space=here, seconds=4, workers=2, cv=2, constraints=[FENCE])
    model.fit(X, Y)
    # Twenty seconds for a machine that is busy; the slow fit alone takes six times as long.
    assert time.monotonic() - start < 20
    assert model.best_configuration_["estimator"].algorithm == "GaussianNB"


@pytest.mark.parametrize("fence", [[], [FENCE]], ids=["no fence", "fence"])
def test_where_every_fit_exceeds_the_budget_there_is_one_more_fit_and_a_model(fence):
    Sleeper.fits = 0
    model = FencelineClassifier(space=space(sleepy(3.0)), seconds=0.5, cv=3, constraints=fence)
    model.fit(X, Y)
    # In this process: what children of the search began was stopped.
    assert Sleeper.fits == 1
    assert len(model.result_.evaluations) == 1
    assert model.score(X, Y) > 0.7
    assert "loss(roc_auc)" in model.best_metrics_
    if fence:
        assert model.certificate_.status == "certified"


def test_a_first_pipeline_that_fails_for_want_of_time_says_why():
    here = space(Algorithm("sklearn.naive_bayes.CategoricalNB"))
    with pytest.raises(MeasurementError, match="Negative values"):
        FencelineClassifier(space=here, seconds=1e-3, cv=2).fit(X, Y)

import json

import numpy as np
import pytest

from fenceline import (
    Algorithm,
    FencelineClassifier,
    Integer,
    Module,
    Problem,
    Real,
    Space,
    minimize,
)
from fenceline.certificate.certify import uncertified
from fenceline.errors import DefinitionError
from fenceline.problem.evaluation import Evaluation
from fenceline.report import sections
from fenceline.report.explain import explain
from fenceline.result.result import Result

SPACE = Space(
    [
        Module("scaler", [Algorithm("none")]),
        Module("model", [Algorithm("bayes"), Algorithm("knn", {"k": Integer(1, 50)})]),
    ]
)
PROBLEM = Problem(SPACE, lambda _: {}, constraints=["latency_us <= 10", "size_mb <= 5"])


def point(model, loss, latency, size=1.0, status="ok", message=""):
    configuration = SPACE.configuration({"scaler": ("none", {}), "model": model})
    if status != "ok":
        return Evaluation(configuration, {}, np.inf, np.inf, status, message=message)
    metrics = {"loss": loss, "latency_us": latency, "size_mb": size}
    return Evaluation(configuration, metrics, loss, PROBLEM.violation(metrics))


BAYES = point(("bayes", {}), 0.3, 1.0)
SLOW = point(("knn", {"k": 9}), 0.1, 14.0)
BEST = point(("knn", {"k": 5}), 0.2, 9.0)
FAILED = [
    point(("knn", {"k": k}), 0, 0, status="memory", message="2 GB are gone") for k in (40, 41)
]
STOPPED = point(("knn", {"k": 42}), 0, 0, status="cancelled")
FOUND = Result(PROBLEM, (BAYES, SLOW, BEST, *FAILED, STOPPED), "seconds", 3.0)
PRICES = {"latency_us <= 10": 0.02, "size_mb <= 5": 0.5}


def section(explanation, title):
    parts = dict(part.split("\n", 1) for part in str(explanation).split("\n\n"))
    return parts[title]


def test_why_names_the_pipeline_its_value_and_the_best_of_another_kind():
    text = section(explain(FOUND), "Why this pipeline")
    assert "none -> knn(k=5)" in text
    assert "lowest loss, 0.2, of the 2 pipelines inside the fence; 5 were measured" in text
    assert "none -> bayes, with 0.3" in text


def test_costs_are_sorted_by_what_a_tenth_of_the_bound_would_bring():
    explanation = explain(FOUND, prices=PRICES)
    assert [cost.constraint for cost in explanation.costs] == ["size_mb <= 5", "latency_us <= 10"]
    assert [cost.gain for cost in explanation.costs] == pytest.approx([0.5 * 0.5, 0.02 * 1.0])
    text = section(explanation, "What the fence costs")
    assert "Most expensive: 'size_mb <= 5'. Loosened by 0.5, loss would fall by about 0.25" in text
    assert "Then: 'latency_us <= 10'" in text


def test_loosening_names_what_was_measured_outside_the_fence():
    explanation = explain(FOUND)
    [move] = explanation.moves
    assert (move.objective, move.bounds) == (0.1, {"latency_us <= 10": 14.0})
    text = section(explanation, "What the fence costs")
    assert "presses" not in text
    assert "Small moves of the bounds would change nothing; larger ones would:" in text
    assert "Moving latency_us <= 10 to 14 would have admitted none -> knn(k=9)" in text


def test_a_fence_that_costs_nothing_is_said_to_cost_nothing():
    text = section(explain(Result(PROBLEM, (BAYES, BEST), "seconds", 3.0)), "What the fence costs")
    assert text.split() == [
        "Nothing:",
        "no",
        "constraint",
        "presses",
        "on",
        "this",
        "pipeline,",
        "and",
        "none",
        "that",
        "was",
        "measured",
        "outside",
        "the",
        "fence",
        "is",
        "better.",
    ]


def test_where_nothing_is_inside_no_constraint_has_a_price():
    explanation = explain(Result(PROBLEM, (SLOW,), "evaluations", 1.0), prices=PRICES)
    assert all(np.isnan(cost.price) for cost in explanation.costs)
    text = section(explanation, "What the fence costs")
    assert text.strip().startswith("Moving latency_us <= 10 to 14")
    assert "presses" not in text


def test_tried_counts_algorithms_and_failures_by_reason():
    explanation = explain(FOUND)
    [knn, bayes] = explanation.tried  # a module with one algorithm is no choice
    assert (knn.algorithm, knn.evaluations, knn.feasible, knn.failed, knn.best) == (
        "knn",
        4,
        1,
        2,
        0.2,
    )
    assert (bayes.algorithm, bayes.evaluations, bayes.best) == ("bayes", 1, 0.3)
    assert explanation.failures == {"memory: 2 GB are gone": 2}
    assert explanation.stopped == 1
    assert "1 more were stopped by the end of the budget" in section(explanation, "What was tried")


def test_infeasible_search_has_no_pipeline_but_a_nearest_miss():
    explanation = explain(Result(PROBLEM, (SLOW,), "evaluations", 1.0))
    assert explanation.pipeline is None
    assert explanation.status == "infeasible"
    assert "Nearest miss: none -> knn(k=9)" in section(explanation, "Why this pipeline")
    assert "nothing to certify" in section(explanation, "How sure it is")


def test_search_that_found_nothing_at_all_can_be_explained():
    for evaluations in ((), tuple(FAILED)):
        explanation = explain(Result(PROBLEM, evaluations, "seconds", 1.0))
        assert explanation.pipeline is None
        assert str(explanation)


def test_sureness_tells_a_certificate_from_a_searchs_own_word():
    assert "Not certified" in section(explain(FOUND), "How sure it is")
    weak = uncertified(PROBLEM.constraints, BEST.metrics)
    text = section(explain(FOUND, weak), "How sure it is")
    assert "too few rows" in text
    assert "latency_us <= 10: 9" in text
    free = Problem(SPACE, lambda _: {})
    alone = Result(free, (BAYES,), "evaluations", 1.0)
    assert "no constraint was given" in section(explain(alone), "How sure it is")
    assert "There is no fence" in section(explain(alone), "What the fence costs")


def test_prices_of_a_real_run_are_used():
    plane = Space([Module("m", [Algorithm("a", {"x": Real(0, 2), "y": Real(0, 4)})])])

    def bowl(configuration):
        x, y = configuration["m"].params.values()
        return {"loss": (x - 1) ** 2 + (y - 1) ** 2, "sum": x + y}

    result = minimize(Problem(plane, bowl, constraints=["sum <= 1"]), evaluations=30)
    [cost] = explain(result).costs
    # The best value is (2 - bound)^2 / 2, so its slope in the bound is -1 here.
    assert cost.price == pytest.approx(1.0, abs=0.2)
    assert cost.gain == pytest.approx(0.1 * cost.price)


def test_facts_are_json():
    assert json.loads(json.dumps(explain(FOUND).to_dict()))["lowest"] == 0.2


def test_fitted_estimator_brings_its_certificate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] > 0).astype(int)
    space = Space([Module("estimator", [Algorithm("GaussianNB")])])
    model = FencelineClassifier(space=space, constraints=["size_mb <= 5"], evaluations=1, cv=2)
    with pytest.raises(DefinitionError, match="fit"):
        explain(model)
    text = section(explain(model.fit(X, y)), "How sure it is")
    assert "is said with 95% confidence" in text


def test_the_report_counts_failures_as_the_explanation_does():
    told = {(t.module, t.algorithm): t.failed for t in explain(FOUND).tried}
    shown = {
        (module, row.algorithm): row.failed
        for module, rows in sections.algorithms(FOUND).items()
        for row in rows
        if row.times
    }
    assert told == shown == {("model", "knn"): 2, ("model", "bayes"): 0}
    assert [(r.status, r.times) for r in sections.failures(FOUND)] == [("memory", 2)]

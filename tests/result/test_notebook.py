import math

import pytest

import fenceline as fl

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("a"), fl.Algorithm("b")])])
PROBLEM = fl.Problem(SPACE, lambda c: {}, constraints=["cost <= 4", "rate == 0.5 +- 0.1"])


def result(*evaluations):
    return fl.Result(PROBLEM, evaluations, "evaluations", 3.2)


def measured(cost, rate=0.45, model="a", **options):
    values = {"loss": 0.25, "cost": cost, "rate": rate}
    configuration = SPACE.configuration({"model": model})
    return fl.Evaluation(configuration, values, 0.25, PROBLEM.violation(values), **options)


def test_the_card_has_the_verdict_the_pipeline_and_the_fence():
    text = result(measured(3.0))._repr_html_()
    assert "✓ Feasible" in text
    assert "a has loss = 0.25 inside the fence." in text
    assert "1 evaluations in 3 s, 100% feasible" in text
    for cell in ("cost &lt;= 4", "3", "1", "rate == 0.5 +- 0.1", "0.45", "0.05", "✓ yes"):
        assert f">{cell}</td>" in text


def test_the_card_of_an_infeasible_search_shows_the_nearest_miss():
    text = result(measured(5.0), measured(9.0, model="b"))._repr_html_()
    assert "✕ Infeasible" in text
    assert ">-1</td>" in text
    assert "✕ no" in text


@pytest.mark.parametrize("evaluations", [(), None])
def test_the_card_of_a_search_without_measurements_has_no_table(evaluations):
    failed = fl.Evaluation(SPACE.configuration({"model": "b"}), {}, math.inf, math.inf, "error")
    text = result(*((failed,) if evaluations is None else ()))._repr_html_()
    assert "<table" not in text


def test_the_card_is_a_lone_fragment():
    text = result(measured(3.0))._repr_html_()
    assert text.startswith("<div")
    assert text.endswith("</div>")
    assert "<script" not in text
    assert "<html" not in text

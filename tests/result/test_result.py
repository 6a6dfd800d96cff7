import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenceline as fl
from fenceline.search.admm.solvers import Random

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("robust")]),
        fl.Module(
            "model", [fl.Algorithm("bayes"), fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 4.0)})]
        ),
    ]
)
FENCE = ("latency_us <= 10", "auc >= 0.8")
PROBLEM = fl.Problem(SPACE, lambda configuration: {}, constraints=FENCE)


def measured(loss, latency_us=5.0, auc=0.9, alpha=1.0, problem=PROBLEM):
    configuration = SPACE.configuration({"scaler": "none", "model": ("ridge", {"alpha": alpha})})
    metrics = {"loss": loss, "latency_us": latency_us, "auc": auc}
    return fl.Evaluation(
        configuration, metrics, loss, problem.violation(metrics), "ok", seconds=0.5
    )


def failed(message="ValueError: singular matrix", status="error"):
    configuration = SPACE.configuration({"scaler": "robust", "model": "bayes"})
    return fl.Evaluation(configuration, {}, math.inf, math.inf, status, 0.25, message)


def result(*evaluations, problem=PROBLEM, **options):
    return fl.Result(problem, evaluations, "evaluations", 1.0, **options)


def test_best_is_the_smallest_feasible_objective():
    better, best, tempting = measured(0.3), measured(0.2), measured(0.1, latency_us=11.0)
    assert result(failed(), better, tempting, best).best is best


def test_best_is_the_first_of_equals():
    first = measured(0.2, alpha=1.0)
    assert result(first, measured(0.2, alpha=2.0)).best is first


def test_a_look_is_no_answer_no_nearest_miss_and_no_part_of_the_feasible_share():
    look = replace(measured(0.1), fidelity=0.25)
    near = replace(measured(0.1, latency_us=10.5), fidelity=0.25)
    best, miss = measured(0.3, alpha=2.0), measured(0.2, latency_us=20.0, alpha=3.0)
    assert result(look, best).best is best
    assert result(look, near, miss).nearest_miss is miss
    assert result(look, near, miss).relaxations()["loss"].tolist() == [0.2]
    assert result(look, best, miss).feasible_fraction == 0.5
    assert result(look, near).status == "empty"
    assert list(result(look, best).to_frame()["fidelity"]) == [0.25, 1.0]
    assert list(result(look, best).trajectory) == [np.inf, 0.3]
    assert "1 evaluations and 2 looks" in result(look, near, best)._repr_html_()


def test_a_feasible_result_says_what_was_found():
    found = result(measured(0.25), measured(0.5))
    assert found.status == "feasible"
    assert found.message == "none -> ridge(alpha=1) has loss = 0.25 inside the fence."


def test_nothing_feasible_is_never_replaced_by_something_else():
    found = result(measured(0.1, latency_us=12.0), failed())
    assert found.status == "infeasible"
    assert found.best is None


def test_the_nearest_miss_breaks_the_constraints_least():
    near, far = measured(0.9, latency_us=10.5), measured(0.1, latency_us=50.0)
    assert result(far, near, failed()).nearest_miss is near


def test_among_equal_misses_the_better_objective_is_nearest():
    worse, better = measured(0.9, latency_us=12.0), measured(0.4, latency_us=12.0)
    assert result(worse, better).nearest_miss is better


def test_an_infeasible_result_names_the_binding_constraint_and_what_to_loosen():
    """The nearest miss breaks latency by 0.2 of its bound and auc by 0.05 / 0.8."""
    found = result(
        measured(0.1, latency_us=12.0, auc=0.75), measured(0.1, latency_us=99.0, alpha=2.0)
    )
    assert found.message == (
        "None of 2 pipelines satisfies every constraint; 'latency_us <= 10' binds most. "
        "Nearest miss: none -> ridge(alpha=1). To admit it, loosen latency_us from 10 to 12, "
        "auc from 0.8 to 0.75; or give a larger budget."
    )


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (fl.metric("latency_us") <= 10.0, 10.0000004),
        (fl.metric("latency_us") <= 123456.0, 123456.4),
        (fl.metric("latency_us") >= 10.0, 9.9999996),
        (fl.metric("latency_us") >= 0.1, 1 / 30),
        (fl.metric("latency_us").equals(10.0, 0.0), 1 / 3),
    ],
)
def test_loosening_a_bound_as_told_admits_the_nearest_miss(constraint, value):
    problem = fl.Problem(SPACE, lambda configuration: {}, constraints=[constraint])
    miss = measured(0.1, latency_us=value, problem=problem)
    message = result(miss, problem=problem).message
    told = float(message.split(" to ")[-1].split("; or give")[0])
    assert fl.Constraint("latency_us", constraint.sense, told, constraint.tolerance).holds(value)


def test_a_failed_result_tells_the_commonest_reason():
    found = result(failed(), failed("MemoryError: 3 GB"), failed())
    assert found.status == "failed"
    assert found.message == (
        "All 3 pipelines failed, 2 of them with: ValueError: singular matrix. "
        "Mend `measure` or the space."
    )


def test_an_empty_result_asks_for_a_larger_budget():
    found = result()
    assert found.status == "empty"
    assert found.message == "No pipeline was measured; give a larger budget."


def test_trajectory_is_the_best_feasible_objective_so_far():
    found = result(failed(), measured(0.1, auc=0.1), measured(0.5), measured(0.7), measured(0.2))
    assert_allclose(found.trajectory, [math.inf, math.inf, 0.5, 0.5, 0.2])


def test_trajectory_of_nothing_is_empty():
    assert result().trajectory.shape == (0,)


def test_feasible_fraction_counts_failures_as_outside():
    assert (
        result(failed(), measured(0.5), measured(0.1, auc=0.1), measured(0.3)).feasible_fraction
        == 0.5
    )
    assert result().feasible_fraction == 0.0


def test_prices_are_those_of_the_last_iterate():
    algorithm = fl.ADMM(theta=Random(), z=Random(), precision=fl.Fixed(2), units="raw")
    problem = fl.Problem(SPACE, lambda c: {"loss": 1.0, "latency_us": 12.0}, constraints=FENCE[:1])
    found = fl.minimize(problem, evaluations=12, algorithm=algorithm)
    assert found.prices == found.iterations[-1].prices
    assert found.prices["latency_us <= 10"] > 0


def test_without_iterates_prices_are_zero():
    assert result(measured(0.5)).prices == {"latency_us <= 10": 0.0, "auc >= 0.8": 0.0}


def test_the_frame_has_one_row_per_evaluation():
    frame = result(measured(0.25, alpha=2.0), failed()).to_frame()
    assert list(frame.columns) == [
        "scaler",
        "model",
        "model.ridge.alpha",
        "loss",
        "latency_us",
        "auc",
        "feasible",
        "violation",
        "status",
        "fidelity",
        "seconds",
        "message",
    ]
    assert frame.loc[0, "model.ridge.alpha"] == 2.0
    assert np.isnan(frame.loc[1, "model.ridge.alpha"])
    assert frame["scaler"].tolist() == ["none", "robust"]
    assert frame["feasible"].tolist() == [True, False]
    assert frame["status"].tolist() == ["ok", "error"]
    assert frame["seconds"].tolist() == [0.5, 0.25]
    assert frame.loc[1, "message"] == "ValueError: singular matrix"


def test_the_frame_of_nothing_is_empty():
    assert len(result().to_frame()) == 0


def test_a_result_cannot_be_changed():
    with pytest.raises(AttributeError):
        result().seconds = 2.0

import math

import pytest

import fenceline as fl
from fenceline.result.diagnosis import admitting, written

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("ridge", {"alpha": fl.Real(0.0, 9.0)})])])
FENCE = ("latency_us <= 10", "auc >= 0.8")
PROBLEM = fl.Problem(SPACE, lambda configuration: {}, constraints=FENCE)


def measured(alpha, loss, latency_us, auc, errors=None):
    configuration = SPACE.configuration({"model": ("ridge", {"alpha": alpha})})
    metrics = {"loss": loss, "latency_us": latency_us, "auc": auc}
    violation = PROBLEM.violation(metrics, errors)
    return fl.Evaluation(configuration, metrics, loss, violation, errors=errors or {})


def result(*evaluations):
    return fl.Result(PROBLEM, evaluations, "evaluations", 1.0)


def test_diagnosis_names_the_miss_what_binds_and_what_to_loosen():
    near, far = measured(1.0, 0.3, 12.0, 0.78), measured(2.0, 0.1, 30.0, 0.9)
    diagnosis = result(far, near).diagnosis
    assert diagnosis.nearest_miss is near
    assert str(diagnosis.binding) == "latency_us <= 10"
    assert {str(c): bound for c, bound in diagnosis.loosen.items()} == {
        "latency_us <= 10": 12.0,
        "auc >= 0.8": 0.78,
    }


def test_what_was_found_feasible_needs_no_diagnosis():
    assert result(measured(1.0, 0.3, 9.0, 0.9)).diagnosis is None
    assert result().diagnosis is None


def test_relaxations_list_the_bounds_that_admit_the_best_pipelines_seen():
    table = result(
        measured(1.0, 0.30, 12.0, 0.78),
        measured(2.0, 0.10, 30.0, 0.90),
        measured(3.0, 0.35, 13.0, 0.78),  # worse in everything than the first
        measured(4.0, 0.20, 9.0, 0.50),
    ).relaxations()
    assert list(table.columns) == ["pipeline", "loss", "latency_us <= 10", "auc >= 0.8"]
    assert table.to_numpy().tolist() == [
        ["ridge(alpha=1)", 0.30, 12.0, 0.78],
        ["ridge(alpha=4)", 0.20, 10.0, 0.50],
        ["ridge(alpha=2)", 0.10, 30.0, 0.8],
    ]


def test_relaxations_of_a_feasible_result_are_those_that_would_improve_it():
    table = result(
        measured(1.0, 0.2, 9.0, 0.9), measured(2.0, 0.3, 11.0, 0.9), measured(3.0, 0.1, 20.0, 0.9)
    ).relaxations()
    assert table["pipeline"].tolist() == ["ridge(alpha=3)"]
    assert table["latency_us <= 10"].tolist() == [20.0]


def test_relaxations_of_nothing_are_an_empty_table():
    assert result().relaxations().empty
    assert "pipeline" in result().relaxations().columns


def test_at_most_so_many_relaxations_are_listed():
    misses = [measured(i, 1.0 / (1 + i), 11.0 + i, 0.9) for i in range(9)]
    assert len(result(*misses).relaxations(most=4)) == 4


@pytest.mark.parametrize("sense", ["<=", ">="])
@pytest.mark.parametrize(
    "value", [1 / 3, 10.0000004, -123456.4, 1e-9, 7.0, 0.0, -1.6448536269514722]
)
@pytest.mark.parametrize("error", [0.0, 0.1, 1 / 7, 1.0])
def test_an_admitting_bound_admits_with_the_required_confidence(sense, value, error):
    bound = value - 1.0 if sense == "<=" else value + 1.0
    constraint = fl.Constraint("g", sense, bound)
    told = admitting(constraint, value, error)
    assert fl.Constraint("g", sense, told).holds(value, error)
    assert abs(told - value) == pytest.approx(1.645 * error, abs=1e-3 + 1e-5 * abs(value))
    assert float(written(told)) == told


def test_a_noisy_miss_is_loosened_by_its_margin_too():
    diagnosis = result(measured(1.0, 0.3, 10.0, 0.9, {"latency_us": 1.0})).diagnosis
    assert math.isclose(diagnosis.loosen[PROBLEM.constraints[0]], 11.6449, rel_tol=1e-4)

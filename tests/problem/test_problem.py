import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from fenceline import Algorithm, Evaluation, Module, Problem, Real, Space, metric
from fenceline.errors import ConstraintError, DefinitionError, MeasurementError

SPACE = Space([Module("m", [Algorithm("a", {"x": Real(0, 1)})])])


def square(configuration, fidelity=1.0):
    return {"loss": configuration["m"].params["x"] ** 2, "latency_us": 8.0}


class Declared:
    metrics = ("loss", "latency_us")

    def __call__(self, configuration, fidelity=1.0):
        return {"loss": 0.0, "latency_us": 1.0}


@pytest.fixture
def problem() -> Problem:
    return Problem(SPACE, square, constraints=[metric("latency_us") <= 10])


def test_texts_and_objects_make_the_same_problem(problem):
    assert Problem(SPACE, square, constraints=["latency_us <= 10"]) == problem
    assert problem.constraints == (metric("latency_us") <= 10,)


def test_defaults_are_the_loss_and_no_fence():
    problem = Problem(SPACE, square)
    assert problem.objective == "loss"
    assert problem.constraints == ()
    assert problem.optimum is None


def test_problem_can_be_pickled_hashed_and_not_changed(problem):
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem
    assert hash(copy) == hash(problem)
    with pytest.raises(FrozenInstanceError):
        problem.objective = "other"


def test_measurement_becomes_plain_floats(problem):
    measured = {"loss": np.float32(0.5), "latency_us": np.int64(3), "extra": Fraction(1, 4)}
    checked = problem.check(measured)
    assert checked == {"loss": 0.5, "latency_us": 3.0, "extra": 0.25}
    assert {type(v) for v in checked.values()} == {float}


def test_violations_are_summed_in_scales():
    problem = Problem(SPACE, square, constraints=["g <= 10", "h >= 2", "k == 0 +- 1"])
    assert problem.violation({"g": 15.0, "h": 1.0, "k": 3.0}) == pytest.approx(0.5 + 0.5 + 2.0)
    assert problem.violation({"g": 10.0, "h": 2.0, "k": -1.0}) == 0.0


def test_bounds_on_both_sides_are_allowed():
    problem = Problem(SPACE, square, constraints=["g >= 1", "g <= 2"])
    assert len(problem.constraints) == 2


@pytest.mark.parametrize(
    ("violation", "status", "ok", "feasible"),
    [(0.0, "ok", True, True), (0.5, "ok", True, False), (math.inf, "timeout", False, False)],
)
def test_evaluation_tells_whether_it_is_measured_and_inside(violation, status, ok, feasible):
    configuration = SPACE.sample(np.random.default_rng(0))
    evaluation = Evaluation(configuration, {}, 1.0, violation, status)
    assert (evaluation.ok, evaluation.feasible) == (ok, feasible)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "must return a mapping.*Got None"),
        (0.5, r"must return a mapping.*Got 0.5; return \{'loss'"),
        ([0.5], "must return a mapping"),
        ({}, "objective metric 'loss'"),
        ({"los": 0.5, "latency_us": 1.0}, "objective metric 'loss'. Did you mean 'los'"),
        ({"loss": 0.5}, "constrained metric 'latency_us'. Known: 'loss'"),
        (
            {"loss": math.nan, "latency_us": 1.0},
            "'loss' must be finite. Got nan; raise an exception",
        ),
        ({"loss": math.inf, "latency_us": 1.0}, "'loss' must be finite"),
        ({"loss": 0.5, "latency_us": np.float64("nan")}, "'latency_us' must be finite"),
        ({"loss": None, "latency_us": 1.0}, r"'loss' must be a number. Got None \(NoneType\)"),
        ({"loss": "0.5", "latency_us": 1.0}, r"'loss' must be a number. Got '0.5' \(str\)"),
        ({"loss": np.zeros(2), "latency_us": 1.0}, r"'loss' must be a number.*ndarray.*float\("),
        ({"loss": 1j, "latency_us": 1.0}, "'loss' must be a number"),
        ({"loss": 0.5, "latency_us": 1.0, "extra": None}, "'extra' must be a number"),
    ],
)
def test_bad_measurement_is_explained(problem, returned, words):
    with pytest.raises(MeasurementError, match=words):
        problem.check(returned)


def test_space_must_be_a_space():
    with pytest.raises(DefinitionError, match="space must be a Space"):
        Problem([Module("m", [Algorithm("a")])], square)


def test_measure_must_be_callable():
    with pytest.raises(DefinitionError, match=r"measure must be callable. Got 5"):
        Problem(SPACE, 5)


@pytest.mark.parametrize("objective", ["", None, len])
def test_objective_must_be_a_name(objective):
    with pytest.raises(DefinitionError, match="objective must be the name of a metric"):
        Problem(SPACE, square, objective=objective)


@pytest.mark.parametrize("constraints", ["g <= 1", metric("g") <= 1, None, 5])
def test_constraints_must_be_a_list(constraints):
    with pytest.raises(ConstraintError, match="constraints must be a list"):
        Problem(SPACE, square, constraints=constraints)


@pytest.mark.parametrize("item", [5, None, metric("g") == 1])
def test_constraint_must_be_one(item):
    with pytest.raises(ConstraintError, match=r"is not a constraint; write metric\('name'\)"):
        Problem(SPACE, square, constraints=[item])


def test_malformed_text_is_refused_with_a_caret():
    with pytest.raises(ConstraintError, match=r"expected a number here(.|\n)*\^"):
        Problem(SPACE, square, constraints=["g <= ten"])


@pytest.mark.parametrize("pair", [["g <= 1", "g <= 2"], ["g >= 1", "g >= 1"]])
def test_duplicate_constraints_are_refused(pair):
    with pytest.raises(ConstraintError, match=r"Two constraints bound 'g'.*keep the stricter"):
        Problem(SPACE, square, constraints=pair)


@pytest.mark.parametrize(
    "pair", [["g <= 1", "g >= 2"], ["g >= 2", "g <= 1"], ["g == 1 +- 0.1", "g >= 2"]]
)
def test_contradictory_constraints_are_refused(pair):
    with pytest.raises(
        ConstraintError, match=r"No value of 'g' is at least 2 and at most .*; loosen"
    ):
        Problem(SPACE, square, constraints=pair)


def test_declared_metrics_are_checked_at_once():
    Problem(SPACE, Declared(), constraints=["latency_us <= 1"])
    with pytest.raises(DefinitionError, match=r"no metric 'latency_ms'. Did you mean 'latency_us'"):
        Problem(SPACE, Declared(), constraints=["latency_ms <= 1"])
    with pytest.raises(DefinitionError, match=r"no metric 'auc'. Known: 'loss', 'latency_us'"):
        Problem(SPACE, Declared(), objective="auc")


@pytest.mark.parametrize("name", ["seconds", "status", "feasible", "violation", "message", "m"])
def test_a_metric_may_not_bear_the_name_of_a_column_of_results_or_of_a_module(name):
    refusal = f"cannot be called '{name}'.*'measured_{name}'"
    with pytest.raises(DefinitionError, match=refusal):
        Problem(SPACE, square, objective=name)
    with pytest.raises(DefinitionError, match=refusal):
        Problem(SPACE, square, constraints=[f"{name} <= 1"])
    with pytest.raises(MeasurementError, match=refusal):
        Problem(SPACE, square).check({"loss": 1.0, name: 2.0})
    declared = Declared()
    declared.metrics = ("loss", name)
    with pytest.raises(DefinitionError, match=refusal):
        Problem(SPACE, declared)

import fenceline as fl
from fenceline.evaluation import Outcome
from fenceline.evaluation.known import Known

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])
PROBLEM = fl.Problem(SPACE, dict, constraints=["g <= 1"])


def at(x):
    return SPACE.configuration({"m": ("a", {"x": x})})


def measured(x, loss, g=0.0, fidelity=1.0):
    return PROBLEM.evaluation(at(x), Outcome("ok"), {"loss": loss, "g": g}, fidelity)


def test_the_best_is_feasible_and_measured_in_full():
    known = Known(PROBLEM)
    assert known.best is None
    for evaluation in (
        measured(0.1, 3.0),
        measured(0.2, 2.0),
        measured(0.3, 1.0, g=2.0),
        measured(0.4, 0.0, fidelity=0.5),
    ):
        known.file(evaluation)
    assert known.best is known.history[1]
    assert (known.feasible, known.looks, len(known.history)) == (2, 1, 4)


def test_a_look_is_not_the_evaluation_and_a_failure_does_not_replace_one():
    known = Known(PROBLEM)
    known.file(measured(0.1, 3.0, fidelity=0.5))
    assert known.of(at(0.1)) is None
    assert known.of(at(0.1), 0.5) is known.history[0]
    known.file(measured(0.1, 3.0))
    known.file(PROBLEM.evaluation(at(0.1), Outcome("error", message="bad luck")))
    assert known.of(at(0.1)) is known.history[1]


def test_what_a_rule_forbids_is_known_without_a_place_in_the_history():
    known = Known(PROBLEM)
    known.refuse(PROBLEM.evaluation(at(0.1), Outcome("forbidden")))
    assert known.of(at(0.1)).status == "forbidden"
    assert not known.history

import pytest

from fenceline.certificate.advice import advice
from fenceline.certificate.certify import Certificate, Check
from fenceline.problem.constraint import parse_constraint


def said(text, value, folds, verdict="infeasible"):
    constraint = parse_constraint(text)
    check = Check(constraint, value, value - 0.1, value + 0.1, verdict)
    return advice(Certificate((check,), 0.95, 200, 1), {constraint.metric: folds})


@pytest.mark.parametrize(
    ("text", "value", "folds", "loosened", "tightened"),
    [
        # 0.081 - 0.07 = 0.011 too much; as much less than 0.07 is 0.059.
        ("gap <= 0.07", 0.081, 0.068, "loosen it to 0.081", "to 0.059"),
        # 0.8 - 0.75 = 0.05 too little; as much more than 0.8 is 0.85.
        ("recall >= 0.8", 0.75, 0.82, "loosen it to 0.75", "to 0.85"),
        ("neg_mean_absolute_error >= -2", -2.5, -1.9, "loosen it to -2.5", "to -1.5"),
    ],
)
def test_a_missed_bound_comes_with_both_numbers(text, value, folds, loosened, tightened):
    told = said(text, value, folds)
    assert loosened in told
    assert f"tighten the bound of the search by as much, {tightened}." in told
    assert f"by the folds {folds:g}" in told


def test_a_bound_is_not_tightened_beyond_zero():
    assert "tighten" not in said("gap <= 0.07", 0.2, 0.06)


def test_what_holds_is_not_spoken_of():
    assert said("gap <= 0.07", 0.06, 0.05, "feasible").startswith("More rows")

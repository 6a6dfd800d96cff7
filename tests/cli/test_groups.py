import pandas as pd
import pytest

from fenceline.cli.groups import Group, fence, parse_group
from fenceline.errors import ConstraintError, DefinitionError
from fenceline.metrics import as_metric
from fenceline.problem.constraint import parse_constraint

COLUMNS = ["AGE", "SEX", "age band", "a:b"]
TABLE = pd.DataFrame({"AGE": [20, 30], "SEX": ["f", "m"], "age band": ["x", "y"], "a:b": [1, 2]})


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("SEX", Group("SEX")),
        ("AGE:20,30,40.5", Group("AGE", (20.0, 30.0, 40.5))),
        ("a:b", Group("a:b")),
        ("a:b:1,2", Group("a:b", (1.0, 2.0))),
    ],
)
def test_group_is_a_column_with_or_without_edges(text, group):
    assert parse_group(text, TABLE) == group


@pytest.mark.parametrize(
    ("texts", "groups", "metrics"),
    [
        # A constraint that names its group finds the edges of that group ...
        (
            ["score_gap(roc_auc, AGE) <= 0.1"],
            [Group("AGE", (30, 40))],
            ["score_gap(roc_auc,AGE,bins=30:40)"],
        ),
        # ... unless it has its own,
        (
            ["score_gap(roc_auc, AGE, bins=50) <= 0.1"],
            [Group("AGE", (30, 40))],
            ["score_gap(roc_auc,AGE,bins=50)"],
        ),
        # one that names none holds for every group,
        (
            ["score_gap(roc_auc) <= 0.1"],
            [Group("AGE", (30,)), Group("SEX")],
            ["score_gap(roc_auc,AGE,bins=30)", "score_gap(roc_auc,SEX)"],
        ),
        (["selection_rate_ratio >= 0.8"], [Group("SEX")], ["selection_rate_ratio(SEX)"]),
        # a column needs no --group to be named,
        (["demographic_parity_difference(SEX) <= 0.1"], [], ["demographic_parity_difference(SEX)"]),
        (["score_gap(roc_auc, age band) <= 1"], [], ["score_gap(roc_auc,age band)"]),
        # and what does not compare groups stays as it is.
        (["size_mb <= 5", "roc_auc >= 0.7"], [], ["size_mb", "roc_auc"]),
    ],
)
def test_groups_and_constraints_go_together(texts, groups, metrics):
    constraints, used = fence(texts, groups, COLUMNS)
    assert [as_metric(constraint).name for constraint in constraints] == metrics
    assert all(group.column in used for group in groups)
    assert {c.bound for c in constraints} == {parse_constraint(text).bound for text in texts}


def test_bound_keeps_all_its_digits():
    [constraint], _ = fence(["score_gap(roc_auc) <= 0.123456789"], [Group("SEX")], COLUMNS)
    assert constraint.bound == 0.123456789


def test_mistake_is_shown_with_a_caret():
    with pytest.raises(ConstraintError, match=r"\n +\^\n"):
        fence(["size_mb < 5"], [], COLUMNS)


def test_rows_without_a_group_are_refused():
    with pytest.raises(DefinitionError, match="1 rows have no SEX"):
        parse_group("SEX", pd.DataFrame({"SEX": ["f", None]}))

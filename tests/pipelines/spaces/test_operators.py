"""Operators that are made to measure: what the rows that reach them decide."""

import pytest

from fenceline.pipelines.spaces.operators import Setting, make

MLP = {"depth": 2, "nodes": 16}


@pytest.mark.parametrize(
    ("task", "rows", "stops"),
    [
        ("binary", 5000, True),
        ("regression", 5000, True),
        ("binary", 4999, False),
        ("multiclass", 5000, False),
    ],
)
def test_a_network_watches_a_part_of_many_rows_to_know_when_to_stop(task, rows, stops):
    assert make("MLP", MLP, Setting(task, rows, 3)).early_stopping is stops


def test_a_space_may_decide_about_early_stopping_itself():
    model = make("MLP", MLP | {"early_stopping": False}, Setting("binary", 9999, 3))
    assert model.early_stopping is False
    assert model.hidden_layer_sizes == (16, 16)

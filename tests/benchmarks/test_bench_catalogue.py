"""Real tables: what the list says, and what a seed draws."""

import numpy as np
import pytest

from benchmarks.automl import plan as automl
from benchmarks.catalogue import Entry, catalogue, spread
from benchmarks.decisions import plan as decisions

LIST = """
| file | rows | features (categorical) | missing | classes | from | licence | note |
|---|---|---|---|---|---|---|---|
| fairness/census.csv.gz | 60000 | 11 (9) | 0 | 2 (0:3, 1:4) | somewhere | free | protected: sex, age; sampled |
| meta/letter.csv.gz | 20000 | 16 (0) | 0 | 26 (U:813, D:805, …) | somewhere | free | |
| meta/pol.csv.gz | 15000 | 26 (0) | 0 | regression, mean 28.95 | somewhere | free | 22 constant columns |
"""


def entries(count, task="binary", **rest):
    return [Entry(f"meta/t{i}", 1000 + i, task, **rest) for i in range(count)]


def test_the_list_tells_rows_task_and_protected_columns(tmp_path):
    (tmp_path / "README.md").write_text(LIST)
    assert catalogue(tmp_path) == [
        Entry("fairness/census", 60000, "binary", ("sex", "age")),
        Entry("meta/letter", 20000, "multiclass"),
        Entry("meta/pol", 15000, "regression"),
    ]


def test_a_draw_has_tables_of_all_sizes_and_none_twice():
    drawn = spread(entries(20), 5, np.random.default_rng(0))
    assert [entry.rows // 4 for entry in drawn] == [250, 251, 252, 253, 254]
    assert len(set(drawn)) == 5


def test_a_draw_of_all_there_are_is_all_there_are():
    assert spread(entries(3), 5, np.random.default_rng(0)) == entries(3)


@pytest.mark.parametrize("seed", [0, 1])
def test_sixteen_tables_are_mixed_in_task_and_a_seed_repeats_them(seed):
    mixed = [e for task in automl.QUOTA for e in entries(15, task)]
    drawn = automl.draw(mixed, seed)
    assert len(drawn) == 16
    assert {task: sum(e.task == task for e in drawn) for task in automl.QUOTA} == automl.QUOTA
    assert drawn == automl.draw(mixed, seed)
    assert drawn != automl.draw(mixed, seed + 5)


def test_twelve_tables_to_decide_on_have_groups_in_eight_cases():
    drawn = decisions.draw(entries(15) + entries(15, protected=("sex",)), 0)
    assert [bool(entry.protected) for entry in drawn] == 8 * [True] + 4 * [False]

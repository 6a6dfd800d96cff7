"""How many workers there are where nobody says it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

import fenceline as fl
from fenceline.estimator import parallel
from fenceline.estimator.parallel import chosen_workers, table_megabytes

SMALL = np.zeros((100, 5))


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Four cores and eight gigabytes."""
    monkeypatch.setattr(parallel, "processors", lambda: 4)
    monkeypatch.setattr(parallel, "available_megabytes", lambda: 8_000.0)


@pytest.mark.parametrize(
    ("workers", "seconds", "evaluations", "chosen"),
    [
        (None, 60.0, None, 4),
        (None, None, 20, 1),  # so that the same search finds the same
        (None, 60.0, 20, 1),
        (3, 60.0, None, 3),
        (3, None, 20, 3),
    ],
)
def test_all_cores_measure_only_if_the_budget_is_in_seconds(workers, seconds, evaluations, chosen):
    assert chosen_workers(workers, seconds, evaluations, SMALL) == chosen


def test_a_large_table_leaves_room_and_a_huge_one_has_one_worker():
    large, huge = (np.broadcast_to(np.zeros(1), (rows, 100)) for rows in (150_000, 10_000_000))
    assert chosen_workers(None, 60.0, None, large) == 2
    assert chosen_workers(None, 60.0, None, huge) == 1


def test_tables_of_every_kind_have_a_size():
    assert table_megabytes(np.zeros((1000, 125))) == pytest.approx(1.0)
    assert table_megabytes(pd.DataFrame(np.zeros((1000, 125)))) == pytest.approx(1.0, rel=0.01)
    assert table_megabytes(sparse.eye(125_000).tocsr()) == pytest.approx(1.0)


@pytest.mark.parametrize(("workers", "said"), [(None, True), (1, False)])
def test_a_search_on_all_cores_says_so_once_if_it_says_anything(workers, said, capfd, monkeypatch):
    monkeypatch.setattr(parallel, "processors", lambda: 2)
    X, y = make_classification(200, random_state=0)
    fl.FencelineClassifier(space="small", seconds=1.0, workers=workers, verbose=1).fit(X, y)
    assert capfd.readouterr().err.count("2 workers, one for each core") == said

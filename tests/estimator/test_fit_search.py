"""No single pipeline uses up the budget, unless the user says how long one may take."""

from contextlib import closing

import numpy as np
import pytest

from fenceline import FencelineClassifier, Limits
from fenceline.estimator import search as searching
from fenceline.evaluation import Local

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.tile([0, 1], 20)


@pytest.fixture
def given(monkeypatch):
    """What the search was given."""
    known = {}

    class SeenError(Exception):
        pass

    def minimize(problem, **settings):
        known.update(settings)
        raise SeenError

    def search(**settings):
        with pytest.raises(SeenError):
            FencelineClassifier(**settings).fit(X, Y)
        return known

    monkeypatch.setattr(searching, "minimize", minimize)
    return search


@pytest.mark.parametrize(("seconds", "longest"), [(120.0, 29.1), (15.0, 5.0)])
def test_one_pipeline_may_take_a_quarter_of_the_budget_but_some_seconds_at_least(
    given, seconds, longest
):
    assert given(seconds=seconds)["limits"] == Limits(seconds=longest)


def test_the_user_decides_otherwise(given):
    mine = Limits(seconds=100.0)
    assert given(seconds=120.0, limits=mine)["limits"] is mine
    assert given(evaluations=3)["limits"] is None
    with closing(Local(1)) as engine:
        assert given(seconds=120.0, engine=engine)["limits"] is None

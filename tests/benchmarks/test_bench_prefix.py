import time

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.prefix import LOSS, Both, Stopwatch
from fenceline.metrics import Table
from fenceline.pipelines import named_space

SPACE = named_space("paper", "binary")
FIRST = SPACE.decode(SPACE.first, SPACE.centre)


def both():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return Both(Table(X, (X[:, 0] > 0).astype(int), "binary"), 2, megabytes=10)


def test_a_pipeline_is_measured_in_both_ways():
    measure = both()
    assert 0 <= measure(FIRST)[LOSS.name] <= 1
    (row,) = measure.rows
    assert row.alone > 0
    assert row.shared > 0
    assert len(measure.shared.prefixes) > 0
    assert len(measure.alone.prefixes) == 0


def test_scores_that_differ_end_the_benchmark():
    measure = both()
    measure.alone.table.y[:40] = 1 - measure.alone.table.y[:40]
    measure.shared.__dict__["table"] = both().shared.table
    with pytest.raises(AssertionError, match="alone"):
        measure(FIRST)


def test_time_inside_nested_estimators_counts_once():
    class Model:
        def fit(self):
            start = time.process_time()
            while time.process_time() - start < 0.02:
                pass

    class Meta:
        def fit(self):
            Model().fit()

    watch = Stopwatch()
    watch.attach(Model)
    watch.attach(Meta)
    Meta().fit()
    assert 0.02 <= watch.seconds < 0.035


def test_a_model_that_is_timed_still_shows_that_it_takes_weights():
    class Tree(DecisionTreeClassifier):
        pass

    watch = Stopwatch()
    watch.attach(Tree)
    X = np.arange(8.0)[:, None]
    AdaBoostClassifier(Tree(max_depth=1), n_estimators=2).fit(X, [0, 1] * 4)
    assert watch.seconds > 0

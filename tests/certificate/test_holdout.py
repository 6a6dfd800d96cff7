import numpy as np
import pytest

from fenceline import metrics
from fenceline.certificate.holdout import needed_share, set_aside
from fenceline.metrics import Table


def table(rows, positives, group_share=0.5):
    y = (np.arange(rows) < positives).astype(int)
    group = (np.arange(rows) % 100 < 100 * group_share).astype(int)
    return Table(np.zeros((rows, 1)), y, "binary", {"g": group})


def share(given, *constraints):
    known = {c.metric: m for m, c in constraints}
    return needed_share(given, known, [c for _, c in constraints])


FPR, FNR = metrics.false_positive_rate(), metrics.false_negative_rate()
DPD, AUROC = metrics.demographic_parity_difference("g"), metrics.score("roc_auc")
RATIO = metrics.selection_rate_ratio("g")


@pytest.mark.parametrize(
    ("metric", "constraint", "expected"),
    [
        (FPR, FPR <= 0.1, 400 / 2100),
        # .0475 (1.645 / (.05 / 3))^2 = 463 of 2,100 negatives
        (FPR, FPR <= 0.05, 463 / 2100),
        (FNR, FNR <= 0.1, 0.4),
        # 2 * .21 (1.645 / (.15 / 3))^2 = 455 of 1,500 rows in each group
        (DPD, DPD <= 0.15, 455 / 1500),
        (DPD, DPD <= 0.3, 400 / 1500),
        (DPD, DPD <= 0.1, 0.4),
        # What is no rate of decisions, and a ratio: 400 rows in the rarest cell
        (AUROC, AUROC >= 0.8, 0.4),
        (RATIO, RATIO >= 0.8, 400 / 1500),
        (metrics.latency_us(), metrics.latency_us() <= 10, 0.15),
    ],
)
def test_the_share_follows_from_the_bound_and_the_rarest_cell(metric, constraint, expected):
    assert share(table(3000, 900), (metric, constraint)) == pytest.approx(expected, rel=0.01)


def test_the_most_demanding_metric_decides_and_large_tables_need_the_least_share():
    both = (FPR, FPR <= 0.1), (FNR, FNR <= 0.1)
    assert share(table(3000, 900), *both) == 0.4
    assert share(table(100_000, 30_000), *both) == 0.15
    size = metrics.size_mb()
    assert share(table(200, 100), (size, size <= 1)) == 0.15


def test_a_bound_that_leaves_nothing_free_asks_for_no_more_than_the_largest_share():
    assert share(table(3000, 900), (FPR, FPR <= 0.0)) == pytest.approx(400 / 2100)
    assert share(table(3000, 900), (FPR, FPR <= 1e-6)) == 0.4


def kept(given, **settings):
    rate = metrics.false_positive_rate()
    known = {rate.name: rate}
    return set_aside(given, known, [rate <= 0.1], 3, 0, **settings)


def test_rows_are_kept_in_proportion_to_classes_and_none_twice():
    given = table(1000, 300)
    search, unseen = kept(given, unseen=0.25)
    assert len(unseen) == 250
    assert np.array_equal(np.sort(np.concatenate([search, unseen])), np.arange(1000))
    assert given.y[unseen].mean() == pytest.approx(0.3)


def test_rows_that_are_named_are_kept():
    search, unseen = kept(table(1000, 300), unseen=np.arange(900, 1000))
    assert np.array_equal(unseen, np.arange(900, 1000))
    assert np.array_equal(search, np.arange(900))


def test_few_rows_and_no_fence_keep_nothing():
    assert kept(table(99, 30))[1].size == 0
    rate = metrics.false_positive_rate()
    assert set_aside(table(1000, 300), {rate.name: rate}, [], 3, 0)[1].size == 0

import numpy as np
import pytest

from fenceline import metrics
from fenceline.certificate.holdout import needed_share, set_aside
from fenceline.metrics import Table


def table(rows, positives, group_share=0.5):
    y = (np.arange(rows) < positives).astype(int)
    group = (np.arange(rows) % 100 < 100 * group_share).astype(int)
    return Table(np.zeros((rows, 1)), y, "binary", {"g": group})


def share(given, *fence, **settings):
    named = {c.metric: metrics.as_metric(c) for c in fence}
    return needed_share(given, named, fence, **settings)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (metrics.false_negative_rate() <= 0.1, 0.4),  # 900 positives
        (metrics.false_positive_rate() <= 0.1, 400 / 2100),
        (metrics.demographic_parity_difference("g") <= 0.1, 400 / 1500),
        (metrics.equalized_odds_difference("g") <= 0.1, 0.4),
        (metrics.latency_us() <= 100, 0.15),
    ],
)
def test_the_share_follows_from_the_rarest_cell(constraint, expected):
    assert share(table(3000, 900), constraint) == pytest.approx(expected)


def test_the_most_demanding_metric_decides():
    both = [metrics.false_positive_rate() <= 0.1, metrics.false_negative_rate() <= 0.1]
    assert share(table(3000, 900), *both) == 0.4
    assert share(table(200, 100), metrics.size_mb() <= 1) == 0.15


@pytest.mark.parametrize(
    ("rows", "expected"), [(10_000, 0.15), (12_500, 0.2), (16_000, 0.375), (100_000, 0.4)]
)
def test_the_certificate_has_what_the_search_of_a_large_table_can_do_without(rows, expected):
    rate = metrics.false_positive_rate() <= 0.1
    assert share(table(rows, rows // 2), rate) == pytest.approx(expected)
    # The clock is as sure on few rows.
    assert share(table(rows, rows // 2), metrics.size_mb() <= 1) == 0.15


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (metrics.demographic_parity_difference("g") <= 0.2, 400 / 2500),
        (metrics.demographic_parity_difference("g") <= 0.08, 625 / 2500),
        (metrics.demographic_parity_difference("g") <= 0.01, 0.4),
        (metrics.demographic_parity_difference("g") <= 0.0, 0.4),
        (metrics.selection_rate_ratio("g") >= 0.8, 400 / 2500),
        (metrics.selection_rate_ratio("g") >= 0.84, 625 / 2500),
        (metrics.worst_group("accuracy", "g") >= 0.95, 400 / 1250),
    ],
)
def test_closer_bounds_on_differences_between_groups_need_more_rows(constraint, expected):
    assert share(table(5000, 2500), constraint) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("constraint", "alone", "controlled"),
    [
        (metrics.score_gap("roc_auc", "g") <= 0.05, 0.4, 0.25),
        (metrics.score("roc_auc") >= 0.8, 0.4, 0.25),
        (metrics.false_negative_rate() <= 0.1, 0.4, 0.4),
        (metrics.score_gap("average_precision", "g") <= 0.05, 0.4, 0.4),
        (metrics.false_positive_rate() <= 0.1, 400 / 2100, 400 / 2100),
    ],
)
def test_with_a_control_aurocs_are_certified_on_fewer_rows(constraint, alone, controlled):
    given = table(3000, 900)
    assert share(given, constraint) == pytest.approx(alone)
    assert share(given, constraint, controlled=True) == pytest.approx(controlled)
    # Cells that are rarer still need more, and of a large table the search can do without more.
    assert share(table(3000, 100), constraint, controlled=True) == pytest.approx(
        0.4 if alone == 0.4 else 0.15
    )
    assert share(table(20_000, 700), constraint, controlled=True) == 0.4


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


def divided(y, unseen=None):
    known = {"balanced_accuracy": metrics.score("balanced_accuracy")}
    fence = [known["balanced_accuracy"] >= 0.1]
    given = Table(np.zeros((len(y), 1)), y, "multiclass")
    return set_aside(given, known, fence, 3, 0, unseen)


def test_a_class_of_few_rows_is_searched_with_and_asks_for_no_rows():
    y = np.arange(4000) % 2
    y[:3] = 2
    search, unseen = divided(y)
    assert len(unseen) == pytest.approx(800, abs=3)  # 400 of each of the others
    assert np.sum(y[search] == 2) == 3


def test_every_class_has_a_row_however_small_the_share():
    y = np.arange(400) % 40
    search, unseen = divided(y, 0.02)
    assert sorted(y[unseen]) == list(range(40))
    assert not np.intersect1d(search, unseen).size

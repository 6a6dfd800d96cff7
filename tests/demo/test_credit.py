from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fenceline import data
from fenceline.configuration import Configuration
from fenceline.demo.credit import BANDS, Credit, auroc, problem
from fenceline.demo.pipelines import SPACE


@pytest.fixture(scope="module")
def credit() -> Credit:
    return Credit.load()


def every_algorithm_once() -> list[Configuration]:
    scalers, models = SPACE.modules
    count = max(len(scalers.algorithms), len(models.algorithms))
    return [
        SPACE.decode((i % len(scalers.algorithms), i % len(models.algorithms)), SPACE.centre)
        for i in range(count)
    ]


def test_the_bundled_table_is_whole_and_says_where_it_is_from() -> None:
    table = data.credit()
    assert table.shape == (4454, 14)
    assert (table["Status"] == "bad").sum() == 1254
    assert table["Income"].isna().sum() == 381
    notice = (files(data) / "CREDIT.md").read_text(encoding="utf-8")
    assert "modeldata" in notice
    assert "MIT License" in notice


def test_search_and_test_rows_share_nothing_and_leave_nothing_out(credit: Credit) -> None:
    rows = np.concatenate([credit.search, credit.test])
    assert sorted(rows) == list(range(len(credit.table)))
    for part in (credit.search, credit.test):
        assert set(credit.band[part]) == set(range(len(BANDS)))


def test_what_the_search_measures_does_not_depend_on_the_test_rows(credit: Credit) -> None:
    table = credit.table.copy()
    table.loc[credit.test, "Income"] = 1e9
    bad = credit.bad.copy()
    bad[credit.test] = ~bad[credit.test]
    spoilt = replace(credit, table=table, bad=bad)
    first = every_algorithm_once()[0]
    assert spoilt(first)["loss"] == credit(first)["loss"]
    assert spoilt.confirm(first).metrics["loss"] != credit.confirm(first).metrics["loss"]


@pytest.mark.parametrize(
    "configuration", every_algorithm_once(), ids=lambda c: c["model"].algorithm
)
def test_every_algorithm_can_be_measured_and_beats_a_coin(
    credit: Credit, configuration: Configuration
) -> None:
    metrics = credit(configuration)
    assert set(metrics) == set(Credit.metrics)
    assert 0.1 < metrics["loss"] < 0.4
    assert 0.0 < metrics["auroc_gap"] < 0.5
    assert metrics["latency_us"] > 0.0


def test_quality_is_the_same_whenever_it_is_measured(credit: Credit) -> None:
    forest = SPACE.decode((1, 4), SPACE.centre)
    first, second = credit(forest), credit(forest)
    assert first["loss"] == second["loss"]
    assert first["auroc_gap"] == second["auroc_gap"]


def test_confirmation_reports_the_gap_between_its_own_bands(credit: Credit) -> None:
    confirmed = credit.confirm(every_algorithm_once()[1])
    scores = list(confirmed.by_band.values())
    assert len(scores) == len(BANDS)
    assert confirmed.metrics["auroc_gap"] == max(scores) - min(scores)
    assert 0.0 < confirmed.gap_error < 0.1


def test_auroc_is_that_of_scikit_learn_ties_included() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        bad = rng.random(50) < 0.3
        risk = rng.integers(0, 8, 50) / 8.0 + bad * rng.random()
        assert auroc(bad, risk) == pytest.approx(roc_auc_score(bad, risk), abs=1e-12)


def test_the_fence_of_the_demo_bounds_latency_and_gap(credit: Credit) -> None:
    task = problem(credit, latency_us=10.0, auroc_gap=0.1)
    assert [str(c) for c in task.constraints] == ["latency_us <= 10", "auroc_gap <= 0.1"]
    assert task.space.size == 35

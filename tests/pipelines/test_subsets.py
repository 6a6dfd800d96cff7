from itertools import pairwise

import numpy as np
import pytest

from fenceline.errors import MeasurementError
from fenceline.pipelines.subsets import FEWEST_PER_CELL, shares, subset

ROWS = np.arange(7, 20_007)
CELLS = np.random.default_rng(1).choice(4, len(ROWS), p=[0.7, 0.25, 0.048, 0.002])


def test_a_larger_share_holds_all_rows_of_a_smaller_one():
    parts = [set(subset(ROWS, share, CELLS)) for share in (0.05, 0.2, 0.8, 1.0)]
    assert all(small < large for small, large in pairwise(parts))
    assert parts[-1] == set(ROWS)


def test_every_cell_keeps_its_share_but_never_too_few_rows():
    part = subset(ROWS, 0.1, CELLS)
    before, after = np.bincount(CELLS), np.bincount(CELLS[part - 7])
    assert after[:2] == pytest.approx(0.1 * before[:2], abs=1)
    assert after[2] == max(FEWEST_PER_CELL, np.ceil(0.1 * before[2]))
    assert after[3] == min(FEWEST_PER_CELL, before[3])


def test_without_cells_the_rows_are_a_plain_share():
    assert len(subset(ROWS, 0.1, None)) == 2_000
    assert (np.diff(subset(ROWS, 0.1, None)) > 0).all()


def test_a_share_outside_of_its_range_is_refused():
    with pytest.raises(MeasurementError, match="fidelity"):
        subset(ROWS, 0.0, CELLS)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [(1_000, []), (5_000, []), (20_000, [2_500, 10_000]), (200_000, [2_500, 10_000, 40_000])],
)
def test_shares_begin_with_few_rows_and_grow_fourfold(rows, wanted):
    assert [share * rows for share in shares(rows)] == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize(("balance", "wanted"), [(0.5, [5_000, 20_000]), (0.01, [20_000])])
def test_with_a_rare_class_a_look_needs_more_rows_but_never_more_than_half(balance, wanted):
    assert [share * 40_000 for share in shares(40_000, balance)] == pytest.approx(wanted, rel=0.01)

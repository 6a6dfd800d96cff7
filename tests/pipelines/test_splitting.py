import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, TimeSeriesSplit

from fenceline.errors import DefinitionError
from fenceline.metrics import Table
from fenceline.pipelines.splitting import Splitting, is_splitter

ROWS = 300
Y = np.arange(ROWS) % 3 == 0
GROUPS = np.repeat(np.arange(30), 10)


def table(y=Y, task="binary"):
    return Table(np.arange(len(y))[:, None].astype(float), y.astype(int), task)


def test_what_splits_is_told_from_numbers_pairs_and_texts():
    assert is_splitter(KFold(3))
    assert not any(is_splitter(cv) for cv in (3, 0.3, [([0], [1])], "a b", None))


def test_the_last_rows_of_a_time_series_certify_with_the_gap_that_folds_have():
    splitting = Splitting(TimeSeriesSplit(3, gap=5))
    search, unseen = splitting.apart(table(), 0.2, 0)
    assert np.array_equal(unseen, np.arange(240, 300))
    assert np.array_equal(search, np.arange(235))
    pairs = splitting.take(search).pairs(table().take(search))
    assert len(pairs) == 3
    assert all(train.max() + 5 < valid.min() for train, valid in pairs)


@pytest.mark.parametrize("splitter", [GroupKFold(3), StratifiedGroupKFold(3)])
def test_groups_stay_together_in_folds_and_in_the_certificate(splitter):
    splitting = Splitting(splitter, GROUPS)
    search, unseen = splitting.apart(table(), 0.3, 0)
    assert not set(GROUPS[search]) & set(GROUPS[unseen])
    assert len(search) + len(unseen) == ROWS
    assert len(unseen) == pytest.approx(90, abs=20)
    own = GROUPS[search]
    for train, valid in splitting.take(search).pairs(table().take(search)):
        assert not set(own[train]) & set(own[valid])


def test_the_draw_of_groups_whose_classes_are_like_all_is_taken():
    y = GROUPS < 6  # whole groups of one class
    _, unseen = Splitting(GroupKFold(3), GROUPS).apart(table(y), 0.3, 0)
    assert y[unseen].mean() == pytest.approx(0.2, abs=0.1)


def test_any_rows_certify_where_rows_are_alike():
    assert Splitting(KFold(3)).apart(table(), 0.3, 0) is None
    assert len(Splitting(KFold(3)).pairs(table())) == 3


@pytest.mark.parametrize(
    ("splitting", "rows", "message"),
    [
        (Splitting(GroupKFold(3)), table(), "cv=GroupKFold cannot split 300 rows.*cv_group="),
        (Splitting(GroupKFold(40), GROUPS), table(), "number of groups: 30.*use fewer folds"),
        (Splitting(TimeSeriesSplit(400)), table(), "cv=TimeSeriesSplit cannot split 300 rows"),
        (Splitting(KFold(3)), table(np.arange(ROWS) < 100), "fold 1 has rows of one class only"),
    ],
)
def test_what_a_splitter_cannot_do_is_said_at_the_door(splitting, rows, message):
    with pytest.raises(DefinitionError, match=message):
        splitting.pairs(rows)


def test_a_splitter_that_makes_nothing_and_a_single_group_are_refused():
    class Nothing:
        def split(self, X, y, groups):
            return iter(())

    with pytest.raises(DefinitionError, match="makes no fold of 300 rows"):
        Splitting(Nothing()).pairs(table())
    with pytest.raises(DefinitionError, match="all rows are of one group"):
        Splitting(GroupKFold(2), np.zeros(ROWS)).apart(table(), 0.3, 0)

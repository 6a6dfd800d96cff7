import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.prepare import (
    as_table,
    preparation,
    warn_of_empty_columns,
)
from fenceline.pipelines.fitting.prepare_columns import date_numbers
from fenceline.pipelines.fitting.prepare_encoding import MOST_CATEGORIES

TABLE = pd.DataFrame(
    {
        "amount": [1.0, np.nan, 3.0, 4.0] * 5,
        "count": pd.array([1, None, 3, 4] * 5, dtype="Int64"),
        "yes": [True, False] * 10,
        "maybe": pd.array([True, None] * 10, dtype="boolean"),
        "town": ["Oslo", "Bern", None, "Oslo"] * 5,
        "grade": pd.Categorical(["a", "b"] * 10),
        "mixed": ["x", 1, None, 2.5] * 5,
        "when": pd.to_datetime(["2026-01-05", None, "2026-03-01", "2027-01-01"] * 5),
        "zoned": pd.to_datetime(["2026-01-05"] * 20, utc=True),
    }
)


def prepared(table, new=None):
    fitted = clone(preparation(table)).fit(table)
    return fitted, fitted.transform(table if new is None else new)


def test_columns_of_every_kind_become_finite_numbers():
    _, numbers = prepared(TABLE)
    assert numbers.dtype == np.float64
    assert numbers.shape[0] == len(TABLE)
    assert np.isfinite(numbers).all()


def test_every_column_made_has_a_name():
    fitted, numbers = prepared(TABLE)
    assert len(fitted.get_feature_names_out()) == numbers.shape[1]
    assert "when_month" in fitted.get_feature_names_out()


def test_a_table_of_numbers_alone_is_only_imputed():
    frame = pd.DataFrame({"a": [1.0, np.nan, 5.0], "b": [True, False, True]})
    step = preparation(frame)
    assert step.fit_transform(frame).tolist() == [[1, 1], [3, 0], [5, 1]]
    assert step.get_feature_names_out().tolist() == ["a", "b"]


def test_missing_numbers_become_the_median_of_the_rows_fitted_on():
    fitted = clone(preparation(TABLE)).fit(TABLE)
    new = TABLE.head(1).assign(amount=np.nan)
    assert fitted.transform(new)[0, 0] == 3.0


def test_values_never_seen_do_not_fail():
    new = TABLE.head(2).assign(town="Rome", grade="z", mixed="new")
    _, numbers = prepared(TABLE, new)
    assert np.isfinite(numbers).all()


def test_a_column_of_many_values_stays_narrow():
    table = pd.DataFrame({"id": [f"n{i}" for i in range(500)] * 2, "n": range(1000)})
    _, numbers = prepared(table)
    assert numbers.shape[1] <= MOST_CATEGORIES + 1


def test_a_date_becomes_days_and_parts():
    _, numbers = prepared(TABLE[["zoned"]])
    assert numbers[0].tolist() == [20458.0, 2026.0, 1.0, 5.0, 0.0, 0.0]


def test_columns_found_missing_in_one_fold_only_keep_their_place():
    fitted = clone(preparation(TABLE)).fit(TABLE.assign(amount=np.nan, town=None))
    assert np.isfinite(fitted.transform(TABLE)).all()


def test_an_array_of_objects_is_read_column_by_column():
    table = as_table(np.array([[1, "a"], [2, "b"], [3, "a"]], dtype=object))
    _, numbers = prepared(table)
    assert numbers.shape == (3, 3)
    assert numbers[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_columns_may_be_named_by_numbers():
    table = pd.DataFrame([[1.0, "a"], [2.0, "b"], [3.0, "a"], [3.0, "b"]])
    _, numbers = prepared(table)
    assert numbers.shape == (4, 3)


def test_a_sparse_table_is_made_dense_when_it_is_small_and_kept_when_it_is_not(monkeypatch):
    X = sparse.random_array((20, 5), density=0.3, rng=0)
    assert isinstance(prepared(as_table(X))[1], np.ndarray)
    monkeypatch.setattr("fenceline.pipelines.fitting.prepare.DENSE_CELLS", 10)
    assert sparse.issparse(prepared(as_table(X))[1])


def test_a_frame_that_offers_pandas_is_converted():
    class Frame:
        columns = ("a",)

        def to_pandas(self):
            return pd.DataFrame({"a": [1, 2]})

    assert as_table(Frame()).equals(pd.DataFrame({"a": [1, 2]}))


def test_repeated_column_names_are_refused_by_name():
    with pytest.raises(DefinitionError, match=r"several columns named \['a'\]"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_column_without_any_value_is_left_out_with_a_warning():
    table = TABLE.assign(nothing=None)
    with pytest.warns(UserWarning, match="'nothing'"):
        warn_of_empty_columns(table)
    assert np.isfinite(prepared(table)[1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_empty_columns(TABLE)


def test_a_table_without_any_value_is_refused():
    with pytest.raises(DefinitionError, match="nothing to learn"):
        preparation(pd.DataFrame({"a": [None, None]}))


def test_numbers_are_imputed_as_by_scikit_learns_own_median():
    table = np.random.default_rng(0).normal(size=(41, 4))
    table[::3, 0] = table[1::4, 1] = table[:, 2] = np.nan
    theirs = SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(table)
    assert np.array_equal(preparation(table).fit_transform(table), theirs)


FAR = pd.Timestamp("9999-12-31")


@pytest.mark.parametrize("unit", ["s", "us"])
def test_the_last_date_of_all_is_a_date(unit):
    """As databases write it where something has no end."""
    dates = pd.Series([pd.Timestamp("2020-01-02"), FAR], dtype=f"datetime64[{unit}]")
    found = date_numbers(dates.to_frame())
    assert found[:, 0].tolist() == [18263.0, 2932896.0]
    assert found[1, 1:].tolist() == [9999, 12, 31, 4, 0]


@pytest.mark.parametrize("later", [[FAR.to_pydatetime()] * 2, ["9999-12-31"] * 2])
def test_it_may_come_later_than_the_fit(later):
    fitted = preparation(pd.DataFrame({"d": pd.to_datetime(["2020-01-02", "2020-01-03"])}))
    fitted.fit(pd.DataFrame({"d": pd.to_datetime(["2020-01-02", "2020-01-03"])}))
    found = fitted.transform(pd.DataFrame({"d": pd.Series(later, dtype=object)}))
    assert np.isfinite(found).all()


def test_decimals_and_durations_of_arrow_are_numbers_also_where_some_are_missing():
    pa = pytest.importorskip("pyarrow")
    decimals = pa.array([Decimal("1.5"), None], pa.decimal128(10, 2))
    durations = pa.array([None, 1_500_000], pa.duration("us"))
    given = pd.DataFrame(
        {0: pd.arrays.ArrowExtensionArray(decimals), 1: pd.arrays.ArrowExtensionArray(durations)}
    )
    found = as_table(given)
    np.testing.assert_equal(found.to_numpy(), [[1.5, np.nan], [np.nan, 1.5]])
    assert isinstance(given.dtypes[0], pd.ArrowDtype), "what was given stays as it is"

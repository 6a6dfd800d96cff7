import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
)

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting.prepare import has_categories, preparation
from fenceline.pipelines.fitting.prepare_columns import (
    PARTS,
    date_names,
    date_numbers,
    text_codes,
)
from fenceline.pipelines.fitting.prepare_encoding import target_encoder
from fenceline.pipelines.fitting.prepare_table import FEW_ROWS, TablePreparation


def mixed(rows, seed):
    """Return columns of every kind, with rare, missing and many values."""
    rng = np.random.default_rng(seed)

    def some(values, share=0.1):
        chosen = pd.Series(rng.choice(np.array(values, dtype=object), rows))
        return chosen.where(rng.random(rows) > share, None)

    towns = [f"t{i}" for i in range(50)]
    table = pd.DataFrame(
        {
            "town": some(towns),
            "amount": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows)),
            "few": some(["b", "a", "ß"], 0.0).astype("str"),
            "count": pd.array(rng.integers(0, 9, rows), dtype="Int64"),
            "grade": pd.Categorical(some([3, 1, 2]), categories=[3, 2, 1, 7]),
            "share": pd.Categorical(some([0.25, 1e-7, 3.0])),
            "yes": rng.random(rows) < 0.5,
            "maybe": pd.array(rng.random(rows) < 0.5, dtype="boolean"),
            "mixed": some(["1", 1, 1.0, True, 2.5]),
            "id": [f"n{i}" for i in rng.permutation(rows)],
            "when": pd.Series(pd.Timestamp("2026-01-05 03:00")).repeat(rows).to_numpy()
            + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="s"),
            "zoned": pd.date_range("2025-01-01", periods=rows, tz="Europe/Oslo", freq="7h"),
            "span": pd.to_timedelta(rng.integers(0, 3, rows), unit="D"),
        }
    )
    table.loc[rng.random(rows) < 0.1, "count"] = pd.NA
    table.loc[rng.random(rows) < 0.1, "maybe"] = pd.NA
    table.loc[rng.random(rows) < 0.1, "when"] = pd.NaT
    return table


def text(X):
    """Turn values into text one by one."""
    found = X.astype(object).astype(str).to_numpy(dtype=object, copy=True)
    found[pd.isna(X).to_numpy()] = np.nan
    return found


def plain_text(X):
    """Return the texts that are looked up."""
    found = [text_codes(X.iloc[:, place]) for place in range(X.shape[1])]
    return np.column_stack([np.array([*texts, np.nan], dtype=object)[c] for c, texts in found])


def named(step):
    """Return the names of columns, parts of dates as scikit-learn's steps name them."""
    dates = {f"{c}_{part}": f"{part}__{c}" for c in step.dates for part in PARTS}
    return [dates.get(name, name) for name in step.get_feature_names_out()]


def plain(step, encode):
    """Return scikit-learn's own steps for the columns of a preparation."""
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    clean = FunctionTransformer(text, feature_names_out="one-to-one")
    dates = FunctionTransformer(date_numbers, feature_names_out=date_names)
    parts = [
        ("number", impute, step.numbers),
        ("date", make_pipeline(dates, impute), step.dates),
        ("text", make_pipeline(clean, *encode), step.texts),
    ]
    return ColumnTransformer([p for p in parts if p[2]], verbose_feature_names_out=False)


ONEHOT = OneHotEncoder(
    handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=30, sparse_output=False
)
CODES = OrdinalEncoder(
    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
)
ENCODE = {"onehot": [ONEHOT], "ordinal": [CODES], "target": [target_encoder(False)]}
TRAIN, NEW = mixed(400, 0), mixed(300, 1)
Y = np.random.default_rng(2).integers(0, 2, 400)


@pytest.mark.parametrize("encoder", ENCODE)
@pytest.mark.parametrize("rows", [1, 3, FEW_ROWS, FEW_ROWS + 1, 300])
def test_it_does_to_the_last_bit_what_plain_steps_do(encoder, rows):
    ours = preparation(TRAIN).set_params(encoder=encoder)
    theirs = plain(ours, ENCODE[encoder])
    assert np.array_equal(ours.fit_transform(TRAIN, Y), theirs.fit_transform(TRAIN, Y))
    for first in range(0, 300, max(rows, 60)):
        new = NEW.iloc[first : first + rows]
        assert np.array_equal(ours.transform(new), theirs.transform(new))
    names = theirs.get_feature_names_out().tolist()
    assert ours.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("seed", range(5))
def test_small_tables_where_nearly_everything_is_rare_are_the_same_too(seed):
    table, new = mixed(12, seed), mixed(40, seed + 10)
    ours = preparation(table)
    theirs = plain(ours, [ONEHOT]).fit(table)
    ours.fit(table)
    assert np.array_equal(ours.transform(new), theirs.transform(new))
    assert np.array_equal(ours.transform(new.head(4)), theirs.transform(new.head(4)))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize("encoder", ENCODE)
@pytest.mark.parametrize("rows", [12, 400])
def test_it_can_be_turned_into_plain_steps(encoder, rows):
    ours = preparation(TRAIN).set_params(encoder=encoder).fit(TRAIN.head(rows), Y[:rows])
    theirs = ours.to_sklearn()
    assert isinstance(theirs, ColumnTransformer)
    assert np.array_equal(ours.transform(NEW), theirs.transform(NEW))
    assert named(ours) == theirs.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("y", "regression"), [(np.resize(["a", "b", "c"], 400), False), (np.arange(400.0), True)]
)
def test_means_of_several_classes_and_of_numbers_are_scikit_learns(y, regression):
    ours = preparation(TRAIN).set_params(encoder="target", regression=regression)
    theirs = plain(ours, [target_encoder(regression)])
    assert np.array_equal(ours.fit_transform(TRAIN, y), theirs.fit_transform(TRAIN, y))
    for new in (NEW, NEW.head(2)):
        assert np.array_equal(ours.transform(new), theirs.transform(new))
        assert np.array_equal(ours.transform(new), ours.to_sklearn().transform(new))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_a_whole_number_to_predict_is_no_class():
    ours = preparation(TRAIN).set_params(encoder="target", regression=True)
    made = ours.fit_transform(TRAIN, np.arange(400) % 7)
    assert made.shape[1] == len(ours.medians_) + len(ours.texts)


def test_single_precision_is_imputed_in_single_precision():
    table = pd.DataFrame({"a": np.float32([0.1, 0.2, np.nan, 0.7, 0.9]), "b": list("xyxyx")})
    ours = preparation(table).fit(table)
    theirs = plain(ours, [ONEHOT]).fit(table)
    for new in (table, table.loc[[2] * 20]):
        assert np.array_equal(ours.transform(new), theirs.transform(new))


def test_a_column_missing_in_the_rows_fitted_on_keeps_its_place():
    table = TRAIN.assign(amount=np.nan, town=None)
    for encoder, encode in ENCODE.items():
        ours = preparation(TRAIN).set_params(encoder=encoder).fit(table, Y)
        theirs = plain(ours, encode).fit(table, Y)
        assert np.array_equal(ours.transform(NEW), theirs.transform(NEW))
        assert np.array_equal(ours.to_sklearn().transform(NEW), theirs.transform(NEW))


def test_columns_are_found_by_name_in_any_order():
    ours = preparation(TRAIN).fit(TRAIN)
    turned = NEW[NEW.columns[::-1]]
    for rows in (2, 100):
        assert np.array_equal(ours.transform(turned.head(rows)), ours.transform(NEW.head(rows)))
    with pytest.raises(ValueError, match=r"missing: \['town'\]"):
        ours.transform(NEW.drop(columns="town"))


def test_columns_named_by_numbers_are_found_by_place():
    table = pd.DataFrame([[1.0, "a"], [2.0, "b"], [np.nan, "a"], [3.0, "b"]])
    ours = preparation(table).fit(table)
    assert ours.transform(table.head(1)).tolist() == [[1, 1, 0]]
    assert ours.get_feature_names_out().tolist() == ["x0", "x1_a", "x1_b"]
    assert np.array_equal(ours.to_sklearn().transform(table), ours.transform(table))


@pytest.mark.parametrize("rows", [1, 50])
def test_infinity_is_refused(rows):
    ours = preparation(TRAIN).fit(TRAIN)
    with pytest.raises(ValueError, match=r"infinity in \['amount'\]"):
        ours.transform(NEW.head(rows).assign(amount=np.inf))


def test_codes_of_few_categories_are_native_ones():
    table = pd.DataFrame(
        {"n": np.arange(600.0), "many": [f"n{i // 2}" for i in range(600)], "few": ["a", "b"] * 300}
    )
    ours = preparation(table).set_params(encoder="ordinal").fit(table)
    assert ours.native_ == [2]
    assert preparation(table).fit(table).native_ == []


def test_it_is_copied_and_stored_like_any_other_step():
    ours = preparation(TRAIN).fit(TRAIN)
    lean = len(pickle.dumps(ours))
    expected = ours.transform(NEW)
    assert len(pickle.dumps(ours)) == lean
    assert np.array_equal(pickle.loads(pickle.dumps(ours)).transform(NEW), expected)
    copied = clone(ours)
    with pytest.raises(NotFittedError):
        copied.transform(NEW)
    assert np.array_equal(copied.fit(TRAIN).transform(NEW), expected)


def test_fitted_again_on_another_table_nothing_of_the_first_stays():
    ours = TablePreparation(texts=[0], encoder="target").fit(
        pd.DataFrame({"a": list("xyxy") * 5}), [0, 1] * 10
    )
    ours.set_params(encoder="onehot").fit(pd.DataFrame([["u"], ["v"]] * 2))
    assert not hasattr(ours, "feature_names_in_")
    assert not hasattr(ours, "target_encoder_")
    assert ours.transform(pd.DataFrame([["v"]])).tolist() == [[0, 1]]


def test_an_unknown_encoder_is_refused_by_name():
    with pytest.raises(DefinitionError, match="'frequency'"):
        preparation(TRAIN).set_params(encoder="frequency").fit(TRAIN)


def test_texts_are_those_of_the_values_one_by_one():
    X = TRAIN.select_dtypes(["object", "string", "category", "timedelta"])
    assert X.shape[1] == 7
    for rows in (X, X.dropna(), X.head(1)):
        assert pd.DataFrame(plain_text(rows)).equals(pd.DataFrame(text(rows)))


def test_whole_numbers_as_categories_are_the_same_text_beside_missing_ones():
    # pandas itself says "1.0" where a value is missing, and "1" where none is.
    grades = pd.DataFrame({"grade": pd.Categorical([1, 2, None])})
    assert (
        plain_text(grades)[:2, 0].tolist()
        == plain_text(grades.head(2))[:, 0].tolist()
        == ["1", "2"]
    )


def test_dates_as_categories_are_the_text_that_a_column_without_categories_has():
    days = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02", None]))})
    assert plain_text(days).tolist() == plain_text(days.astype(object)).tolist()
    ours = preparation(days).fit(days)
    assert np.array_equal(ours.to_sklearn().transform(days), ours.transform(days))


def test_only_texts_and_categories_ask_for_an_encoder():
    assert has_categories(TRAIN)
    assert not has_categories(TRAIN[["amount", "when", "yes"]])
    assert not has_categories(np.ones((3, 2)))

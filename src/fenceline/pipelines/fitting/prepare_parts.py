"""A prepared table in plain scikit-learn: the same output from steps that everybody knows.

No function of this package is among the steps, for a file that names one would load nowhere else. Where
scikit-learn has no step, a method or function of pandas is called through a ``FunctionTransformer``.
"""

from collections.abc import Sequence
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from fenceline.pipelines.fitting.prepare_columns import DATE_PARTS, PARTS
from fenceline.pipelines.fitting.prepare_encoding import (
    FEWEST_ROWS,
    MOST_CATEGORIES,
    EncodingTable,
    Texts,
    target_encoder,
)

if TYPE_CHECKING:
    from fenceline.pipelines.fitting.prepare_table import TablePreparation

_FEWEST_SAMPLES = 10
"""Rows of each class in the made-up table: the folds of a target encoder ask for five."""


def plain_parts(prepared: "TablePreparation") -> ColumnTransformer:
    """Return the equal of a fitted preparation, made of plain scikit-learn steps.

    The steps are fitted to a small made-up table that has the same categories, and then given
    the medians and means that were learnt.
    """
    dates = [(f"date: {name}", _date(), [name]) for name in prepared.dates]
    whole = ColumnTransformer(
        [
            *([("number", imputer(), prepared.numbers)] if len(prepared.numbers) else []),
            *dates,
            *([("text", _texts(prepared), prepared.texts)] if len(prepared.texts) else []),
        ],
        verbose_feature_names_out=False,
    )
    whole.fit(*_sample(prepared))
    fitted = whole.named_transformers_
    split = len(prepared.numbers)
    if len(prepared.numbers):
        fitted["number"].statistics_ = prepared.medians_[:split].copy()
    for (name, _, _), medians in zip(
        dates, prepared.medians_[split:].reshape(-1, len(PARTS)), strict=True
    ):
        fitted[name][-1].statistics_ = medians.copy()
    if len(prepared.texts) and prepared.encoder == "target":
        # The means are those of codes, so that the encoder need not be learnt again.
        fitted["text"].steps[-1] = ("targetencoder", prepared.target_encoder_)
    return whole


def imputer() -> SimpleImputer:
    """Return scikit-learn's imputer of medians, which keeps a column that is missing altogether."""
    return SimpleImputer(strategy="median", keep_empty_features=True)


def dense() -> Pipeline:
    """Return steps that make a sparse table dense, and leave a dense one as it is."""
    return make_pipeline(
        FunctionTransformer(csr_matrix, accept_sparse=True),
        FunctionTransformer(methodcaller("toarray"), accept_sparse=True),
    )


def _date() -> Pipeline:
    """Return unfitted steps that turn a column of dates into days since 1970 and the parts that repeat."""
    days = _steps(
        methodcaller("__sub__", np.datetime64(0, "s")),
        methodcaller("__truediv__", np.timedelta64(1, "D")),
        *_AS_COLUMN,
    )
    parts = [(part, _steps(attrgetter(part), *_AS_COLUMN)) for part in DATE_PARTS]
    return make_pipeline(
        *_called(methodcaller("squeeze", 1)),
        _called(pd.to_datetime)[0].set_params(kw_args={"utc": True}),
        *_called(pd.DatetimeIndex, methodcaller("tz_localize", None)),
        FeatureUnion([("days", days), *parts]),
        imputer(),
    )


_AS_COLUMN = methodcaller("to_numpy", "float64"), methodcaller("reshape", -1, 1)
_AS_TEXT = (
    # By way of objects: categories 1 and 2 beside a missing one would be "1.0" and "2.0".
    methodcaller("astype", "object"),
    methodcaller("astype", "string"),
    methodcaller("astype", "object"),
    methodcaller("fillna", np.nan),
)


def _called(*functions: Any) -> list[FunctionTransformer]:
    return [FunctionTransformer(f, feature_names_out="one-to-one") for f in functions]


def _steps(*functions: Any) -> Pipeline:
    return make_pipeline(*_called(*functions))


def _texts(prepared: "TablePreparation") -> Pipeline:
    """Return the unfitted steps that encode texts."""
    clean = _called(*_AS_TEXT)
    if prepared.encoder == "onehot":
        return make_pipeline(
            *clean,
            OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                min_frequency=FEWEST_ROWS,
                max_categories=MOST_CATEGORIES,
                sparse_output=False,
            ),
        )
    target = prepared.encoder == "target"
    codes = OrdinalEncoder(
        categories=[np.append(texts, np.nan) for texts in prepared.texts_],
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        encoded_missing_value=np.nan if target else -1,
    )
    means = [target_encoder(prepared.regression)] if target else []
    return make_pipeline(*clean, codes, *means)


def _sample(prepared: "TablePreparation") -> tuple[pd.DataFrame, NDArray[Any]]:
    """Make up rows and targets from which the same categories and classes are learnt."""
    needed = [_values(*found) for found in zip(prepared.texts_, prepared.tables_, strict=True)]
    classes = getattr(getattr(prepared, "target_encoder_", None), "classes_", None)
    rows = max([1, *map(len, needed)])
    if prepared.encoder == "target":
        rows = max(rows, _FEWEST_SAMPLES * (1 if classes is None else len(classes)))
    count = prepared.n_features_in_
    names = getattr(prepared, "feature_names_in_", None)
    columns: dict[Any, Any] = dict.fromkeys(range(count) if names is None else names)
    columns |= dict.fromkeys(prepared.numbers, 0.0)
    columns |= {name: pd.Timestamp(0, tz="UTC") for name in prepared.dates}
    for name, values in zip(prepared.texts, needed, strict=True):
        columns[name] = _padded(values, rows)
    y = np.zeros(rows) if classes is None else np.resize(classes, rows)
    return pd.DataFrame(columns, index=range(rows)), y


def _values(texts: Texts, table: EncodingTable) -> list[Any]:
    """Return values of which a one-hot encoder makes these columns."""
    rare = bool(table[-1].any())
    kept = [*texts, *[np.nan] * (table.shape[1] - len(texts) - rare)]
    return kept * FEWEST_ROWS + [f"rare {texts!r}"] * rare


def _padded(values: Sequence[Any], rows: int) -> pd.Series:
    """Repeat what is frequent; where nothing is, make up more that is rare."""
    frequent = values[:1] if len(values) >= FEWEST_ROWS else []
    more = [*frequent] * (rows - len(values)) or [f"rare {i}" for i in range(rows - len(values))]
    return pd.Series([*values, *more], dtype=object)

"""One step that makes a mixed table numeric: learnt once, then plain lookups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fenceline.errors import DefinitionError
from fenceline.pipelines.fitting import prepare_encoding as encoding
from fenceline.pipelines.fitting.encoders import ENCODERS
from fenceline.pipelines.fitting.prepare_columns import (
    INFINITE,
    date_names,
    date_numbers,
    median,
    numbers_of,
    text_codes,
)

FEW_ROWS = 20
"""Up to so many rows are looked up value by value; beyond, column by column takes less time."""
NATIVE_CATEGORIES = 254
"""Codes of a column with more categories, beside the missing ones, are numbers to every model:
scikit-learn's gradient boosting takes at most 255."""

_LEARN: dict[str, Callable[..., Any]] = {
    "onehot": encoding.onehot,
    "ordinal": encoding.ordinal,
    "target": encoding.ordinal,
}


class TablePreparation(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Makes a table of numbers, dates and texts numeric.

    Missing numbers become the median, dates days and parts that repeat, and texts and categories
    are encoded. :meth:`to_sklearn` returns plain scikit-learn steps that do the same; this one
    predicts single rows in a fraction of the time.

    Parameters
    ----------
    numbers, dates, texts : list of str or of int
        The columns of each kind, by name, or by position where not all names are texts. Others
        are left out.
    encoder : {"onehot", "ordinal", "target"}
        ``"onehot"``: a column for each text, rare ones together, missing ones apart.
        ``"ordinal"``: texts in order become 0, 1, 2 ..., missing and unknown ones -1.
        ``"target"``: the mean of the target, smoothed and cross-fitted as by scikit-learn's
        ``TargetEncoder``; for more than two classes, one for each.
    regression : bool
        Whether the target is a number; matters to ``"target"`` alone.

    Attributes
    ----------
    medians_ : array
        What stands for a missing number: of the number columns, then of the parts of dates.
    texts_ : list of arrays
        For each text column, the texts that have a row of their own in its table.
    tables_ : list of arrays
        For each text column, what becomes of its texts; the last two rows are for missing and
        for unknown ones.
    target_encoder_ : TargetEncoder
        Of codes, with ``encoder="target"``.
    """

    def __init__(
        self,
        numbers: Sequence[Any] = (),
        dates: Sequence[Any] = (),
        texts: Sequence[Any] = (),
        *,
        encoder: str = "onehot",
        regression: bool = False,
    ) -> None:
        self.numbers = numbers
        self.dates = dates
        self.texts = texts
        self.encoder = encoder
        self.regression = regression

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn medians and encodings."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> NDArray[np.float64]:
        """Learn medians and encodings, and return the table made numeric.

        With ``encoder="target"`` a row is encoded by the target of other rows only.
        """
        if self.encoder not in ENCODERS:
            raise DefinitionError(f"encoder must be one of {ENCODERS!r}. Got {self.encoder!r}.")
        self._forget()
        self.n_features_in_ = X.shape[1]
        if _named(X):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        at = self._places(X)
        blocks = _blocks(X, at)
        self.medians_ = np.array(
            [median(values[~np.isnan(values)]) for block in blocks for values in block.T]
        )
        coded = [text_codes(X.iloc[:, place]) for place in at.texts]
        learnt = [_LEARN[self.encoder](*found) for found in coded]
        self.texts_ = [texts for texts, _ in learnt]
        self.tables_ = [table for _, table in learnt]
        rows = [
            encoding.rows_of(encoding.lookup(texts), *found)
            for texts, found in zip(self.texts_, coded, strict=True)
        ]
        if self.encoder != "target" or not rows:
            return self._assembled(blocks, rows)
        self.tables_, crossed, self.target_encoder_ = encoding.by_target(
            self.texts_, rows, y, regression=self.regression
        )
        out = self._assembled(blocks, rows)
        out[:, len(self.medians_) :] = crossed
        return out

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return a table made numeric."""
        check_is_fitted(self, "tables_")
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X, columns=getattr(self, "feature_names_in_", None))
        found = self._index
        at = found.places if _same(X.columns, found.columns) else self._places(X)
        try:
            if len(X) <= FEW_ROWS:
                return self._looked_up(X, at, found)
            rows = [
                encoding.rows_of(known, *text_codes(X.iloc[:, place]))
                for known, place in zip(found.lookups, at.texts, strict=True)
            ]
            return self._assembled(_blocks(X, at), rows)
        except (TypeError, ValueError) as problem:
            raise _not_numbers(X, at) or problem from None

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns made, as scikit-learn's own steps name them."""
        check_is_fitted(self, "tables_")
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            given = [f"x{i}" for i in range(self.n_features_in_)]
        if input_features is not None:
            if len(input_features) != self.n_features_in_:
                raise ValueError(f"input_features should have length {self.n_features_in_}.")
            given = input_features
        at = self._index.places
        made = [given[i] for i in at.numbers] + date_names(None, [given[i] for i in at.dates])
        classes = getattr(getattr(self, "target_encoder_", None), "classes_", None)
        for place, texts, table in zip(at.texts, self.texts_, self.tables_, strict=True):
            made += encoding.names(texts, table, given[place], self.encoder, classes)
        return np.asarray(made, dtype=object)

    @property
    def number_places_(self) -> list[int]:
        """Which columns of the table the first columns made are, one for one."""
        return list(self._index.places.numbers)

    @property
    def native_(self) -> list[int]:
        """The columns made that hold codes of a few categories, in no meaningful order."""
        if self.encoder != "ordinal":
            return []
        first = len(self.medians_)
        return [first + i for i, t in enumerate(self.texts_) if len(t) <= NATIVE_CATEGORIES]

    def to_sklearn(self) -> Any:
        """Return a fitted transformer of plain scikit-learn steps whose output is the same."""
        from fenceline.pipelines.fitting.prepare_parts import plain_parts

        check_is_fitted(self, "tables_")
        return plain_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_made"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.encoder == "target"
        return tags

    def _forget(self) -> None:
        for name in ("feature_names_in_", "target_encoder_", "_made"):
            self.__dict__.pop(name, None)

    @property
    def _index(self) -> "_Index":
        """What lookups need, made when they are first asked for."""
        made: _Index | None = self.__dict__.get("_made")
        if made is None:
            names = getattr(self, "feature_names_in_", None)
            columns = pd.Index(range(self.n_features_in_) if names is None else names)
            places = self._places(pd.DataFrame(columns=columns))
            lookups = [encoding.lookup(texts) for texts in self.texts_]
            rows = [table.tolist() for table in self.tables_]
            made = self._made = _Index(columns, places, lookups, rows)
        return made

    def _places(self, X: pd.DataFrame) -> "_Places":
        """Return where the columns of each kind are."""
        return _Places(*(_found(X, wanted) for wanted in (self.numbers, self.dates, self.texts)))

    def _assembled(
        self, blocks: Sequence[NDArray[Any]], rows: Sequence[NDArray[np.intp]]
    ) -> NDArray[np.float64]:
        """Put numbers, parts of dates and what texts become side by side."""
        first = len(self.medians_)
        out = np.empty((len(blocks[0]), first + sum(t.shape[1] for t in self.tables_)))
        np.concatenate(blocks, axis=1, out=out[:, :first])
        plain = out[:, :first]
        holes = np.isnan(plain)
        if holes.any():
            np.copyto(plain, self.medians_, where=holes)
        for table, chosen in zip(self.tables_, rows, strict=True):
            out[:, first : first + table.shape[1]] = table[chosen]
            first += table.shape[1]
        return out

    def _looked_up(self, X: pd.DataFrame, at: "_Places", index: "_Index") -> NDArray[np.float64]:
        """Prepare a few rows value by value: to take a column apart costs more than to read it."""
        medians, cell = self.medians_, X.iat
        dates = date_numbers(X.iloc[:, list(at.dates)]) if at.dates else None
        out = []
        for row in range(len(X)):
            values = [_number(cell[row, place]) for place in at.numbers]
            if np.inf in values or -np.inf in values:
                wrong = [
                    X.columns[p] for p, v in zip(at.numbers, values, strict=True) if np.isinf(v)
                ]
                raise DefinitionError(INFINITE.format(wrong))
            if dates is not None:
                values += dates[row].tolist()
            values = [m if v != v else v for v, m in zip(values, medians, strict=True)]
            for place, known, rows in zip(at.texts, index.lookups, index.rows, strict=True):
                value = cell[row, place]
                if type(value) is not str:
                    value = _text(X, row, place, value)
                values += rows[-2 if value is None else known.get(value, -1)]
            out.append(values)
        return np.array(out, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where in a table the columns of each kind are."""

    numbers: Sequence[int]
    dates: Sequence[int]
    texts: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Index:
    """What was learnt, in the form that is quickest to look up."""

    columns: "pd.Index[Any]"
    places: _Places
    lookups: list[dict[str, int]]
    rows: list[list[list[float]]]


def _named(X: pd.DataFrame) -> bool:
    return all(isinstance(name, str) for name in X.columns)


def _same(columns: "pd.Index[Any]", known: "pd.Index[Any]") -> bool:
    return columns is known or bool(columns.equals(known))


def _found(X: pd.DataFrame, wanted: Sequence[Any]) -> list[int]:
    if not all(isinstance(name, str) for name in wanted):
        return list(wanted)
    places = X.columns.get_indexer(pd.Index(wanted, dtype=object))
    missing = [name for name, place in zip(wanted, places, strict=True) if place < 0]
    if missing:
        raise ValueError(f"columns are missing: {missing!r}; the step was fitted with them.")
    return [int(place) for place in places]


def _blocks(X: pd.DataFrame, at: _Places) -> list[NDArray[Any]]:
    """Return numbers and parts of dates; NaN where one is missing."""
    blocks: list[NDArray[Any]] = [np.empty((len(X), 0))]
    if at.numbers:
        blocks.append(numbers_of(X.iloc[:, list(at.numbers)]))
    if at.dates:
        blocks.append(date_numbers(X.iloc[:, list(at.dates)]))
    return blocks


def _not_numbers(X: pd.DataFrame, at: _Places) -> DefinitionError | None:
    """Return the error that names columns which held numbers once and hold something else now."""
    for place in at.numbers:
        column = X.iloc[:, place]
        wrong = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
        if len(wrong):
            return DefinitionError(
                f"The column {X.columns[place]!r} held numbers when the model was fitted, and holds "
                f"{wrong.iloc[0]!r} now; give a number, or leave it missing."
            )
    return None


def _number(value: Any) -> float:
    try:
        return float(value)
    except TypeError:  # None and pandas' NA
        if not pd.isna(value):
            raise
        return np.nan


def _text(X: pd.DataFrame, row: int, place: int, value: Any) -> str | None:
    """Return the text of a value that is none, as the column as a whole would have it."""
    if value is None or (type(value) is float and value != value):
        return None
    if type(value) is int or isinstance(value, np.integer):
        return str(value)
    codes, texts = text_codes(X.iloc[row : row + 1, place])
    return None if codes[0] < 0 else texts[codes[0]]

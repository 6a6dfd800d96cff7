"""What the texts of a column become: a table with a row for each text, one for missing, one for unknown."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

MOST_CATEGORIES = 30
"""One-hot columns that one text column may become; rarer texts share the last."""
FEWEST_ROWS = 2
"""A text in fewer rows has no one-hot column of its own."""
_TARGET_FOLDS = 5

Texts: TypeAlias = NDArray[np.object_]
"""The texts of a column that have a row of their own in its table, in order."""
Rows: TypeAlias = NDArray[np.intp]
EncodingTable: TypeAlias = NDArray[np.float64]


def onehot(codes: Rows, found: Sequence[str]) -> tuple[Texts, EncodingTable]:
    """Return texts and their one-hot columns, as scikit-learn's ``OneHotEncoder`` chooses them.

    Parameters
    ----------
    codes : array of int
        For each row to learn from, the position of its text; -1 where it is missing.
    found : list of str
        Distinct texts.
    """
    texts, counts = _in_order(codes, found)
    missing = int(np.count_nonzero(codes < 0))
    if missing:
        counts = np.append(counts, missing)
    rare = counts < FEWEST_ROWS
    if counts.size - rare.sum() + 1 > MOST_CATEGORIES:
        # Stable, so that of equally frequent texts the last in order are kept.
        rare[np.argsort(counts, kind="stable")[: -(MOST_CATEGORIES - 1)]] = True
    kept = texts[~rare[: len(texts)]]
    width = int(counts.size - rare.sum() + rare.any())
    table = np.zeros((len(kept) + 2, width))
    table[range(len(kept)), range(len(kept))] = 1.0
    if missing and not rare[-1]:
        table[-2, len(kept)] = 1.0
    if rare.any():
        table[-1, -1] = 1.0
        table[-2, -1] = 1.0 - table[-2, :-1].sum()
    return kept, table


def ordinal(codes: Rows, found: Sequence[str]) -> tuple[Texts, EncodingTable]:
    """Return texts and their places in order; -1 for what is missing or unknown."""
    texts, _ = _in_order(codes, found)
    return texts, np.append(np.arange(len(texts)), [-1.0, -1.0]).reshape(-1, 1)


def by_target(
    known: Sequence[Texts], rows: Sequence[Rows], y: Any, *, regression: bool
) -> tuple[list[EncodingTable], NDArray[np.float64], TargetEncoder]:
    """Return the smoothed mean target of every text, and cross-fitted ones of the rows.

    Parameters
    ----------
    known : list of arrays
        The texts of every column.
    rows : list of arrays
        For every column, the rows of its table.
    y : array
        The target of each row.
    regression : bool
        Whether it is a number.
    """
    encoder = target_encoder(regression)
    codes = np.column_stack(
        [np.where(r < len(texts), r, np.nan) for r, texts in zip(rows, known, strict=True)]
    )
    crossed = encoder.fit_transform(codes, y)
    most = max(map(len, known))
    # -1 is no code, hence unknown.
    asked = np.repeat([[*range(most), np.nan, -1.0]], len(known), axis=0).T
    means = encoder.transform(asked).reshape(most + 2, len(known), -1)
    tables = [
        np.ascontiguousarray(np.delete(means[:, i], range(len(texts), most), axis=0))
        for i, texts in enumerate(known)
    ]
    return tables, crossed, encoder


def target_encoder(regression: bool) -> TargetEncoder:
    """Return scikit-learn's encoder, its folds the same every time."""
    kind = "continuous" if regression else "auto"
    if TargetEncoder().random_state != "deprecated":  # scikit-learn before 1.9
        return TargetEncoder(target_type=kind, cv=_TARGET_FOLDS, random_state=0)
    folds = (KFold if regression else StratifiedKFold)(_TARGET_FOLDS, shuffle=True, random_state=0)
    return TargetEncoder(target_type=kind, cv=folds)


def lookup(texts: Texts) -> dict[str, int]:
    """Return the row of each text in its column's table."""
    return {text: row for row, text in enumerate(texts)}


def rows_of(known: Mapping[str, int], codes: Rows, found: Sequence[str]) -> Rows:
    """Return the rows of a column's table: -2 for missing, -1 for unknown texts, counted from 0."""
    places = [known.get(text, len(known) + 1) for text in found]
    return np.array([*places, len(known)], dtype=np.intp)[codes]


def names(texts: Texts, table: EncodingTable, column: str, encoder: str, classes: Any) -> list[str]:
    """Name what a column becomes, as scikit-learn does."""
    if encoder == "target" and table.shape[1] > 1:
        return [f"{column}_{label}" for label in classes]
    if encoder != "onehot":
        return [column]
    rare = ["infrequent_sklearn"] if table[-1].any() else []
    missing = ["nan"] * (table.shape[1] - len(texts) - len(rare))
    return [f"{column}_{text}" for text in (*texts, *missing, *rare)]


def _in_order(codes: Rows, found: Sequence[str]) -> tuple[Texts, NDArray[np.int64]]:
    """Return the texts that occur, in order, and how often each does."""
    counts = np.bincount(codes[codes >= 0], minlength=len(found))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: found[code])
    texts = np.empty(len(order), dtype=object)
    texts[:] = [found[i] for i in order]
    return texts, counts[order]

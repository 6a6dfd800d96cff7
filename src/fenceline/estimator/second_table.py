"""A second table to certify on, put under the first: its rows are kept from the search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from fenceline.errors import DefinitionError
from fenceline.metrics.trial import Rows, as_groups
from fenceline.pipelines.fitting.prepare import as_table


@dataclass(frozen=True)
class Given:
    """What `fit` was handed, with the rows of a second table at the end."""

    X: Any
    y: Any
    groups: Any
    sample_weight: Any
    unseen: Rows | None = None
    """Which rows are those of the second table; None if there is none."""


def joined(X: Any, y: Any, groups: Any, sample_weight: Any, unseen: Any) -> Given:
    """Return both tables as one.

    Parameters
    ----------
    X, y, groups, sample_weight
        As `fit` was given them.
    unseen : tuple or None
        ``(X, y)``, ``(X, y, groups)`` or ``(X, y, groups, sample_weight)`` of the rows to certify on.
    """
    if unseen is None:
        return Given(X, y, groups, sample_weight)
    if not isinstance(unseen, tuple | list) or not 2 <= len(unseen) <= 4:
        raise DefinitionError(
            "fit: unseen must be a second table, (X, y), with groups and sample_weight after it if "
            f"the first has them. Got {type(unseen).__name__}; a share of the rows is a setting of "
            "the estimator, unseen=0.3."
        )
    more_X, more_y, more_groups, more_weight = (*unseen, None, None)[:4]
    first, second = as_table(X), as_table(more_X)
    before, after = column_or_1d(y), column_or_1d(more_y)
    if second.shape[0] != len(after) or not len(after):
        raise DefinitionError(
            f"fit: unseen has {second.shape[0]} rows and {len(after)} labels; it needs one label for each row."
        )
    if (sample_weight is None) != (more_weight is None):
        raise DefinitionError(
            "fit: sample_weight must be given for both tables or for neither: "
            "unseen=(X, y, groups, sample_weight)."
        )
    weight = None
    if sample_weight is not None:
        weight = np.concatenate([np.asarray(sample_weight), np.asarray(more_weight)])
    return Given(
        _stacked(first, second),
        np.concatenate([before, after]),
        _both(groups, more_groups),
        weight,
        len(before) + np.arange(len(after)),
    )


def _stacked(first: Any, second: Any) -> Any:
    if isinstance(first, pd.DataFrame) and isinstance(second, pd.DataFrame):
        other = sorted(map(str, set(first.columns) ^ set(second.columns)))
        if other:
            raise DefinitionError(
                f"fit: unseen must have the columns of X. They differ in {other}."
            )
        return pd.concat([first, second[first.columns]], ignore_index=True)
    if isinstance(first, pd.DataFrame) or isinstance(second, pd.DataFrame):
        raise DefinitionError("fit: X and unseen must both be DataFrames, or neither.")
    if first.shape[1:] != second.shape[1:]:
        raise DefinitionError(
            f"fit: X has shape {first.shape} and unseen {second.shape}; they need the same columns."
        )
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])


def _both(first: Any, second: Any) -> dict[str, NDArray[Any]] | None:
    """Return the groups of both tables; columns of X need not be given in either."""
    if first is None and second is None:
        return None
    tables = [
        {str(n): np.asarray(g[n]) for n in g} if isinstance(g, Mapping) else {}
        for g in map(as_groups, (first, second))
    ]
    if set(tables[0]) != set(tables[1]):
        raise DefinitionError(
            f"fit: groups are given for {sorted(tables[0])} in the first table and for "
            f"{sorted(tables[1])} in the unseen one; write unseen=(X, y, groups)."
        )
    return {name: np.concatenate([values, tables[1][name]]) for name, values in tables[0].items()}

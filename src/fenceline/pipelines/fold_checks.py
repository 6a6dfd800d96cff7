"""How rows may be cut into folds, and which groups are too small for it."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fenceline.errors import DefinitionError
from fenceline.metrics.metric import PipelineMetric
from fenceline.metrics.trial import Rows, Table

Folds: TypeAlias = int | float | Sequence[tuple[Rows, Rows]]
"""A number of folds, the share of rows held out once, or the rows to fit and to measure on."""


def check_group_sizes(table: Table, metric: PipelineMetric, parts: int) -> None:
    """Refuse groups that cannot be compared in every part of the rows."""
    for grouping in metric.groupings:
        labels, codes = table.grouping(*grouping)
        for code, label in enumerate(labels):
            members = codes == code
            if members.sum() < parts:
                raise DefinitionError(
                    f"{metric.name}: group {label!r} has {members.sum()} rows, and {parts} parts of "
                    "the data need one each; merge it with another group."
                )
            if not metric.ranks or table.task == "regression":
                continue
            sizes = np.bincount(table.target[members], minlength=len(table.classes))
            if np.count_nonzero(sizes) < 2:
                raise DefinitionError(
                    f"{metric.name}: the rows of group {label!r} are all of one class, where the "
                    "metric is not defined; merge it with another group."
                )
            if table.task == "binary" and sizes.min() < parts:
                raise DefinitionError(
                    f"{metric.name}: group {label!r} has {sizes.min()} rows of one class, and {parts} "
                    "parts of the data need one each; merge it with another group."
                )


def check_folds(folds: object) -> None:
    """Refuse a number of folds, or a share to hold out, that makes no sense."""
    whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool) and folds >= 2
    share = isinstance(folds, float) and 0 < folds < 1
    pairs = isinstance(folds, list) and folds and all(_paired(fold) for fold in folds)
    if not whole and not share and not pairs:
        raise DefinitionError(
            "cv must be a number of folds of at least 2, the share of rows to hold out, between 0 "
            f"and 1, a list of pairs of row numbers, or a splitter of scikit-learn. Got {folds!r}."
        )


def _paired(fold: object) -> bool:
    return isinstance(fold, tuple | list) and len(fold) == 2

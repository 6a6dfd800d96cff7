"""A search as scikit-learn's searches show theirs: a dict of arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.result.result import Result


def cv_results(result: Result) -> dict[str, Any]:
    """Return one entry per column, each with one value for every pipeline measured, in order.

    ``params`` holds the choices, ``param_MODULE`` and ``param_MODULE.ALGORITHM.NAME`` one of them
    each, masked where it does not apply; ``rank_test_score`` is 1 for the best. Metrics have their
    own names, their standard errors ``NAME/se`` and their values by fold ``NAME/fold1`` ....
    """
    rows = []
    for evaluation in result.evaluations:
        row: dict[str, Any] = {}
        for module, choice in evaluation.configuration.items():
            row[module] = choice.algorithm
            row |= {f"{module}.{choice.algorithm}.{k}": v for k, v in choice.params.items()}
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    params = {
        f"param_{name}": _column([row.get(name, np.ma.masked) for row in rows]) for name in names
    }
    measured = result.to_frame().drop(columns=list(names))
    return {
        "params": [e.configuration.to_dict() for e in result.evaluations],
        **params,
        **{str(name): measured[name].to_numpy() for name in measured},
        "rank_test_score": _ranks(result),
    }


def _column(values: list[Any]) -> "np.ma.MaskedArray[Any, Any]":
    column = np.ma.MaskedArray(np.empty(len(values), dtype=object), mask=False)
    for position, value in enumerate(values):
        column[position] = value
    return column


def _ranks(result: Result) -> NDArray[np.int32]:
    """Rank by violation, then by objective: the best feasible pipeline is first; failures, then looks, are last."""
    keys = [(e.look, e.violation, e.objective) for e in result.evaluations]
    order = sorted(keys)
    return np.array([1 + order.index(key) for key in keys], dtype=np.int32)

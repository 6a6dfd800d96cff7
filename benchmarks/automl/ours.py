"""Fenceline without a fence, one worker, what was learnt from the table itself left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.automl.baselines import predicted
from benchmarks.automl.rows import Split
from fenceline import FencelineClassifier, FencelineRegressor

VOTES = 10
OBJECTIVES = {"binary": "roc_auc", "multiclass": "neg_log_loss", "regression": "r2"}
_LAST_FIT = 0.04
"""Of the time, left for the one fit on all rows after the search."""


def fenceline(
    split: Split, seconds: float, seed: int, votes: int | None = None, space: str = "default"
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Search, fit the pick, predict."""
    make = FencelineRegressor if split.task == "regression" else FencelineClassifier
    model = make(
        OBJECTIVES[split.task],
        space=space,
        seconds=(1 - _LAST_FIT) * seconds,
        workers=1,
        random_state=seed,
        on_infeasible="warn",
        ensemble=votes,
    )
    model.fit(split.X, split.y)
    looks = model.result_.evaluations
    return predicted(model, split.unseen, split), {
        "models": len(looks),
        "full": sum(getattr(look, "fidelity", 1.0) == 1.0 for look in looks),
        "pick": str(model.best_configuration_)[:500],
    }

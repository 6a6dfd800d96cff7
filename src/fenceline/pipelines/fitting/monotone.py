"""Models that answer in one direction when a column grows: which can, and how they are told to.

Trees and boosters take a direction for each column. Linear models have one for every column, the
sign of its coefficient, and are measured for it. Nothing else is in a space that is searched with
``monotone=``; nor are steps that mix columns, after which a column has no direction of its own.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import MeasurementError, SpaceError
from fenceline.pipelines.fitting import encoders
from fenceline.pipelines.fitting.group_weights import MODULE as EMPHASIS
from fenceline.pipelines.fitting.labels import EncodedLabels
from fenceline.pipelines.fitting.thresholds import models, searches_threshold
from fenceline.problem.module import Module
from fenceline.problem.space import Space

TOLD = (
    "CatBoost",
    "DecisionTree",
    "ExtraTrees",
    "HistGradientBoosting",
    "LightGBM",
    "RandomForest",
    "XGBoost",
)
"""Models that take a direction for each column."""
MEASURED = ("LogisticRegression", "Ridge")
"""Models that have a direction in every column, right or wrong."""
KEEPING = (
    "none",
    "Binarizer",
    "KBinsDiscretizer",
    "MinMaxScaler",
    "QuantileTransformer",
    "RobustScaler",
    "SelectFdr",
    "SelectFpr",
    "SelectFwe",
    "SelectKBest",
    "SelectPercentile",
    "StandardScaler",
    "VarianceThreshold",
)
"""Steps after which every column is a growing function of one column before."""

Signs = NDArray[np.intp]


def monotone_only(space: Space) -> Space:
    """Return the space without what cannot keep to a direction, or say that nothing is left."""
    if getattr(space, "shapes", None) is not None:
        raise SpaceError(
            "monotone: columns cannot be followed through pipelines of several shapes; search a space "
            "in which every module has one step, such as 'default'."
        )
    made = []
    predicting = models(space)
    for module in space.modules:
        threshold = searches_threshold(space) and module is space.modules[-1]
        if module.name == EMPHASIS or encoders.encodes(module) or threshold:
            made.append(module)
            continue
        known = (*TOLD, *MEASURED) if module is predicting else KEEPING
        kept = [a for a in module.algorithms if a.name in known]
        if not kept:
            names = ", ".join(a.name for a in module.algorithms)
            raise SpaceError(
                f"monotone: nothing of the module {module.name!r} ({names}) keeps to a direction; add "
                f"one of {', '.join(known)}, or leave out monotone."
            )
        made.append(module if len(kept) == len(module.algorithms) else Module(module.name, kept))
    return Space(made)


def signs_reaching(steps: Iterable[tuple[str, Any]], wanted: Signs, columns: int) -> Signs:
    """Return the direction of each of the columns that come out of fitted steps.

    Parameters
    ----------
    steps : iterable of pairs
        From the preparation on.
    wanted : array
        The direction of each column of the table; 0 for none.
    columns : int
        How many come out.
    """
    for name, step in steps:
        if name == "prepare":
            wanted = _prepared(step, wanted)
        elif hasattr(step, "get_support"):
            wanted = wanted[step.get_support()]
    if len(wanted) != columns:
        raise MeasurementError(
            f"monotone: {columns} columns reach the model, and {len(wanted)} could be followed."
        )
    return wanted


def told(model: Any, signs: Signs) -> Any:
    """Return an unfitted model with the direction of each column, if it takes directions."""
    if not signs.any():
        return model
    if isinstance(model, EncodedLabels):
        return EncodedLabels(told(model.estimator, signs))
    if "monotonic_cst" in model.get_params(deep=False):
        return model.set_params(monotonic_cst=signs.tolist())
    if type(model).__module__.split(".")[0] in ("lightgbm", "xgboost", "catboost"):
        return model.set_params(monotone_constraints=tuple(signs.tolist()))
    return model


def _prepared(step: Any, wanted: Signs) -> Signs:
    """Follow columns of numbers through the preparation, which puts them first and in order."""
    places = getattr(step, "number_places_", None)
    if places is None:
        return wanted  # an imputer of arrays: every column stays where it is
    names = len(step.get_feature_names_out())
    reaching = np.zeros(names, dtype=np.intp)
    reaching[: len(places)] = wanted[places]
    return reaching

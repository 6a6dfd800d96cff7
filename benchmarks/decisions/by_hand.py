"""The answer by hand: a default booster and one threshold read from its cross-validation.

What takes two seconds and twenty lines is what any search must beat. Rows may be reweighed as Kamiran
and Calders do, P(group) P(class) / P(group, class) to a strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.decisions.fence import CONFIDENT, Bound, Flags, read, score
from benchmarks.decisions.rows import Decided, Rows

STRENGTHS = (0.0, 0.5, 1.0, 1.5)
"""Of reweighing, for a user who tries a few."""
SEALED = 0.2
"""The share of a newcomer's own rows that certify."""
_THRESHOLDS = np.linspace(0.005, 0.995, 199)
"""Quantiles of the scores."""
_ROOM = 2 * CONFIDENT
"""Errors of the folds to spare: one reach for the luck of the folds, one for the certificate's."""
_WEIGHT = "histgradientboostingclassifier__sample_weight"


@dataclass(frozen=True, eq=False)
class ByHand:
    """A fitted booster and where it decides.

    Parameters
    ----------
    model : Pipeline
        Fitted on the rows that do not certify.
    threshold : float
        Of the probability of the last class.
    strength : float
        Of the reweighing.
    certified : bool
        Whether the rows kept for it confirm every bound at 95 %.
    """

    model: Pipeline
    threshold: float
    strength: float
    certified: bool

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of the last class."""
        return np.asarray(self.model.predict_proba(X)[:, 1])


def booster(seed: int) -> Pipeline:
    """Return scikit-learn's histogram boosting as it comes, on ordinal codes."""
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    encode = make_column_transformer(
        (codes, make_column_selector(dtype_exclude=np.number)), remainder="passthrough"
    )
    return make_pipeline(encode, HistGradientBoostingClassifier(random_state=seed))


def weights(truth: Flags, groups: NDArray[Any], strength: float) -> NDArray[np.float64]:
    """Return what rows count so that, at strength 1, class and group are independent."""
    found = np.ones(len(truth))
    for group in np.unique(groups):
        for label in (False, True):
            cell = (groups == group) & (truth == label)
            if cell.any():
                expected = (groups == group).mean() * (truth == label).mean()
                found[cell] = (expected / cell.mean()) ** strength
    return found


def out_of_fold(
    table: Decided, rows: Rows, counts: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Return the booster's scores of rows by three folds."""
    found = cross_val_predict(
        booster(seed),
        table.X.iloc[rows],
        table.truth[rows],
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        method="predict_proba",
        params={_WEIGHT: counts},
    )
    return np.asarray(found[:, 1])


def decide_by_hand(
    table: Decided,
    own: Rows,
    fence: Sequence[Bound],
    objective: str,
    strengths: Sequence[float] = (0.0,),
    seed: int = 0,
) -> ByHand | None:
    """Fit, choose the threshold with the room a certificate needs, certify; None if there is none."""
    decisive = [bound for bound in fence if bound.kind != "latency"]
    fit, seal = train_test_split(
        own, test_size=SEALED, random_state=seed, stratify=table.truth[own]
    )
    truth, groups = table.truth[fit], table.groups[fit]
    best: tuple[float, float, float] | None = None
    for strength in strengths:
        scores = out_of_fold(table, fit, weights(truth, groups, strength), seed)
        for threshold in np.quantile(scores, _THRESHOLDS):
            chosen = scores >= threshold
            if all(b.excess(read(b.kind, truth, chosen, groups), _ROOM) <= 0 for b in decisive):
                value = score(objective, truth, chosen)
                if best is None or value > best[0]:
                    best = value, strength, float(threshold)
    if best is None:
        return None
    _, strength, threshold = best
    model = booster(seed).fit(
        table.X.iloc[fit], table.truth[fit], **{_WEIGHT: weights(truth, groups, strength)}
    )
    chosen = model.predict_proba(table.X.iloc[seal])[:, 1] >= threshold
    certified = all(
        b.excess(read(b.kind, table.truth[seal], chosen, table.groups[seal]), CONFIDENT) <= 0
        for b in decisive
    )
    return ByHand(model, threshold, strength, certified)

"""Rivals in decisions: fairlearn's reductions and thresholds, and FLAML told of the bounds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.decisions.by_hand import booster
from benchmarks.decisions.fence import BATCH, COMPARING, Bound, read, score
from benchmarks.decisions.rows import Decided, Rows

ROUNDS = 20
"""Fits of the reduction: fairlearn's default of 50 takes minutes on 40,000 rows."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a rival decides for the rows that judge, and what may be timed."""

    chosen: NDArray[np.bool_]
    predict: Any


def _bound(fence: Sequence[Bound]) -> Bound:
    """Return the one bound that compares groups; others a rival cannot be told of."""
    return next(bound for bound in fence if bound.kind in COMPARING)


def exponentiated(
    table: Decided, own: Rows, judging: Rows, fence: Sequence[Bound], objective: str, seed: int
) -> Answer:
    """Reduce the bound to weighted fits of the default booster (Agarwal et al., 2018).

    The error is weighed by class, which makes it one minus the balanced accuracy.
    """
    from fairlearn.reductions import (
        DemographicParity,
        EqualizedOdds,
        ErrorRate,
        ExponentiatedGradient,
    )

    bound, truth, groups = _bound(fence), table.truth[own], table.groups[own]
    make = DemographicParity if bound.kind == "dpd" else EqualizedOdds
    # Its bound is on the distance of a group from all rows; two groups' distance from each other is
    # that divided by the larger share.
    shares = np.unique(groups, return_counts=True)[1] / len(groups)
    within = bound.limit * (shares.max() if len(shares) == 2 else 0.5)
    positive = float(truth.mean())
    costs = {"fp": min(1.0, positive / (1 - positive)), "fn": min(1.0, (1 - positive) / positive)}
    X = _codes(table, own)
    model = ExponentiatedGradient(
        booster(seed)[-1],
        make(difference_bound=within),
        objective=ErrorRate(costs=costs),
        eps=within,
        max_iter=ROUNDS,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, about what fairlearn does inside
        model.fit(X.iloc[own], truth.astype(int), sensitive_features=groups)
    found = model.predict(X.iloc[judging], random_state=seed)
    return Answer(np.asarray(found).astype(bool), lambda rows: model.predict(X.iloc[rows]))


def postprocessed(
    table: Decided, own: Rows, judging: Rows, fence: Sequence[Bound], objective: str, seed: int
) -> Answer:
    """Put a threshold per group on the default booster (Hardt et al., 2016); it needs the group to predict.

    It equalises in full, for there is no bound to be told, on rows that the booster was not fitted on.
    """
    from fairlearn.postprocessing import ThresholdOptimizer

    kind = {"dpd": "demographic_parity", "eod": "equalized_odds"}[_bound(fence).kind]
    X = _codes(table, own)
    half = np.random.default_rng(seed).permutation(own)
    fit, rest = half[: 3 * len(own) // 4], half[3 * len(own) // 4 :]
    model = ThresholdOptimizer(
        estimator=booster(seed)[-1].fit(X.iloc[fit], table.truth[fit].astype(int)),
        constraints=kind,
        objective="balanced_accuracy_score",
        prefit=True,
        predict_method="predict_proba",
    )
    model.fit(X.iloc[rest], table.truth[rest].astype(int), sensitive_features=table.groups[rest])

    def decide(rows: Rows) -> NDArray[Any]:
        groups = table.groups[rows]
        return np.asarray(model.predict(X.iloc[rows], sensitive_features=groups, random_state=seed))

    return Answer(decide(judging).astype(bool), decide)


def flaml(
    table: Decided,
    own: Rows,
    judging: Rows,
    fence: Sequence[Bound],
    objective: str,
    seed: int,
    seconds: float,
) -> Answer:
    """Tell FLAML of the bounds in its own way: a metric whose extras may be bounded; it decides at even odds."""
    from flaml import AutoML

    model = AutoML()
    groups = pd.Series(table.groups[own])
    X = table.X.iloc[own].reset_index(drop=True).assign(**{_GROUP: groups.to_numpy()})
    model.fit(
        X,
        table.truth[own].astype(int),
        task="classification",
        metric=_Told(tuple(fence), objective),
        metric_constraints=[
            (bound.kind, "<=" if bound.sign > 0 else ">=", bound.limit) for bound in fence
        ],
        time_budget=seconds,
        n_jobs=1,
        seed=seed,
        verbose=0,
        log_file_name="",
    )

    def decide(rows: Rows) -> NDArray[Any]:
        # The groups are a column of it here: the metric sees nothing beside the table.
        frame = table.X.iloc[rows].assign(**{_GROUP: table.groups[rows]})
        return np.asarray(model.predict(frame))

    return Answer(decide(judging).astype(bool), decide)


_GROUP = "group of the row"


@dataclass(frozen=True)
class _Told:
    """Loss and bounded values of a fold."""

    fence: tuple[Bound, ...]
    objective: str

    def __call__(
        self, X_val: Any, y_val: Any, estimator: Any, labels: Any, *_: Any, **__: Any
    ) -> tuple[float, Mapping[str, float]]:
        truth = np.asarray(y_val).astype(bool)
        # FLAML leaves out a column with one value: the group of a table without groups.
        groups = np.asarray(X_val.get(_GROUP, np.zeros(len(truth)))).astype(str)
        chosen = np.asarray(estimator.predict(X_val)).astype(bool)
        extras = {}
        for bound in self.fence:
            if bound.kind == "latency":
                some = X_val.iloc[np.resize(np.arange(len(truth)), BATCH)]
                extras["latency"] = microseconds(lambda: estimator.predict(some))  # noqa: B023
            else:
                extras[bound.kind] = read(bound.kind, truth, chosen, groups).value
        loss = 1 - score(self.objective, truth, chosen)
        return loss, extras | {"val_loss": loss}


def microseconds(predict: Any, repeats: int = 8) -> float:
    """Return the least time of the processor for a row of a batch."""
    spent = []
    for _ in range(repeats + 2):
        start = time.thread_time()
        predict()
        spent.append(time.thread_time() - start)
    return min(spent[2:]) * 1e6 / BATCH


def _codes(table: Decided, own: Rows) -> pd.DataFrame:
    """Return the table with ordinal codes learnt from its own rows: fairlearn passes frames on."""
    texts = table.X.select_dtypes(exclude="number").columns
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    coded = table.X.copy()
    if len(texts):
        encoder.fit(table.X.iloc[own][texts])
        coded[texts] = encoder.transform(table.X[texts])
    return coded.astype(float)

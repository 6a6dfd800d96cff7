"""Fenceline on a table of decisions, told of the same fence as everybody."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions.fence import BATCH, Bound, Flags
from benchmarks.decisions.rows import Decided, Rows
from fenceline import Constraint, FencelineClassifier, metrics

GROUP = "group"
"""What the groups are called in constraints; they come beside the table."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a search delivers, and what it says of it."""

    model: FencelineClassifier

    @property
    def certified(self) -> bool:
        """Whether unseen rows of its own confirm the whole fence."""
        certificate = self.model.certificate_
        return certificate is not None and certificate.status == "certified"

    @property
    def verdict(self) -> str:
        """The certificate in a word."""
        certificate = self.model.certificate_
        return "none" if certificate is None else str(certificate.status)

    def chosen(self, X: Any) -> Flags:
        """Return the decisions."""
        return np.asarray(self.model.predict(X)).astype(bool)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities, or decisions of a pipeline that has none."""
        ask = getattr(self.model, "predict_proba", None)
        return self.chosen(X).astype(float) if ask is None else np.asarray(ask(X))[:, 1]


def constraint(bound: Bound) -> Constraint:
    """Return a bound in our words."""
    match bound.kind:
        case "fpr":
            return metrics.false_positive_rate() <= bound.limit
        case "recall":
            return metrics.score("recall") >= bound.limit
        case "dpd":
            return metrics.demographic_parity_difference(GROUP) <= bound.limit
        case "eod":
            return metrics.equalized_odds_difference(GROUP) <= bound.limit
        case _:
            return metrics.latency_us(batch=BATCH) <= bound.limit


def search(
    table: Decided,
    own: Rows,
    fence: Sequence[Bound],
    objective: str,
    *,
    seconds: float | None = None,
    evaluations: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> Found:
    """Search with one worker; what is not found inside the fence is the nearest miss."""
    model = FencelineClassifier(
        objective,
        [constraint(bound) for bound in fence],
        seconds=seconds,
        evaluations=evaluations,
        workers=1,
        random_state=seed,
        on_infeasible="warn",
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(
            table.X.iloc[own], table.truth[own].astype(int), groups={GROUP: table.groups[own]}
        )
    return Found(model)

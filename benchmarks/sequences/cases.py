"""Searches to replay: a tuning table, a fence that is half of what a plain booster does, rows that tell the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.decisions.by_hand import out_of_fold
from benchmarks.decisions.fence import Bound, Flags, read, score
from benchmarks.decisions.ours import GROUP, constraint
from benchmarks.decisions.rows import Decided, Rows, grouped
from fenceline import Constraint, metrics

TABLES = (
    "credit/default_credit_card_clients",
    "classification/churn",
    "classification/phoneme",
    "classification/spambase",
    "classification/magic",
    "paper8/sylvine",
    "paper8/bank8FM",
    "paper8/cpu_small",
    "paper8/puma8NH",
    "regression/cal_housing",
    "regression/elevators",
    "fairness/law_school",
    "fairness/toronto_arrests",
)
"""For tuning; numbers are cut at their median. The last two are no tables of `make bench-decisions`."""
PROTECTED = {
    "credit/default_credit_card_clients": ("SEX", "MARRIAGE", "EDUCATION", "AGE"),
    "fairness/law_school": ("race", "male"),
    "fairness/toronto_arrests": ("colour", "sex"),
}
"""Elsewhere any column may tell groups apart."""
KINDS = ("gap",) * 3 + ("eod",) * 4 + ("dpd",) * 2 + ("three", "recall", "fpr")
"""Of fences, the close ones more often: a gap of AUROC, equalised odds, selection rates, rates and false positives together."""
OWN, OWN_SHARE = (2500, 4000, 8000), 0.6
"""Rows that are searched and certified with, at most so many of all."""
COLUMNS, MOST_GROUPS, FEWEST_IN_CELL = 12, 5, 60
WIDER = 1.5
"""The bound on a gap of AUROC, relative to a plain booster's."""
LEAST_GAP = {"gap": 0.015, "eod": 0.05, "dpd": 0.05, "three": 0.05}
_CUTS = np.linspace(0.02, 0.98, 97)


@dataclass(frozen=True, eq=False)
class Case:
    """A search: the rows of its own come first."""

    seed: int
    path: str
    kind: str
    table: Decided
    own: int
    objective: str
    constraints: list[Constraint]

    @property
    def name(self) -> str:
        """For people."""
        fence = ", ".join(map(str, self.constraints))
        return f"{self.seed} {self.path.rpartition('/')[2]}, {self.own} rows: {fence}"


def draw(seed: int, data: Path) -> Case | None:
    """Draw a search; None if no column of its table has groups that a booster treats differently."""
    rng = np.random.default_rng(seed)
    path, kind = str(rng.choice(TABLES)), str(rng.choice(KINDS))
    X, truth = _load(data / f"{path}.csv.gz", cut=path.startswith("regression"))
    order = rng.permutation(len(truth))
    X, truth = X.iloc[order].reset_index(drop=True), truth[order]
    own = np.arange(min(int(OWN_SHARE * len(truth)), int(rng.choice(OWN))))
    groups = np.zeros(len(truth), dtype=str)
    scores = out_of_fold(Decided(X, truth, groups), own, np.ones(len(own)), seed)
    cuts = np.quantile(scores, _CUTS)
    balanced = [score("balanced_accuracy", truth[own], scores >= cut) for cut in cuts]
    chosen = scores >= cuts[int(np.argmax(balanced))]
    if kind in LEAST_GAP:
        columns = rng.permutation(PROTECTED.get(path, tuple(X.columns)))[:COLUMNS]
        found = list(_different(X, truth, own, columns, kind, scores, chosen))
        if not found:
            return None
        groups = grouped(X[found[int(rng.integers(len(found)))]])
    table = Decided(X, truth, groups)
    objective, constraints = _fence(kind, table, own, scores, chosen)
    return Case(seed, path, kind, table, len(own), objective, constraints)


def _load(path: Path, *, cut: bool) -> tuple[pd.DataFrame, Flags]:
    frame = pd.read_csv(path)
    target = frame.pop("target")
    codes, _ = pd.factorize(target > target.median() if cut else target, sort=True)
    return frame.loc[:, frame.nunique() > 1], codes == 1


def _different(
    X: pd.DataFrame,
    truth: Flags,
    own: Rows,
    columns: NDArray[Any],
    kind: str,
    scores: NDArray[np.float64],
    chosen: Flags,
) -> Iterator[str]:
    """Yield columns whose groups are large enough, and treated differently by a plain booster."""
    for column in columns:
        groups = grouped(X[column])
        names = np.unique(groups[own])
        cells = pd.Series(list(zip(groups[own], truth[own], strict=True))).value_counts()
        enough = len(cells) == 2 * len(names) and cells.min() >= FEWEST_IN_CELL
        if 2 <= len(names) <= MOST_GROUPS and enough:
            table = Decided(X, truth, groups)
            if _gap(kind, table, own, scores, chosen) > LEAST_GAP[kind]:
                yield str(column)


def _gap(kind: str, table: Decided, own: Rows, scores: NDArray[np.float64], chosen: Flags) -> float:
    truth, groups = table.truth[own], table.groups[own]
    if kind == "gap":
        ranked = [roc_auc_score(truth[groups == g], scores[groups == g]) for g in np.unique(groups)]
        return float(max(ranked) - min(ranked))
    return read("eod" if kind == "eod" else "dpd", truth, chosen, groups).value


def _fence(
    kind: str, table: Decided, own: Rows, scores: NDArray[np.float64], chosen: Flags
) -> tuple[str, list[Constraint]]:
    if kind == "gap":
        bound = float(f"{WIDER * _gap(kind, table, own, scores, chosen):.3g}")
        return "roc_auc", [metrics.score_gap("roc_auc", GROUP) <= bound]
    if kind == "recall":
        return "precision", [constraint(Bound("recall", 0.8))]
    found = []
    for bounded in ("dpd", "fpr") if kind == "three" else (kind,):
        value = read(bounded, table.truth[own], chosen, table.groups[own]).value
        found.append(constraint(Bound(bounded, float(f"{value / 2:.3g}"))))
    return "balanced_accuracy", found

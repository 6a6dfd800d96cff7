"""Thirty learners on one credit table: how soon the best is found with fewer rows first."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fenceline as fl
from fenceline.pipelines.subsets import MOST_VALIDATION_ROWS
from fenceline.problem.configuration import Choice

TABLE = Path("credit/default_credit_card_clients.csv.gz")
FIDELITIES = tuple(round(1.5**-k, 5) for k in range(9, 0, -1))
"""DAUB's steps: each has half as many rows again as the one before; the first about 550."""


def learners() -> dict[str, Callable[[], Any]]:
    """Return thirty learners by name, each made afresh."""
    from sklearn.discriminant_analysis import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    found: dict[str, Callable[[], Any]] = {
        "naive Bayes": GaussianNB,
        "naive Bayes, quantiles": lambda: make_pipeline(QuantileTransformer(), GaussianNB()),
        "naive Bayes, binary": lambda: make_pipeline(StandardScaler(), BernoulliNB()),
        "LDA": lambda: make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
        "LDA, quantiles": lambda: make_pipeline(
            QuantileTransformer(), LinearDiscriminantAnalysis()
        ),
        "QDA": lambda: make_pipeline(
            StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.1)
        ),
        "AdaBoost": lambda: AdaBoostClassifier(n_estimators=30, random_state=0),
    }
    for c in (0.001, 0.1, 10.0):
        found[f"logit C={c:g}"] = partial(
            lambda c: make_pipeline(StandardScaler(), LogisticRegression(C=c)), c
        )
    found["logit, quantiles"] = lambda: make_pipeline(QuantileTransformer(), LogisticRegression())
    for k in (15, 75):
        found[f"{k} nearest"] = partial(
            lambda k: make_pipeline(StandardScaler(), KNeighborsClassifier(k)), k
        )
    for depth in (1, 2, 4, 6, 8, 12, None):
        found[f"tree, depth {depth}"] = partial(
            DecisionTreeClassifier, max_depth=depth, random_state=0
        )
    for leaf in (1, 5, 25):
        found[f"forest, leaf {leaf}"] = partial(
            RandomForestClassifier, 40, min_samples_leaf=leaf, random_state=0
        )
        found[f"extra trees, leaf {leaf}"] = partial(
            ExtraTreesClassifier, 40, min_samples_leaf=leaf, random_state=0
        )
    for rate in (0.03, 0.1, 0.3, 1.0):
        found[f"boosting, rate {rate:g}"] = partial(
            HistGradientBoostingClassifier, learning_rate=rate, max_iter=60, random_state=0
        )
    return found


@dataclass
class Learners:
    """1 - AUROC of a learner on a third of the rows; measurements are kept in a file.

    `seconds` of a measurement are the processor's, of fitting and predicting, so that neighbours on
    the machine do not count.
    """

    data: Path
    kept: Path
    fidelities: tuple[float, ...] = FIDELITIES
    _cells: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kept.exists():
            self._cells = {k: tuple(v) for k, v in json.loads(self.kept.read_text()).items()}

    def __call__(
        self, configuration: Mapping[str, Choice], fidelity: float = 1.0
    ) -> dict[str, float]:
        return {"loss": self.cell(configuration["learner"].algorithm, fidelity)[0]}

    def cell(self, name: str, share: float) -> tuple[float, float]:
        """Return loss and seconds of a learner at a share, measured once."""
        key = f"{name} @ {share:g}"
        if key not in self._cells:
            self._cells[key] = self._measure(name, share)
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            self.kept.write_text(json.dumps(self._cells, indent=0))
        return self._cells[key]

    def _measure(self, name: str, share: float) -> tuple[float, float]:
        from sklearn.metrics import roc_auc_score

        X, y, train, test = self._table
        rows = train[: round(share * len(train))]  # nested: a larger share holds a smaller one
        if (
            share < 1.0
        ):  # as Fenceline's own looks do: predicting all rows costs more than fitting a few
            test = test[:MOST_VALIDATION_ROWS]
        model = learners()[name]()
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[rows], y[rows])
            scores = model.predict_proba(X[test])[:, 1]
        seconds = time.process_time() - started
        return 1.0 - float(roc_auc_score(y[test], scores)), seconds

    @property
    def _table(self) -> tuple[Any, Any, Any, Any]:
        if not hasattr(self, "_loaded"):
            import pandas as pd

            table = pd.read_csv(self.data / TABLE)
            X = table.drop(columns="target").to_numpy(dtype=np.float64)
            order = np.random.default_rng(0).permutation(len(X))
            third = len(X) // 3
            self._loaded = X, table["target"].to_numpy(), order[third:], order[:third]
        return self._loaded


def problem_of(measure: Learners) -> fl.Problem:
    """Return the choice among the learners."""
    space = fl.Space([fl.Module("learner", [fl.Algorithm(name) for name in learners()])])
    return fl.Problem(space, measure)


@dataclass(frozen=True)
class Found:
    """How a search for the best learner went, beside measuring all of them in full."""

    solver: str
    seed: int
    answer: str
    """What the search measured in full first: what it would have taken, had it ended there."""
    loss: float
    best: str
    best_loss: float
    answer_seconds: float
    best_seconds: float
    """Until the best of all was measured in full; infinite if it never was."""
    full_seconds: float

    @property
    def share(self) -> float:
        """Of the time that full measurement takes, what the best took to be found."""
        return self.best_seconds / self.full_seconds


def race(measure: Learners, solver: Any, seed: int) -> Found:
    """Let a solver choose among the learners, and compare with measuring all of them."""
    full = {name: measure.cell(name, 1.0) for name in learners()}
    best = min(full, key=lambda name: full[name][0])
    algorithm = fl.ADMM(z=solver, theta=fl.solvers.Random(), precision=fl.Fixed(1000))
    result = fl.minimize(problem_of(measure), evaluations=20, algorithm=algorithm, seed=seed)
    spent, answer, answer_seconds, best_seconds = 0.0, "", np.inf, np.inf
    for k, evaluation in enumerate(result.evaluations):
        name = evaluation.configuration["learner"].algorithm
        spent += measure.cell(name, evaluation.fidelity)[1]
        if evaluation.look:
            continue
        if not answer and k:  # the first pipeline is ADMM's, not the solver's
            answer, answer_seconds = name, spent
        if name == best:
            best_seconds = min(best_seconds, spent)
    return Found(
        type(solver).__name__,
        seed,
        answer,
        full[answer][0] if answer else np.inf,
        best,
        full[best][0],
        answer_seconds,
        best_seconds,
        sum(seconds for _, seconds in full.values()),
    )

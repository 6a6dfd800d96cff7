"""Searches a case, fits what it found, and tests every option on unseen rows that are drawn again and again."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks.decisions.ours import GROUP
from benchmarks.decisions.rows import Rows
from benchmarks.sequences.cases import Case
from fenceline import FencelineClassifier
from fenceline.certificate.certify import certify
from fenceline.certificate.controls import Control, Controls
from fenceline.certificate.finalists import Delivery, search_room
from fenceline.certificate.holdout import set_aside
from fenceline.certificate.sequence import LAST, START, Option
from fenceline.certificate.terms import Terms
from fenceline.errors import FencelineError
from fenceline.estimator.budget import Budget
from fenceline.estimator.learning_task import pose
from fenceline.estimator.search import search
from fenceline.estimator.second_table import joined
from fenceline.metrics import Table, Trial
from fenceline.pipelines.ensemble import Candidate, Members
from fenceline.pipelines.fitting.thresholds import choosing, decided
from fenceline.pipelines.fold_readings import THRESHOLD
from fenceline.pipelines.fold_votes import fitting
from fenceline.pipelines.starts.portfolio import leaving_out

MOST, FIT_SECONDS, FEWEST = 36, 45.0, 8
"""Pipelines that are fitted once more, and for how long; so many whatever it takes."""
TRUTH_ROWS = 14_000
THRESHOLDS = 14
"""Of each pipeline."""
DRAWS = 8
RISKS = (0.05, 0.025, 0.0167, 0.0125, 0.01, 0.005)
"""At which tests are made, the full one first."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What became of the options of one search.

    Parameters
    ----------
    name, kind : str
        Of the case.
    options : list of Option
        As the rows of the search show them; pipelines are told apart by a number.
    risks : array of shape (draws, options)
        The smallest risk at which the test of a draw passes; 1 where it fails at all.
    rooms, losses : array of shape (draws, options)
        How far inside the fence it truly is, and its true loss; its threshold depends on the draw.
    """

    name: str
    kind: str
    options: list[Option]
    risks: NDArray[np.float64]
    rooms: NDArray[np.float64]
    losses: NDArray[np.float64]


class Recorded(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Answers as a fitted pipeline did, which the only column of a table holds."""

    classes_ = np.array([0, 1])

    def fit(self, X: Any, y: Any) -> Recorded:
        """Learn nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.intp]:
        """Decide at even odds."""
        return (X[:, 0] >= 0.5).astype(np.intp)

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the column, and what is left of it."""
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def replay(case: Case, seconds: float) -> Replay | None:
    """Search, fit, draw; None if nothing inside the fence is worth a test."""
    with warnings.catch_warnings(), leaving_out(case.path):
        warnings.simplefilter("ignore")
        delivery, inside, candidates = _searched(case, seconds)
        if not inside:
            return None
        return _drawn(case, delivery.terms, inside, candidates)


def _searched(
    case: Case, seconds: float
) -> tuple[Delivery, list[Option], dict[Members, Candidate]]:
    """Do as `fit` does, up to the first test."""
    model = FencelineClassifier(
        case.objective, case.constraints, seconds=seconds, workers=1, random_state=case.seed
    )
    task = pose(model, _table(case, np.arange(case.own)))
    rows = set_aside(
        task.table, task.metrics, task.constraints, task.folds, task.seed, controlled=True
    )
    budget = Budget.begin(model, certified_rows=case.own)
    measure = task.measure(rows.search, budget)
    terms = Terms(task.problem(measure), measure, *rows, model.confidence, math.inf)
    result = search(model, terms.problem, measure, budget, search_room(terms), lambda _: None)
    whole = fitting(measure, task.table, rows.search, None, result.best)
    # The others come after the rows of its own, so places of rows stay what they are.
    everything = pose(model, _table(case, np.arange(len(case.table.truth)))).table
    delivery = Delivery(replace(terms, measure=replace(whole, table=everything)))
    if result.best is None:
        return delivery, [], {}
    _, candidates = delivery.candidates(result, measure, 0)
    return (
        delivery,
        delivery.useful(candidates, measure),
        {candidate.members: candidate for candidate in candidates},
    )


def _table(case: Case, rows: Rows) -> Any:
    y = case.table.truth[rows].astype(int)
    return joined(case.table.X.iloc[rows], y, {GROUP: case.table.groups[rows]}, None, None)


def _drawn(
    case: Case, terms: Terms, inside: Sequence[Option], candidates: dict[Members, Candidate]
) -> Replay | None:
    measure, problem = terms.measure, terms.problem
    rng = np.random.default_rng(case.seed)
    others = rng.permutation(np.arange(case.own, len(case.table.truth)))
    pool = np.concatenate([terms.unseen, others])[:TRUTH_ROWS]
    scores = _scores(terms, _worth_fitting(inside), candidates, pool)
    told = Controls.fit(measure, terms.search, pool, math.inf)
    if not scores or told is None:
        return None
    numbers = {members: i for i, members in enumerate(scores)}
    options = _thinned([option for option in inside if option.pipeline in scores])
    trials = {
        members: Trial(Recorded(), _recorded(measure.table, pool, found), pool)
        for members, found in scores.items()
    }
    controls = [
        ([_kept(one) for one in kind.searched], [_kept(one) for one in kind.unseen])
        for kind in told.kinds
    ]
    size = len(terms.unseen)
    risks, rooms, losses = (np.full((DRAWS, len(options)), np.nan) for _ in range(3))
    objective = measure.metrics[problem.objective]
    for draw in range(DRAWS):
        drawn = rng.choice(pool, size)
        luck = Controls([Control(a, [_on(one, drawn) for one in b]) for a, b in controls])
        for at, option in enumerate(options):
            whole = trials[option.pipeline]
            trial = _on(whole, drawn)
            if option.log_odds is not None:
                assert option.selected is not None  # nobody decides by group here
                assert isinstance(option.log_odds, float)
                place = choosing(trial, option.selected)
                place = option.log_odds if place is None else place
                trial, whole = decided(trial, place), decided(whole, place)
            risks[draw, at] = _smallest_risk(trial, terms, luck)
            rooms[draw, at] = min(
                c.room(measure.metrics[c.metric].value(whole)) for c in problem.constraints
            )
            losses[draw, at] = objective.value(whole)
    plain = [
        replace(o, candidate=Candidate((numbers[o.pipeline],), {}, 0.0))  # type: ignore[arg-type]
        for o in options
    ]
    return Replay(case.name, case.kind, plain, risks, rooms, losses)


def _smallest_risk(trial: Trial, terms: Terms, controls: Controls) -> float:
    """Return the smallest of the risks at which a test passes; 1 where it fails, or where nothing can be measured."""
    smallest = 1.0
    for risk in RISKS:
        try:
            certificate = certify(
                trial,
                terms.problem.constraints,
                terms.measure.metrics,
                confidence=1 - risk,
                controls=controls,
            )
        except FencelineError:
            return 1.0
        if certificate.status != "certified":
            break
        smallest = risk
    return smallest


def _worth_fitting(inside: Sequence[Option]) -> list[Members]:
    """Return pipelines, the best at several levels of assurance in turn."""
    lists = []
    for level in (-math.inf, LAST, 0.0, START / 2, START):
        best: dict[Members, tuple[float, float]] = {}
        for option in inside:
            if option.assurance >= level:
                best[option.pipeline] = min(best.get(option.pipeline, option.worth), option.worth)
        lists.append(sorted(best, key=lambda members: best[members]))
    safest: dict[Members, float] = {}
    for option in inside:
        safest[option.pipeline] = max(
            safest.get(option.pipeline, option.assurance), option.assurance
        )
    lists.append(sorted(safest, key=lambda members: -safest[members]))
    longest = max(map(len, lists))
    turns = [found[i] for i in range(longest) for found in lists if i < len(found)]
    return list(dict.fromkeys(turns))[:MOST]


def _scores(
    terms: Terms, members: Sequence[Members], candidates: dict[Members, Candidate], pool: Rows
) -> dict[Members, NDArray[np.float64]]:
    """Fit pipelines on the rows of the search, and return their probabilities of the rows that tell the truth."""
    found: dict[Members, NDArray[np.float64]] = {}
    began = time.monotonic()
    for one in members:
        if time.monotonic() - began > FIT_SECONDS and len(found) >= FEWEST:
            break
        candidate = candidates[one]
        bare = {name: v for name, v in candidate.metrics.items() if name != THRESHOLD}
        try:
            trial = replace(candidate, metrics=bare, details={}).fit(
                terms.measure, terms.search, pool
            )
        except Exception:
            continue
        if trial.response is not None and trial.answers.likely:
            found[one] = trial.response
    return found


def _thinned(options: Sequence[Option]) -> list[Option]:
    """Return some thresholds of each pipeline, evenly from safe to bold."""
    found: list[Option] = []
    for members in dict.fromkeys(option.pipeline for option in options):
        own = sorted((o for o in options if o.pipeline == members), key=lambda o: o.assurance)
        places = np.unique(np.linspace(0, len(own) - 1, THRESHOLDS).round().astype(int))
        found += [own[place] for place in places.tolist()]
    return found


def _recorded(table: Table, rows: Rows, scores: NDArray[np.float64]) -> Table:
    column = np.zeros((len(table.y), 1))
    column[rows, 0] = scores
    return replace(table, X=column)


def _kept(trial: Trial) -> Trial:
    """Return a trial that needs its model no more."""
    assert trial.response is not None
    return Trial(Recorded(), _recorded(trial.table, trial.rows, trial.response), trial.rows)


def _on(trial: Trial, rows: Rows) -> Trial:
    return Trial(trial.pipeline, trial.table, rows)

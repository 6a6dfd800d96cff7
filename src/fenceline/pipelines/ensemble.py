"""Several pipelines that vote: chosen among the feasible ones, and measured against the fence as one.

Greedy selection with replacement by Caruana and others (ICML 2004, https://doi.org/10.1145/1015330.1015432):
starting from the best pipeline, the one whose vote helps most is added, and may be added again.
"""

import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.metrics.trial import Rows, Table, Trial
from fenceline.pipelines.cross_validation import CrossValidation
from fenceline.pipelines.fitting.arrange import algorithms, predictor
from fenceline.pipelines.fitting.group_thresholds import decided_by_group
from fenceline.pipelines.fitting.thresholds import decide_at, decided, split_threshold
from fenceline.pipelines.fitting.votes import voting_model
from fenceline.pipelines.fold_readings import BY_GROUP, STOPPED, THRESHOLD, FoldReadings
from fenceline.pipelines.threshold_curve import Threshold, ThresholdCurve
from fenceline.problem.configuration import Configuration
from fenceline.problem.evaluation import Evaluation
from fenceline.problem.measurement import Measurement, Spread, most_parts
from fenceline.problem.problem import Problem
from fenceline.threads import one_thread

POOL = 8
"""How many of the best pipelines may have a vote; all of them are in memory, once per fold."""
_LOOKS = 3
"""How many ways to add a vote are measured before the selection gives up."""

Members = tuple[Configuration, ...]
"""Pipelines, each as often as it has votes."""


@dataclass(frozen=True)
class Candidate:
    """What may become the model: one pipeline, or several that vote."""

    members: Members
    metrics: Mapping[str, float]
    """As cross-validation measured them."""
    seconds: float
    """How long that took; to fit it once more takes less."""
    trial: Trial | None = None
    """Where it is fitted already, and time is too short for more."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the measurement brought beside its numbers."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """How metrics differ between folds."""
    trees: Mapping[Configuration, float] = field(default_factory=dict)
    """How many trees each member had in the folds, where it stopped there or had no time for more."""

    @classmethod
    def alone(cls, evaluation: Evaluation) -> "Candidate":
        """Return a single pipeline as a candidate."""
        return cls(
            (evaluation.configuration,),
            evaluation.metrics,
            evaluation.seconds,
            details=evaluation.details,
            spreads=evaluation.spreads,
            trees=_trees([evaluation]),
        )

    @property
    def folds(self) -> int:
        """How many folds it was measured on; 0 where that is not known."""
        return most_parts(self.spreads)

    def error(self, metric: str) -> float | None:
        """Return the standard error of a metric over the folds, where it is known."""
        spread = self.spreads.get(metric)
        return None if spread is None else spread.error

    @property
    def threshold(self) -> float | None:
        """The log-odds at which it decides, where cross-validation computed them."""
        return self.metrics.get(THRESHOLD)

    @property
    def decision(self) -> Threshold | None:
        """Where its decisions change, where cross-validation computed that: its threshold, or each group's."""
        own = self.details.get(BY_GROUP)
        return self.threshold if own is None else tuple(own)

    @property
    def curve(self) -> ThresholdCurve | None:
        """What its decisions are worth at other thresholds, where cross-validation computed that."""
        return ThresholdCurve.of(self.details)

    def fit(self, measure: CrossValidation, train: Rows, valid: Rows) -> Trial:
        """Fit every member on some rows, to be measured on others."""
        if self.trial is not None:
            return self.trial
        members = dict.fromkeys(self.members)
        trials = {m: measure.trial(m, train, valid, self.trees.get(m)) for m in members}
        trial = together(self.members, trials)
        return trial if self.decision is None else decide(trial, self.decision, measure)


def decide(trial: Trial, decision: Threshold, measure: CrossValidation) -> Trial:
    """Return a trial of the same fitted pipeline with other decisions."""
    if isinstance(decision, float):
        return decided(trial, decision)
    assert measure.threshold_group is not None
    return decided_by_group(trial, decision, measure.threshold_group)


def check_ensemble(size: object) -> None:
    """Refuse a number of votes that makes no sense."""
    if size is not None and (
        isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0
    ):
        raise DefinitionError(
            f"ensemble must be the number of votes, or 0 for a single pipeline. Got {size!r}."
        )


def assemble(
    problem: Problem,
    measure: CrossValidation,
    evaluations: Sequence[Evaluation],
    votes: int,
    deadline: float,
) -> Candidate | None:
    """Return pipelines that together are feasible and better than the best of them, if there are any.

    Parameters
    ----------
    problem : Problem
        The objective and the fence.
    measure : CrossValidation
        What measured the evaluations; the same folds decide about the ensemble.
    evaluations : sequence of Evaluation
        What the search measured.
    votes : int
        At most so many; a pipeline may have several.
    deadline : float
        Of :func:`time.monotonic`. What surely takes longer is not begun.
    """
    ranked = _pool(evaluations)
    if votes < 2 or len(ranked) < 2 or measure.metrics[problem.objective].resource:
        return None  # no vote makes a pipeline faster or smaller
    start = time.monotonic()
    with warnings.catch_warnings(), one_thread(None):
        warnings.simplefilter("ignore")  # counted when the pipelines were measured
        jury = _jury(measure, ranked, deadline)
        if ranked[0].configuration not in jury.fitted:
            return None
        found = _select(problem, jury, ranked[0], votes, deadline)
    if found is None:
        return None
    members, measured = found
    return Candidate(
        members,
        measured.metrics,
        time.monotonic() - start,
        details=measured.details,
        spreads=measured.spreads,
        trees=_trees(ranked),
    )


def together(members: Members, trials: Mapping[Configuration, Trial]) -> Trial:
    """Return the trial of all members, from the trials of each."""
    votes = Counter(members)
    if len(votes) == 1:
        return trials[members[0]]
    return voting([trials[m] for m in votes], list(votes.values()), members)


def voting(trials: Sequence[Trial], votes: Sequence[int], members: Members) -> Trial:
    """Return the trial of fitted pipelines that vote, from the trials of each on the same rows."""
    first = trials[0]
    voter = _vote(first.table, [trial.pipeline for trial in trials], votes)
    seconds = sum(trial.train_seconds for trial in trials)
    return _same_rows(first, _decided(voter, members, first.table), seconds)


@dataclass(frozen=True)
class _Jury(CrossValidation):
    """Measures members together on the folds that each of them was fitted on."""

    fitted: dict[Configuration, list[Trial]] = field(default_factory=dict, repr=False)

    def trial(
        self,
        configuration: Any,
        train: Rows,
        valid: Rows,
        trees: float | None = None,
        *,
        held_out: bool = False,
    ) -> Trial:
        """Return the trial of a configuration, or of members that have all been fitted."""
        if isinstance(configuration, Configuration):
            return super().trial(configuration, train, valid, trees, held_out=held_out)
        fold = next(i for i, (_, rows) in enumerate(self.splits) if rows is valid)
        return together(configuration, {m: self.fitted[m][fold] for m in configuration})

    def admit(self, configuration: Configuration, deadline: float) -> None:
        """Fit a pipeline on every fold, and give it a vote if it has an opinion on every class."""
        trials = []
        for train, valid in self.splits:
            trials.append(self.fold(configuration, train, valid))
            if time.monotonic() > deadline:
                return
        if all(map(can_vote, trials)):
            for trial, others in zip(trials, zip(*self.fitted.values(), strict=True), strict=False):
                trial.X = others[0].X  # the same rows for all, so that answers can be recalled
            self.fitted[configuration] = trials

    def threshold(self, configuration: Any) -> float | None:
        """Return the threshold that a configuration, or members together, have of their own."""
        if isinstance(configuration, Configuration):
            return super().threshold(configuration)
        return _mean_threshold(configuration)

    def loss(self, members: Members, objective: str) -> float:
        """Return the objective of members together, without predicting any row again."""
        votes = Counter(members)
        computed = None if self.threshold(members) is not None else self.objective
        # Where the objective depends on decisions, the fence around these chooses the threshold.
        decides = computed is not None and self.metrics[objective].decides
        needed = {
            n: m for n, m in self.metrics.items() if n == objective or (decides and m.decides)
        }
        fence = [c for c in self.constraints if c.metric in needed]
        readings = FoldReadings(needed, fence, computed, self.threshold_group)
        for fold in range(len(self.splits)):
            trials = [self.fitted[m][fold] for m in votes]
            voter = _vote(trials[0].table, [t.pipeline for t in trials], list(votes.values()))
            voter.estimators_ = [_Recalling(trial) for trial in trials]
            deciding = _decided(voter, members, trials[0].table)
            readings.read(_same_rows(trials[0], deciding, 0.0))
        return float(readings.summary()[objective])


class _Recalling:
    """A fitted pipeline that does not predict the same rows twice."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return self._ask("predict_proba", X)

    def predict(self, X: Any) -> NDArray[Any]:
        return self._ask("predict", X)

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        if X is not self.trial.X:
            return np.asarray(getattr(self.trial.pipeline, method)(X))
        return np.asarray(getattr(self.trial.answers, method)(slice(None)))


def _pool(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return feasible pipelines that may vote, the best first.

    Of those that differ in their threshold only, the best. Half of them are the best there are,
    which tend to be alike; the others the best of each learner, whose errors are of another kind.
    """
    models: dict[str, Evaluation] = {}
    learners: dict[str, Evaluation] = {}
    for e in sorted((e for e in evaluations if e.feasible), key=lambda e: e.objective):
        steps = split_threshold(e.configuration)[0]
        models.setdefault(str(steps), e)
        learners.setdefault(" + ".join(algorithms(predictor(steps))), e)
    best = list(models.values())
    ranked = [*best[: POOL // 2], *learners.values(), *best[POOL // 2 :]]
    return list({id(e): e for e in ranked}.values())[:POOL]


def _jury(measure: CrossValidation, ranked: Sequence[Evaluation], deadline: float) -> _Jury:
    """Fit the best pipelines on every fold, as far as time allows."""
    same = {f.name: getattr(measure, f.name) for f in fields(measure) if f.init}
    jury = _Jury(**same)
    for evaluation in ranked:
        # So long the same fits took when they were measured, if on all folds.
        folds = len(jury.splits) / (most_parts(evaluation.spreads) or len(jury.splits))
        if time.monotonic() + evaluation.seconds * folds > deadline:
            continue
        try:
            jury.admit(evaluation.configuration, deadline)
        except Exception:  # it was measured before, so this is bad luck: others can vote
            continue
    return jury


def _select(
    problem: Problem, jury: _Jury, best: Evaluation, votes: int, deadline: float
) -> tuple[Members, Evaluation | Measurement] | None:
    """Add one vote after the other, each where it helps most and the fence still holds."""
    members: Members = (best.configuration,)
    least = jury.loss(members, problem.objective)
    found = None
    while len(members) < votes:
        ways = [(*members, m) for m in jury.fitted]
        losses = [jury.loss(way, problem.objective) for way in ways]
        for at in np.argsort(losses, kind="stable")[:_LOOKS]:
            if losses[at] > least or time.monotonic() > deadline:
                return found
            measured: Evaluation | Measurement = best
            if len(set(ways[at])) > 1:
                measured = problem.check(jury(ways[at]))
            if problem.violation(measured.metrics) == 0.0:
                members, least = ways[at], losses[at]
                break
        else:
            return found
        if measured.metrics[problem.objective] < best.objective:
            found = members, measured
    return found


def _trees(evaluations: Sequence[Evaluation]) -> dict[Configuration, float]:
    """Return how many trees pipelines had in the folds, where that is not what they asked for."""
    return {e.configuration: e.metrics[STOPPED] for e in evaluations if STOPPED in e.metrics}


def _vote(table: Table, pipelines: Sequence[Any], votes: Sequence[int]) -> Any:
    classes = None if table.task == "regression" else table.classes
    return voting_model(pipelines, classes, votes)


def _decided(voter: Any, members: Members, table: Table) -> Any:
    """Return the voter with the mean of its members' thresholds, where they have one of their own."""
    log_odds = _mean_threshold(members)
    if log_odds is None:
        return voter
    return decide_at(log_odds, voter, table.classes[-1], fitted=True)


def _mean_threshold(members: Members) -> float | None:
    odds = [log_odds for m in members if (log_odds := split_threshold(m)[1]) is not None]
    return float(np.mean(odds)) if odds else None


def can_vote(trial: Trial) -> bool:
    """Tell whether a fitted pipeline has an opinion on every class."""
    if trial.table.task == "regression":
        return True
    known = getattr(trial.pipeline, "classes_", ())
    return hasattr(trial.pipeline, "predict_proba") and np.array_equal(
        known, np.sort(trial.table.classes)
    )


def _same_rows(trial: Trial, pipeline: Any, train_seconds: float) -> Trial:
    other = Trial(pipeline, trial.table, trial.rows, train_seconds)
    other.X = trial.X
    return other

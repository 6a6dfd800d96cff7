"""Searches whose truth is known: normal errors, and rows drawn for rates, gaps, rankings and times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin

from fenceline import metrics
from fenceline.certificate.certify import certify
from fenceline.certificate.controls import Control, Controls
from fenceline.certificate.sequence import Option
from fenceline.metrics import Table, Trial
from fenceline.metrics.metric import PipelineMetric, Reading
from fenceline.metrics.resources import Resource
from fenceline.pipelines.ensemble import Candidate
from fenceline.pipelines.fitting.thresholds import choosing
from fenceline.pipelines.fold_readings import CURVE
from fenceline.pipelines.threshold_curve import ThresholdCurve
from fenceline.problem.constraint import Constraint
from fenceline.problem.measurement import Spread
from fenceline.problem.problem import Problem
from fenceline.problem.space import Algorithm, Module, Space

CONFIDENCE = 0.95
CORRELATION = 0.8
"""Of the errors of two candidates on the same rows."""
OF_A_KIND = 0.25
"""The share of the luck that candidates of one kind have in common, and with the control of that kind, where there are several."""
TIMES = 4
"""Rows of the search for one that is kept: the error of the folds is half of the hold-out's."""
_SPACE = Space([Module("estimator", [Algorithm("GaussianNB")])])
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """What a search found, the truth about it, and the test on unseen rows."""

    candidates: list[Candidate]
    problem: Problem
    metrics: Mapping[str, PipelineMetric]
    true_room: Callable[[Option], float]
    """Of the constraint that is nearest, in standard errors of the hold-out; negative outside."""
    passes: Callable[[Option, float], bool]
    """Whether every constraint passes its test at a risk."""
    rows: tuple[int, int] = (TIMES, 1)
    controlled: bool = False


class Cell(Protocol):
    """A kind of search."""

    name: str

    def draw(self, rng: np.random.Generator) -> Found:
        """Draw one search."""


def _problem(constraints: Sequence[Constraint]) -> Problem:
    return Problem(_SPACE, dict, "loss", constraints)


def _noise(rng: np.random.Generator, *shape: int) -> Floats:
    """Return errors of candidates (the last axis) that are correlated."""
    common = rng.normal(size=(*shape[:-1], 1))
    return math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * rng.normal(size=shape)


def _spread(part: Quantity) -> Spread:
    """Return the error that the folds show; a clock's does not depend on rows."""
    return Spread(0.1 if part.metric.resource else part.error / math.sqrt(TIMES))


@dataclass(frozen=True)
class Normal:
    """Pipelines whose loss rises with their room, and normal errors."""

    name: str
    constraints: int
    bind: int
    """How many of the constraints are near; the others are far away."""
    rooms: tuple[float, float]
    """Between which the true rooms lie."""
    pipelines: int = 60
    flattery: float = 0.0
    """By how much the folds overstate the room."""

    def draw(self, rng: np.random.Generator) -> Found:
        """Draw one search."""
        room = rng.uniform(*self.rooms, self.pipelines)
        true = np.full((self.constraints, self.pipelines), 20.0)
        true[: self.bind] = room
        searched = true + self.flattery + _noise(rng, *true.shape) / math.sqrt(TIMES)
        unseen = true + _noise(rng, *true.shape)
        names = [f"m{i}" for i in range(self.constraints)]
        candidates = [
            Candidate(
                (i,),  # type: ignore[arg-type] # any name will do
                {"loss": float(room[i])} | dict(zip(names, -searched[:, i], strict=True)),
                0.0,
                spreads=dict.fromkeys(names, Spread(1 / math.sqrt(TIMES))),
            )
            for i in range(self.pipelines)
        ]

        def passes(option: Option, risk: float) -> bool:
            return bool(unseen[:, option.pipeline[0]].min() >= ndtri(1 - risk))

        def true_room(option: Option) -> float:
            return float(true[:, option.pipeline[0]].min())

        known = {name: metrics.score("accuracy") for name in names}
        fence = [Constraint(name, "<=", 0.0) for name in names]
        return Found(candidates, _problem(fence), known, true_room, passes)


class Says(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Predicts what the first column says, in so many microseconds."""

    classes_ = np.array([0, 1])

    def __init__(self, microseconds: float = 1.0) -> None:
        self.microseconds = microseconds

    def fit(self, X: Any, y: Any) -> Says:
        """Learn nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the first column as decisions."""
        return (np.asarray(X)[:, 0] > 0).astype(int)

    def decision_function(self, X: Any) -> Floats:
        """Return the first column."""
        return np.asarray(X)[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Clock(Resource):
    """A time with the error of a clock, from four stretches of time."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def read(self, trial: Trial) -> Reading:
        """Read the clock."""
        four = trial.pipeline.microseconds + 0.2 * self.rng.normal(size=4)
        return Reading(np.array([four.mean()]), float(four.std(ddof=1) / 2))


@dataclass(frozen=True)
class Quantity:
    """A metric, its bound, and how rows are drawn so that it has a true value."""

    metric: PipelineMetric
    constraint: Constraint
    error: float
    """Standard error on the unseen rows, about."""
    scores: Callable[[Floats, Floats, NDArray[np.intp], NDArray[np.intp]], Floats]
    """From true values, noise of the rows, labels and groups, what each candidate says of each row."""


def _rate(truth: int) -> Callable[..., Floats]:
    def scores(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
        wrong = ndtri(np.clip(values, 1e-6, 1 - 1e-6)) - noise
        return np.where((y == truth)[:, None], -wrong if truth else wrong, (2 * y - 1)[:, None])

    return scores


def _selection(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
    return np.asarray(ndtri(np.where(g[:, None] == 1, 0.3 + values, 0.3)) - noise)


def _odds(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
    base = np.where(y == 1, 0.7, 0.2)[:, None]
    return np.asarray(
        ndtri(np.where((g == 1)[:, None] & (y == 0)[:, None], base + values, base)) - noise
    )


def _auroc(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
    return np.asarray(noise + y[:, None] * math.sqrt(2) * ndtri(values))


def _auroc_gap(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
    auroc = np.where((g == 1)[:, None], 0.88 - values, 0.88)
    return np.asarray(noise + y[:, None] * math.sqrt(2) * ndtri(auroc))


def _unused(values: Floats, noise: Floats, y: Any, g: Any) -> Floats:
    return noise


_FPR, _FNR = metrics.false_positive_rate(), metrics.false_negative_rate()
_DPD = metrics.demographic_parity_difference("g")
_EOD = metrics.equalized_odds_difference("g")
_GAP = metrics.score_gap("roc_auc", "g")
_AUC = metrics.score("roc_auc")
QUANTITIES = {
    "rate": Quantity(_FPR, _FPR <= 0.2, math.sqrt(0.16 / 400), _rate(0)),
    "rare rate": Quantity(_FNR, _FNR <= 0.05, math.sqrt(0.0475 / 400), _rate(1)),
    "gap of rates": Quantity(_DPD, _DPD <= 0.2, math.sqrt(0.46 / 400), _selection),
    "equalised odds": Quantity(_EOD, _EOD <= 0.25, math.sqrt(0.41 / 200), _odds),
    "AUROC": Quantity(_AUC, _AUC >= 0.8, 0.0218, _auroc),
    "gap of AUROC": Quantity(_GAP, _GAP <= 0.12, 0.036, _auroc_gap),
    "latency": Quantity(Clock("clock"), Constraint("clock", "<=", 10.0), 0.143, _unused),
}
"""With 800 unseen rows, half of them positive, half of each class in either group."""


@dataclass(frozen=True)
class Rows:
    """Candidates drawn row by row, measured and certified by Fenceline's own metrics and bounds."""

    name: str
    quantities: tuple[str, ...]
    rooms: tuple[float, float]
    candidates: int = 12
    flattery: float = 0.0
    unseen: int = 800
    controls: int = 0
    """How many more models tell how lucky the unseen rows are; with several, each is of the kind of some candidates."""

    def draw(self, rng: np.random.Generator) -> Found:
        """Draw one search."""
        parts = [QUANTITIES[name] for name in self.quantities]
        # A clock has errors of its own: from the same stream, so that a simulation can be repeated.
        parts = [
            replace(part, metric=replace(part.metric, rng=rng))
            if isinstance(part.metric, Clock)
            else part
            for part in parts
        ]
        # Not in order, so that a kind is not one of bold candidates, or of safe ones.
        room = rng.permutation(rng.uniform(*self.rooms, self.candidates))
        values = [_value(part, np.append(room, [0.0] * self.controls)) for part in parts]
        searched = self._trials(rng, TIMES * self.unseen, values)
        unseen = self._trials(rng, self.unseen, values)
        known = {part.constraint.metric: part.metric for part in parts}
        constraints = [part.constraint for part in parts]
        found = [
            Candidate(
                (i,),  # type: ignore[arg-type] # any name will do
                {"loss": float(room[i])} | self._measured(parts, searched, i),
                0.0,
                spreads={part.constraint.metric: _spread(part) for part in parts},
            )
            for i in range(self.candidates)
        ]

        controls: list[Controls | None] = [None] * len(parts)
        if self.controls:
            pairs = zip(searched[-self.controls :], unseen[-self.controls :], strict=True)
            kinds = [list(zip(*pair, strict=True)) for pair in pairs]
            controls = [
                Controls([Control([one], [other]) for one, other in told])
                for told in zip(*kinds, strict=True)
            ]

        def passes(option: Option, risk: float) -> bool:
            tests = zip(unseen[option.pipeline[0]], constraints, controls, strict=True)
            return all(
                certify(trial, [c], known, confidence=1 - risk, controls=known_luck).status
                == "certified"
                for trial, c, known_luck in tests
            )

        def true_room(option: Option) -> float:
            return float(room[option.pipeline[0]])

        return Found(
            found, _problem(constraints), known, true_room, passes, controlled=self.controls > 0
        )

    def _measured(
        self, parts: Sequence[Quantity], searched: list[list[Trial]], i: int
    ) -> dict[str, float]:
        measured = {}
        for part, trial in zip(parts, searched[i], strict=True):
            name = part.constraint.metric
            better = 1.0 if part.constraint.sense == ">=" else -1.0
            measured[name] = part.metric.value(trial) + better * self.flattery * part.error
        return measured

    def _trials(
        self, rng: np.random.Generator, rows: int, values: list[Floats]
    ) -> list[list[Trial]]:
        """Return for each candidate one trial for each quantity, all on the same rows."""
        y, g = np.arange(rows) % 2, np.arange(rows) // 2 % 2
        trials: list[list[Trial]] = [[] for _ in values[0]]
        for name, true in zip(self.quantities, values, strict=True):
            noise = _noise(rng, rows, len(true))
            if self.controls > 1:
                kinds = rng.normal(size=(rows, self.controls))[
                    :, np.arange(len(true)) % self.controls
                ]
                noise = math.sqrt(1 - OF_A_KIND) * noise + math.sqrt(OF_A_KIND) * kinds
            scores = QUANTITIES[name].scores(true, noise, y, g)
            for i in range(len(true)):
                table = Table(scores[:, [i]], y, "binary", {"g": g})
                trials[i].append(Trial(Says(float(true[i])), table, np.arange(rows)))
        return trials


def _value(part: Quantity, room: Floats) -> Floats:
    """Return the true values that keep so many standard errors from a bound."""
    better = 1.0 if part.constraint.sense == ">=" else -1.0
    return np.asarray(part.constraint.bound + better * part.error * room)


@dataclass(frozen=True)
class Thresholds:
    """Pipelines of different strength, each at many thresholds: errors of one class at a bound on the other's."""

    name: str
    strengths: tuple[float, ...]
    bound: float = 0.1
    cases: int = 400
    flattery: float = 0.0
    highest: float = 3.0
    """The highest threshold, which lets fewest through."""

    def draw(self, rng: np.random.Generator) -> Found:
        """Draw one search."""
        cuts = np.linspace(-1.0, self.highest, 40)
        error = math.sqrt(self.bound * (1 - self.bound) / self.cases)
        size = len(self.strengths)
        searched = _noise(rng, TIMES * self.cases, size)
        unseen = _noise(rng, self.cases, size)
        found: list[Candidate] = []
        for i, strength in enumerate(self.strengths):
            rate = np.mean(searched[:, [i]] > cuts, axis=0)
            missed = ndtr(cuts - strength)
            curve = ThresholdCurve(
                cuts,
                np.clip((rate + 1 - missed) / 2, 1e-3, 1 - 1e-3),
                {"false_positive_rate": rate - self.flattery * error, "loss": missed},
                {"false_positive_rate": np.sqrt((rate + 1e-3) * (1 - rate) / (TIMES * self.cases))},
            )
            known = {"loss": 0.0, "false_positive_rate": 0.0}
            details = {CURVE: curve.to_dict()}
            found.append(Candidate((i,), known, 0.0, details=details))  # type: ignore[arg-type]

        def passes(option: Option, risk: float) -> bool:
            decided = unseen[:, [option.pipeline[0]]] - option.log_odds
            rows = np.arange(self.cases)
            trial = Trial(
                Says(), Table(decided, np.append(np.zeros(self.cases - 1), 1), "binary"), rows
            )
            trial.target = np.zeros(self.cases, dtype=int)
            fence = [self.bound >= _FPR]
            return (
                certify(trial, fence, {_FPR.name: _FPR}, confidence=1 - risk).status == "certified"
            )

        def true_room(option: Option) -> float:
            return float((self.bound - ndtr(-option.log_odds)) / error)

        fence = [self.bound >= _FPR]
        return Found(found, _problem(fence), {_FPR.name: _FPR}, true_room, passes)


@dataclass(frozen=True)
class Shares:
    """The same where the last fit's scores lie elsewhere, and thresholds follow the share that the folds chose.

    Where a fit chooses that share is read from the unseen rows, without their labels: so the true rate
    of an option depends on them, too.
    """

    name: str
    strengths: tuple[float, ...]
    cuts: tuple[float, float] = (-1.0, 3.0)
    """The lowest and the highest threshold."""
    bound: float = 0.1
    cases: tuple[int, int] = (400, 400)
    """Of each class."""
    flattery: float = 0.0
    drift: float = 0.5
    """How far the scores of a last fit lie from those of the folds, in their standard deviations."""
    times: int = TIMES

    def draw(self, rng: np.random.Generator) -> Found:
        """Draw one search."""
        cuts = np.linspace(*self.cuts, 40)
        negatives, positives = self.cases
        error = math.sqrt(self.bound * (1 - self.bound) / negatives)
        drifts = self.drift * rng.normal(size=len(self.strengths))
        searched = self._scores(rng, self.times * negatives, self.times * positives)
        unseen = self._scores(rng, negatives, positives) + drifts
        y = np.repeat([0, 1], self.cases)
        trials = [
            Trial(Says(), Table(unseen[:, [i]], y, "binary"), np.arange(len(y)))
            for i in range(len(drifts))
        ]
        found: list[Candidate] = []
        for i in range(len(self.strengths)):
            chosen = searched[:, [i]] > cuts
            rate = np.mean(chosen[: self.times * negatives], axis=0)
            known = np.sqrt((rate + 1e-3) * (1 - rate) / (self.times * negatives))
            curve = ThresholdCurve(
                cuts,
                np.clip(np.mean(chosen, axis=0), 1e-3, 1 - 1e-3),
                {
                    "false_positive_rate": rate - self.flattery * error,
                    "loss": 1 - np.mean(chosen[self.times * negatives :], axis=0),
                },
                {"false_positive_rate": known},
            )
            measured = {"loss": 0.0, "false_positive_rate": 0.0}
            details = {CURVE: curve.to_dict()}
            found.append(Candidate((i,), measured, 0.0, details=details))  # type: ignore[arg-type]

        @cache
        def placed(option: Option) -> float:
            assert option.selected is not None
            place = choosing(trials[option.pipeline[0]], option.selected)
            assert place is not None
            return place

        def passes(option: Option, risk: float) -> bool:
            decided = trials[option.pipeline[0]].X - placed(option)
            trial = Trial(Says(), Table(decided, y, "binary"), np.arange(len(y)))
            fence = [self.bound >= _FPR]
            return (
                certify(trial, fence, {_FPR.name: _FPR}, confidence=1 - risk).status == "certified"
            )

        def true_room(option: Option) -> float:
            rate = ndtr(drifts[option.pipeline[0]] - placed(option))
            return float((self.bound - rate) / error)

        fence = [self.bound >= _FPR]
        known_metrics = {_FPR.name: _FPR}
        return Found(found, _problem(fence), known_metrics, true_room, passes, (self.times, 1))

    def _scores(self, rng: np.random.Generator, negatives: int, positives: int) -> Floats:
        """Return the scores of negatives, then of positives."""
        noise = _noise(rng, negatives + positives, len(self.strengths))
        shift = np.repeat([0.0, 1.0], [negatives, positives])[:, None]
        return noise + shift * np.array(self.strengths)


NORMAL: tuple[Cell, ...] = (
    Normal("3 constraints, one binds, roomy models exist", 3, 1, (-1.0, 6.0)),
    Normal("the same, hardly any room", 3, 1, (-1.0, 3.0)),
    Normal("3 bind together, hardly any room", 3, 3, (-1.0, 3.0)),
    Normal("4 bind together, roomy models exist", 4, 4, (-1.0, 6.0)),
    Normal("1 constraint, 2.49 errors of room, one candidate", 1, 1, (2.49, 2.49), pipelines=1),
    Normal("1 constraint, all just outside, the folds flatter", 1, 1, (-1e-6, -1e-7), flattery=3.0),
    Normal("4 constraints, one just broken, the folds flatter", 4, 1, (-1e-6, -1e-7), flattery=3.0),
)
_ROOMY, _TIGHT, _EDGE = (-2.0, 6.0), (-2.0, 2.5), (-1e-6, -1e-7)
_SINGLE: tuple[Cell, ...] = tuple(
    Rows(f"{name}, {word}", (name,), rooms, flattery=flattery)
    for name in QUANTITIES
    for word, rooms, flattery in (
        ("roomy", _ROOMY, 0.0),
        ("tight", _TIGHT, 0.0),
        ("just outside", _EDGE, 3.0),
    )
)
_CONTROLLED: tuple[Cell, ...] = tuple(
    Rows(f"{name}, {word}, {told}", (name,), rooms, flattery=flattery, controls=controls)
    for name in QUANTITIES
    if name != "latency"
    for controls, told in ((1, "with a control"), (4, "with four of its kinds"))
    for word, rooms, flattery in (("roomy", _ROOMY, 0.0), ("just outside", _EDGE, 3.0))
)
_STRENGTHS = (1.0, 1.2, 1.4, 1.6, 1.8)
_MANY = ("rate", "gap of rates", "AUROC", "latency")
ROWS: tuple[Cell, ...] = (
    *_SINGLE,
    *_CONTROLLED,
    Rows("2 constraints (rates), tight", ("rate", "rare rate"), _TIGHT),
    Rows("4 constraints (rate, gap, AUROC, latency), roomy", _MANY, _ROOMY),
    Rows("4 constraints (rate, gap, AUROC, latency), tight", _MANY, _TIGHT),
    Rows("rate, 2.49 errors of room, one candidate", ("rate",), (2.49, 2.49), candidates=1),
    Thresholds("thresholds of 5 pipelines, roomy", _STRENGTHS),
    Thresholds("thresholds of one pipeline, the folds flatter by 3", (1.5,), flattery=3.0),
    Thresholds("thresholds, all just outside or worse", (1.0, 1.5), flattery=3.0, highest=1.281),
    Shares("shares of 5 pipelines whose scores drift, roomy", _STRENGTHS),
    Shares("shares of 5 pipelines, the folds flatter by 3", _STRENGTHS, flattery=3.0),
    Shares(
        "shares of 2 pipelines, none farther inside than the bound",
        (1.0, 1.5),
        (-1.0, 1.281),
        flattery=3.0,
    ),
    # One positive in a hundred: a share then fixes the observed rate, and all that is just inside passes.
    Shares(
        "shares of 12 pipelines, 1.66 to 1.95 errors inside",
        (2.5,) * 12,
        (1.3775, 1.3957),
        cases=(990, 10),
        times=20,
    ),
)

"""Scores by scikit-learn's names, losses made of them, and how much noise costs."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import sparse

from fenceline.errors import DefinitionError, MeasurementError
from fenceline.metrics.decisions import Floats, Sweep, confusion, score_sweep
from fenceline.metrics.metric import Cases, Parts, PipelineMetric
from fenceline.metrics.names import error_name, natural
from fenceline.metrics.ranges import Range
from fenceline.metrics.scorer_traits import decides, is_unit, scorer_name, scorer_range, weighable
from fenceline.metrics.scorers import is_scorer, scorer_object
from fenceline.metrics.scoring import right, scored
from fenceline.metrics.trial import Grouping, Rows, Trial
from fenceline.problem.objective import bounded


@dataclass(frozen=True, slots=True, eq=False)
class Score(PipelineMetric):
    """A scikit-learn scorer's own value: larger is better, errors are negative."""

    scorer: str

    larger_is_better: ClassVar[bool] = True

    @property
    def scored_by(self) -> str:
        """The scorer."""
        return self.scorer

    @property
    def unit(self) -> bool:
        """Whether the score lies between 0 and 1."""
        return is_unit(self.scorer)

    @property
    def range(self) -> Range:
        """Which values the scorer can come to."""
        return scorer_range(self.scorer)

    @property
    def turns(self) -> str | None:
        """The error, for scorers whose names begin with ``neg_``."""
        error = natural(self.scorer)
        return None if error == self.scorer else error

    @property
    def decides(self) -> bool:
        """Whether the score is one of decisions."""
        return decides(self.scorer)

    @property
    def weighable(self) -> bool:
        """Whether the scorer takes weights."""
        return weighable(self.scorer)

    def cases(self, trial: Trial) -> list[Cases] | None:
        """Return the rows that the score is a share of, and those that are right."""
        found = right(self.scorer, trial, np.arange(len(trial.rows)))
        return None if found is None else [found]

    def ranked(self, trial: Trial) -> list[Rows] | None:
        """Return all rows, if the score is an AUROC of two classes."""
        plain = trial.weights is None and trial.table.task == "binary"
        return [np.arange(len(trial.rows))] if plain and self.scorer == "roc_auc" else None

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep | None:
        """Return the score at many thresholds."""
        return score_sweep(self.scorer, confusion(trial, cuts)) if self.weighable else None

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the score."""
        return np.array([scored(self.scorer, trial, at)])


@dataclass(frozen=True, slots=True, eq=False)
class Loss(PipelineMetric):
    """A larger-is-better metric turned round: 1 - value if it never exceeds 1, -value otherwise."""

    of: PipelineMetric
    bounded: bool

    @property
    def range(self) -> Range:
        """The metric's own, turned round."""
        return self.of.range.turned(float(self.bounded))

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The groups that the metric compares."""
        return self.of.groupings

    @property
    def scored_by(self) -> str | None:
        """The scorer of the metric."""
        return self.of.scored_by

    @property
    def only_class(self) -> int | None:
        """The class whose rows alone the metric looks at."""
        return self.of.only_class

    @property
    def decides(self) -> bool:
        """Whether the metric depends on decisions."""
        return self.of.decides

    @property
    def weighable(self) -> bool:
        """Whether rows can count differently in the metric."""
        return self.of.weighable

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the metric's own parts."""
        return self.of.parts(trial, at)

    def combine(self, parts: Parts) -> float:
        """Turn the metric's value round."""
        return self.bounded - self.of.combine(parts)

    def combine_each(self, parts: Floats) -> Floats:
        """Turn the metric's values round."""
        return np.asarray(float(self.bounded) - self.of.combine_each(parts))

    def error(self, parts: Floats, variances: Floats) -> Floats:
        """Return the metric's own error."""
        return self.of.error(parts, variances)

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep | None:
        """Return the metric's own parts at many thresholds."""
        return self.of.sweep(trial, cuts)

    def variances(self, trial: Trial) -> Parts | None:
        """Return the variances of the metric's own parts."""
        return self.of.variances(trial)


@dataclass(frozen=True, slots=True, eq=False)
class Robustness(PipelineMetric):
    """How much of a score is lost under noise."""

    scorer: str
    noise: float

    @property
    def range(self) -> Range:
        """A score may fall, or rise, by as much as it can differ."""
        width = scorer_range(self.scorer).width.high
        return Range(-width, width)

    @property
    def scored_by(self) -> str:
        """The scorer."""
        return self.scorer

    @property
    def decides(self) -> bool:
        """Whether the score is one of decisions."""
        return decides(self.scorer)

    @property
    def weighable(self) -> bool:
        """Whether the scorer takes weights."""
        return weighable(self.scorer)

    def parts(self, trial: Trial, at: Rows | None = None) -> Parts:
        """Return the drop of the score."""
        noisy = _disturbed(trial, self.noise)
        return np.array([scored(self.scorer, trial, at) - scored(self.scorer, noisy, at)])

    def sweep(self, trial: Trial, cuts: Floats) -> Sweep | None:
        """Return the drop at many thresholds."""
        if not self.weighable:
            return None
        plain, noisy = (
            score_sweep(self.scorer, confusion(one, cuts)).parts
            for one in (trial, _disturbed(trial, self.noise))
        )
        return Sweep(plain - noisy, np.full(plain.shape, np.nan))


def score(scorer: Any) -> PipelineMetric:
    """Return a scikit-learn scorer as a metric: ``score("roc_auc") >= 0.8``, ``score("mae") <= 1.7``.

    Parameters
    ----------
    scorer : str or scorer object
        What ``make_scorer`` made: larger is better, as everywhere in scikit-learn. Or a name of
        :func:`sklearn.metrics.get_scorer_names`, whose value is the scorer's own, so
        ``neg_log_loss`` is at most 0; or what people call it, such as ``auc``. Errors by their
        names (``mae``, ``rmse``, ``log_loss``) are errors: at least 0, and smaller is better.
    """
    if is_scorer(scorer):
        made = scorer_object(scorer)
        return score(made) if isinstance(made, str) else made
    name = scorer_name(scorer)
    found = Score(name, name)
    error = error_name(scorer)
    return found if error is None else Loss(error, found, bounded=False)


def loss(scorer: "str | PipelineMetric") -> Loss:
    """Return the loss that belongs to a score; an objective given by a scorer's name becomes this.

    Parameters
    ----------
    scorer : str or metric
        Its loss is ``1 - score`` for scores that are at most 1 (accuracy, AUROC, F1, R2 ...) and
        ``-score`` for the rest (``neg_log_loss`` becomes the log loss itself). An error by its
        name, such as ``mae``, is its own loss.
    """
    of = scorer if isinstance(scorer, PipelineMetric) else score(scorer)
    if isinstance(of, Loss):
        return of
    return Loss(f"loss({of.name})", of, bounded=bounded(of.name))


def robustness(scorer: str, noise: float = 0.1) -> Robustness:
    """Return how much of a score is lost when numbers are disturbed.

    Parameters
    ----------
    scorer : str
        A scikit-learn scorer's name; the unit is the score's.
    noise : float
        Normal noise of this many standard deviations is added to every column of numbers, the
        same for every pipeline.
    """
    if not isinstance(noise, int | float) or not 0 < noise < np.inf:
        raise DefinitionError(f"robustness: noise must be a positive number. Got {noise!r}.")
    name = scorer_name(scorer)
    return Robustness(f"robustness({name},noise={noise:g})", name, float(noise))


def _disturbed(trial: Trial, noise: float) -> Trial:
    """Return the trial with noise on every column of numbers; made once, for predicting is slow."""
    key = ("disturbed", noise)
    if key not in trial.memo:
        trial.memo[key] = trial.on(_with_noise(trial.X, noise))
    disturbed: Trial = trial.memo[key]
    return disturbed


def _with_noise(X: Any, noise: float) -> Any:
    rng = np.random.default_rng(0)
    if sparse.issparse(X):
        raise MeasurementError("robustness is not defined for sparse tables; make X dense.")
    if not isinstance(X, pd.DataFrame):
        return X + noise * np.nanstd(X, axis=0) * rng.standard_normal(X.shape)
    numbers = X.select_dtypes("number").astype(np.float64)
    disturbed = numbers + noise * numbers.std().to_numpy() * rng.standard_normal(numbers.shape)
    return X.assign(**{str(name): disturbed[name] for name in numbers.columns})

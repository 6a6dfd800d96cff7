"""The objective as people named it: a search minimises ``loss(precision)``, a reader sees precision."""

from dataclasses import dataclass

_LOSS = "loss("
_NEGATED = "neg_"
_UNBOUNDED = ("mutual_info_score", "positive_likelihood_ratio")
"""Scores beyond 1, whose loss is therefore minus the score."""


@dataclass(frozen=True, slots=True)
class NamedScore:
    """What stands behind an objective: the score's own name, direction and values."""

    name: str
    larger_is_better: bool
    offset: float = 0.0

    def value(self, loss: float) -> float:
        """Return the score that belongs to a value of the objective."""
        return self.offset - loss if self.larger_is_better else loss

    @property
    def best(self) -> str:
        """How the best of several is called."""
        return "highest" if self.larger_is_better else "lowest"

    def written(self, loss: float, digits: int = 4) -> str:
        """Write name and value: ``precision 0.872``."""
        return f"{self.name} {self.value(loss):.{digits}g}"


def named(objective: str) -> NamedScore:
    """Return the score that an objective is the loss of; any other metric is what it is called.

    ``loss(NAME)`` is how :func:`fenceline.metrics.loss` calls a score that was turned round: 1 - score, or
    -score for scores that may exceed 1. scikit-learn's ``neg_`` scores are errors turned round, so
    their loss is the error itself.
    """
    if not (objective.startswith(_LOSS) and objective.endswith(")")):
        return NamedScore(objective, larger_is_better=False)
    score = objective.removeprefix(_LOSS)[:-1]
    if score.startswith(_NEGATED):
        return NamedScore(score.removeprefix(_NEGATED), larger_is_better=False)
    return NamedScore(score, larger_is_better=True, offset=float(bounded(score)))


def bounded(score: str) -> bool:
    """Tell whether a score never exceeds 1, so that its loss is 1 - score."""
    return not (score.startswith(_NEGATED) or score in _UNBOUNDED)

"""scikit-learn's scorer objects, such as ``make_scorer(fbeta_score, beta=2)``, as metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from fenceline.metrics.custom import Custom


@dataclass(frozen=True, slots=True)
class Scoring:
    """A scorer in the shape of a user's own function."""

    scorer: Any

    @property
    def __name__(self) -> str:
        return scorer_text(self.scorer)

    def __call__(
        self, pipeline: Any, X: Any, y: NDArray[Any], groups: Mapping[str, NDArray[Any]]
    ) -> float:
        """Score a pipeline by its answers and the user's own labels."""
        return float(self.scorer(pipeline, X, y))


@dataclass(frozen=True, slots=True, eq=False)
class ScorerObject(Custom):
    """The value of a scorer object: larger is better, as everywhere in scikit-learn."""

    larger_is_better: ClassVar[bool] = True


def is_scorer(given: object) -> bool:
    """Tell whether this is what ``make_scorer`` makes; its class has no public name."""
    return callable(given) and hasattr(given, "_score_func") and hasattr(given, "_sign")


def scorer_object(scorer: Any) -> ScorerObject | str:
    """Return a scorer as a metric, or its name if it is one of scikit-learn's own."""
    for name in map(str, get_scorer_names()):
        if repr(get_scorer(name)) == repr(scorer):
            return name
    return ScorerObject(scorer_text(scorer), Scoring(scorer))


def scorer_text(scorer: Any) -> str:
    """Name a scorer by its function and what that was given."""
    name = str(getattr(scorer._score_func, "__name__", type(scorer._score_func).__name__))
    name = name if name.isidentifier() else "score"
    given = "".join(f"_{key}_{value}" for key, value in sorted(scorer._kwargs.items()))
    turned = "neg_" if scorer._sign < 0 else ""
    return turned + name + "".join(c if c.isalnum() else "_" for c in given)

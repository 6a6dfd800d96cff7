"""What metrics see: a table, a pipeline fitted on other rows of it, and the pipeline's answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from fenceline.errors import DefinitionError, MeasurementError, suggestion

Rows: TypeAlias = NDArray[np.intp]
Grouping: TypeAlias = tuple[str, tuple[float, ...]]
"""The name of a group, and the edges that cut its numbers; no edges where each value is a group."""

Task: TypeAlias = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True)
class Table:
    """Rows with their labels and groups.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix
        The features.
    y : array
        The labels, as the user gave them.
    task : {"binary", "multiclass", "regression"}
        What is predicted.
    groups : mapping of str to array
        One value per row and name.
    weights : array, optional
        How much each row counts, more than 0; all the same if None.
    positive : label, optional
        Which of two classes is the positive one; the last in order if None.
    """

    X: Any
    y: NDArray[Any]
    task: Task
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None
    positive: Any = None

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes in order, but that the positive one of two is always the last."""
        found = np.unique(self.y)
        if self.positive is not None and self.task == "binary" and found[0] == self.positive:
            return found[::-1]
        return found

    @cached_property
    def target(self) -> NDArray[Any]:
        """The labels as metrics use them: the positions of classes, or numbers."""
        if self.task == "regression":
            return self.y
        return positions(self.classes, self.y)

    def take(self, rows: Rows) -> "Table":
        """Return some of the rows; the classes stay those of all."""
        if np.array_equal(rows, np.arange(len(self.y))):
            return self  # a search without a fence has all rows, and a large table stays one
        groups = {name: values[rows] for name, values in self.groups.items()}
        weights = None if self.weights is None else self.weights[rows]
        part = Table(take(self.X, rows), self.y[rows], self.task, groups, weights, self.positive)
        part.__dict__["classes"] = self.classes
        return part

    def grouping(self, name: str, bins: Sequence[float] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return the labels of a column's groups, and the group of every row.

        Parameters
        ----------
        name : str
            Of a group; blanks in it do not count, for texts of constraints lose theirs.
        bins : sequence of float
            Edges that cut numbers into groups; what lies outside the edges forms groups, too.
        """
        memo = self.__dict__.setdefault("_groupings", {})
        if (name, tuple(bins)) not in memo:
            memo[name, tuple(bins)] = self._grouped(name, bins)
        found: tuple[list[str], NDArray[np.intp]] = memo[name, tuple(bins)]
        return found

    def _grouped(self, name: str, bins: Sequence[float]) -> tuple[list[str], NDArray[np.intp]]:
        key = find_group(name, self.groups)
        found, codes = np.unique(
            group_labels(key, self.groups[key], bins, ordered=True), return_inverse=True
        )
        labels = [str(label) for label in found]
        if bins:
            labels = [_interval(np.asarray(bins, dtype=np.float64), int(i)) for i in found]
        if len(labels) < 2:
            raise DefinitionError(
                f"Group {key!r} has the single value {labels[0]!r}; a comparison needs two groups."
            )
        return labels, codes.astype(np.intp)


class Trial:
    """A fitted pipeline, and rows of a table that it was not fitted on.

    Answers of the pipeline are computed once, however many metrics ask for them.
    """

    def __init__(
        self,
        pipeline: Any,
        table: Table,
        rows: Rows,
        train_seconds: float = float("nan"),
        reached: Any = None,
        cuts: NDArray[np.float64] | None = None,
        trees: int | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.table = table
        self.rows = rows
        self.train_seconds = train_seconds
        self.reached = reached
        """The rows as they reach the pipeline's last step, where that is known already."""
        self.cuts = cuts
        """What the response of each row is compared with, where that depends on the row's group."""
        self.trees = trees
        """How many the model has, where it stopped by itself or had no time for more."""
        self.memo: dict[Any, Any] = {}

    @cached_property
    def X(self) -> Any:  # noqa: N802 - scikit-learn's name for it
        """The rows' features."""
        return take(self.table.X, self.rows)

    @cached_property
    def target(self) -> NDArray[Any]:
        """The rows' labels, as positions of classes or numbers."""
        target: NDArray[Any] = self.table.target[self.rows]
        return target

    @cached_property
    def weights(self) -> NDArray[np.float64] | None:
        """How much each of the rows counts; None if all count the same."""
        return None if self.table.weights is None else self.table.weights[self.rows]

    def share(self, claim: NDArray[np.bool_], at: Rows) -> float:
        """Return the weighted share of the rows at these positions of which a claim is true."""
        return float(np.average(claim, weights=None if self.weights is None else self.weights[at]))

    @cached_property
    def answers(self) -> "Answers":
        """The pipeline's answers on the rows."""
        classes = None if self.table.task == "regression" else self.table.classes
        if self.reached is None:
            return Answers(self.pipeline, self.X, classes, self.cuts)
        return Answers(self.pipeline[-1], self.reached, classes, self.cuts)

    @cached_property
    def response(self) -> NDArray[np.float64] | None:
        """What is compared with the threshold: the probability of the positive class, else the decision value.

        None for a pipeline that has neither, and for other tasks than that of two classes.
        """
        if self.table.task != "binary":
            return None
        every = np.arange(len(self.rows))
        if hasattr(self.answers, "predict_proba"):
            return np.asarray(self.answers.predict_proba(every)[:, 1], dtype=np.float64)
        if hasattr(self.answers, "decision_function"):
            return np.asarray(self.answers.decision_function(every), dtype=np.float64)
        return None

    def grouping(self, name: str, bins: Sequence[float] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return all group labels of the table, and the group of each of these rows."""
        key = (name, tuple(bins))
        if key not in self.memo:
            labels, codes = self.table.grouping(name, bins)
            self.memo[key] = labels, codes[self.rows]
        found: tuple[list[str], NDArray[np.intp]] = self.memo[key]
        return found

    def on(self, X: Any) -> "Trial":
        """Return the same trial with other features in the same rows."""
        other = Trial(self.pipeline, self.table, self.rows, self.train_seconds, cuts=self.cuts)
        other.X = X
        return other


def _can(method: str) -> Callable[[Any], Any]:
    """Offer a method only if the pipeline has it, for scorers choose by what is there."""
    offered: Callable[[Any], Any] = available_if(lambda answers: hasattr(answers.pipeline, method))
    return offered


class Answers(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Stands for a fitted pipeline to scikit-learn's scorers, with row positions in place of X.

    So any scorer can be asked about any subset of rows without predicting again, and classes
    are 0, 1, ..., so that scorers which want the positive class to be 1 take any labels.
    """

    def __init__(
        self,
        pipeline: Any,
        X: Any,
        classes: NDArray[Any] | None,
        cuts: NDArray[np.float64] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.X = X
        self.classes = classes
        self.cuts = cuts
        self._known: dict[str, NDArray[Any]] = {}

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The positions of the classes."""
        if self.classes is None:
            raise AttributeError("Numbers have no classes.")
        return np.arange(len(self.classes))

    @property
    def likely(self) -> bool:
        """Whether decisions compare probabilities, not decision values."""
        return hasattr(self.pipeline, "predict_proba")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self.pipeline.__sklearn_tags__()

    def _ask(self, method: str) -> NDArray[Any]:
        if method == "predict" and self.cuts is not None:
            scores = self._ask("predict_proba" if self.likely else "decision_function")
            return ((scores[:, 1] if self.likely else scores) >= self.cuts).astype(np.intp)
        if method not in self._known:
            answer = np.asarray(getattr(self.pipeline, method)(self.X))
            if method == "predict" and self.classes is not None:
                answer = positions(self.classes, answer)
            elif not np.isfinite(answer).all():
                # Scorers that rank or round would make a number of it all the same.
                raise MeasurementError(f"The pipeline's {method} is not finite for some rows.")
            elif self.classes is not None and reversed_order(self.classes):
                # The pipeline keeps to the order of the labels.
                answer = answer[:, ::-1] if method == "predict_proba" else -answer
            self._known[method] = answer
        return self._known[method]

    def recall(self, other: "Answers", chosen: NDArray[np.bool_] | None) -> None:
        """Take over what the same model has answered elsewhere, with other decisions."""
        self._known = {name: answer for name, answer in other._known.items() if name != "predict"}
        if chosen is not None:
            self._known["predict"] = chosen.astype(np.intp)

    @_can("predict")
    def predict(self, at: Rows) -> NDArray[Any]:
        """Return predictions for rows, by position."""
        return self._ask("predict")[at]

    @_can("predict_proba")
    def predict_proba(self, at: Rows) -> NDArray[Any]:
        """Return probabilities for rows, by position."""
        return self._ask("predict_proba")[at]

    @_can("decision_function")
    def decision_function(self, at: Rows) -> NDArray[Any]:
        """Return decision values for rows, by position."""
        return self._ask("decision_function")[at]


def reversed_order(classes: NDArray[Any]) -> bool:
    """Tell whether of two classes the first in order is the positive one."""
    return len(classes) == 2 and bool(classes[0] > classes[1])


def positions(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label among the classes."""
    if reversed_order(classes):
        return 1 - np.searchsorted(classes[::-1], labels)
    return np.searchsorted(classes, labels)


def take(X: Any, rows: Rows) -> Any:
    """Return rows of any table."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def as_groups(given: Any) -> Any:
    """Return the columns of a data frame, of pandas or of another library, by name; anything else as it is."""
    if hasattr(given, "to_pandas"):
        given = given.to_pandas()
    if isinstance(given, pd.DataFrame):
        return {str(name): given[name].to_numpy() for name in given}
    return given


def find_group(name: str, groups: Mapping[str, Any]) -> str:
    """Return the group of this name, blanks aside, or name the nearest."""
    for key in groups:
        if "".join(key.split()) == "".join(name.split()):
            return key
    raise DefinitionError(
        f"There is no column or group {name!r}.{suggestion(name, groups)} Name a column of X, or "
        f"give fit(..., groups={{{name!r}: ...}})."
    )


def group_labels(
    name: str, values: NDArray[Any], bins: Sequence[float] = (), *, ordered: bool = False
) -> NDArray[Any]:
    """Return the label of each row's group.

    Parameters
    ----------
    name : str
        Of the group, for messages.
    values : array
        One for each row; none may be missing.
    bins : sequence of float
        Edges that cut numbers into groups.
    ordered : bool
        Whether to return the place of an interval for its label, by which intervals are in order.
    """
    missing = pd.isna(values)
    if missing.any():
        raise DefinitionError(
            f"Group {name!r} is missing in {int(missing.sum())} rows; give those rows a group of their own."
        )
    if not bins:
        return values.astype(str)
    edges = np.asarray(bins, dtype=np.float64)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DefinitionError(
            f"Group {name!r} has values such as {str(values[0])!r}, and bins cut numbers only; leave "
            "out the bins."
        ) from None
    places = np.digitize(numbers, edges)
    return places if ordered else np.array([_interval(edges, int(i)) for i in places])


def _interval(edges: NDArray[np.float64], i: int) -> str:
    if i == 0:
        return f"< {written_edge(edges[0])}"
    if i == len(edges):
        return f">= {written_edge(edges[-1])}"
    return f"{written_edge(edges[i - 1])} to {written_edge(edges[i])}"


def written_edge(edge: float) -> str:
    """Return the edge of an interval in as few digits as tell it from every other number."""
    return repr(float(edge)).removesuffix(".0")

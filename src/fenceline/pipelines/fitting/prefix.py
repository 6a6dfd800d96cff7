"""Fitted first steps of pipelines, kept as far as memory allows, so that others need not fit them again.

While a z-min varies the choices and hyper-parameters stand still, many pipelines begin alike. What
they share is fitted once in each fold; scores, sizes, times and warnings are those of a pipeline
that was fitted alone.
"""

import copy
import hashlib
import math
import pickle
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from fenceline.errors import MeasurementError
from fenceline.metrics.trial import Rows, take
from fenceline.pipelines.fitting.arrange import Step, algorithms, arranged, make_step, text
from fenceline.pipelines.fitting.encoders import encoding, split_encoder
from fenceline.pipelines.fitting.monotone import signs_reaching, told
from fenceline.pipelines.fitting.thresholds import decide_at, split_threshold
from fenceline.pipelines.fitting.trees import (
    affordable,
    needs_held_out,
    stopped_after,
    with_trees,
)
from fenceline.pipelines.fitting.votes import fit_votes
from fenceline.pipelines.fitting.weights import (
    HeldOut,
    Weights,
    fit_model,
    fit_transform,
    fit_until,
    takes_weights,
)
from fenceline.pipelines.spaces.operators import Setting
from fenceline.problem.configuration import Choice

Path: TypeAlias = tuple[tuple[str, Step], ...]
"""The first steps, without those that pass everything through."""

_MEGA = 1e6
_FEWEST = 8
"""Prefixes of which fewer would fit drive each other out before any is used again: none is kept."""


@dataclass(frozen=True, slots=True)
class Fold:
    """What a pipeline is fitted on, and what it will be measured on.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix
        The features of all rows.
    y, weights : array
        The labels of the rows to fit on, and how much each counts.
    setting : Setting
        The task; rows and columns are those that reach a step.
    preparation : transformer, optional
        What comes first.
    train, valid : array of int, optional
        The rows to fit on, by default all; and the rows to measure on, by default none.
    model_weights : array, optional
        How much each row counts for the model, if it takes weights; by default as in the other steps.
    """

    X: Any
    y: Any
    setting: Setting
    preparation: Any = None
    weights: Weights = None
    train: Rows | None = None
    valid: Rows | None = None
    model_weights: Weights = None
    held_out_y: Any = None
    held_out_weights: Weights = None
    """Labels of the rows to measure on, and how much each counts for the model, where they may tell it when to stop."""

    @property
    def key(self) -> Hashable:
        """The same for the same rows."""
        return _digest(self.train), _digest(self.valid)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first steps of a pipeline, fitted, and what becomes of the rows in them."""

    steps: tuple[tuple[str, Any], ...]
    X: Any
    """The rows to fit the next step on."""
    valid: Any
    """The rows to measure on; None if there are none."""
    seconds: float
    """Processor time to fit the steps, whoever fitted them."""
    warnings: tuple[warnings.WarningMessage, ...]
    """What the steps had to say, to be said again whenever they are recalled."""
    trees: int | None = None
    """How many the model has, where it stopped by itself or had no time for all."""

    @property
    def megabytes(self) -> float:
        """Memory that the prefix holds; infinite if that cannot be told."""
        buffers: list[pickle.PickleBuffer] = []
        content = (self.steps, self.X, self.valid)
        try:
            # Arrays stay outside of the pickle, so nothing large is copied.
            body = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
        except Exception:
            return math.inf
        return (len(body) + sum(buffer.raw().nbytes for buffer in buffers)) / _MEGA


class Prefixes:
    """Prefixes by fold and path; beyond a bound, the one that was not used for longest goes first.

    Parameters
    ----------
    megabytes : float
        The bound. Steps that two prefixes share are counted in both. What takes more than an
        eighth of it is not kept: a large table needs its memory for other things.
    """

    def __init__(self, megabytes: float) -> None:
        self.bound = megabytes
        self.megabytes = 0.0
        self._kept: OrderedDict[Hashable, tuple[Prefix, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __reduce__(self) -> tuple[type, tuple[float]]:
        """Let a copy, in a worker process for example, begin empty."""
        return type(self), (self.bound,)

    def recall(self, key: Hashable, fit: Callable[[], Prefix]) -> Prefix:
        """Return the prefix that is kept, or fit it and keep it."""
        if key in self._kept:
            self._kept.move_to_end(key)
            prefix, _ = self._kept[key]
            _say(prefix.warnings)
            return prefix
        prefix = fit()
        weight = prefix.megabytes if self.bound else math.inf
        if weight > self.bound / _FEWEST:
            return prefix
        self._kept[key] = prefix, weight
        self.megabytes += weight
        while self.megabytes > self.bound:
            self.megabytes -= self._kept.popitem(last=False)[1][1]
        return prefix


def fit_fold(
    configuration: Mapping[str, Choice], fold: Fold, prefixes: Prefixes
) -> tuple[Pipeline, Prefix]:
    """Fit a configuration step by step, but for the first steps that are fitted already.

    Returns
    -------
    Pipeline
        Of plain scikit-learn steps, none of them shared with another pipeline.
    Prefix
        The same steps with the rows to measure on as they reach the last, and the time it takes
        to fit all of them.
    """
    choices, encoder = split_encoder(configuration)
    choices, log_odds = split_threshold(choices)
    parts = arranged(choices)
    *before, (last, chosen) = parts.items()
    path = tuple((module, part) for module, part in before if list(algorithms(part)) != ["none"])
    place = fold.key, encoder

    def after(path: Path) -> Prefix:
        def fitted() -> Prefix:
            if not path:
                return _prepared(fold, encoder)
            module, part = path[-1]
            return _extended(after(path[:-1]), module, part, fold)

        return prefixes.recall((place, _text(path)), fitted)

    def whole() -> Prefix:
        return _concluded(after(path), last, chosen, fold)

    if log_odds is None:
        fitted = whole()
        steps = dict(copy.deepcopy(fitted.steps[:-1]) + fitted.steps[-1:])
    else:
        # The threshold comes after the model, so the model is part of what pipelines share.
        model = _text((*path, (last, chosen))), _digest(fold.model_weights)
        key = place, model, fold.setting.held_out
        fitted = prefixes.recall(key, whole)
        steps = dict(copy.deepcopy(fitted.steps))
        steps[last] = decide_at(log_odds, steps[last], fold.setting.positive, fitted=True)
    first = [("prepare", steps["prepare"])] if fold.preparation is not None else []
    named = [(module, steps.get(module, "passthrough")) for module in parts]
    return Pipeline(first + named), fitted


def _prepared(fold: Fold, encoder: str) -> Prefix:
    """Take the rows of a fold and prepare them."""
    step = encoding(fold.preparation, encoder, fold.setting.task)
    rows = Prefix((), fold.X if fold.train is None else take(fold.X, fold.train), None, 0.0, ())
    if step is not None:
        rows = _transformed(rows, "prepare", step, fold.y, None)
    # Without rows to measure on there is nothing to transform, and most steps would refuse to.
    if fold.valid is None or not len(fold.valid):
        return rows
    # Only now, for by now the raw rows to fit on have left the memory.
    valid = take(fold.X, fold.valid)
    if step is None:
        return replace(rows, valid=valid)
    with _listening() as said:
        valid = step.transform(valid)
    return replace(rows, valid=valid, warnings=(*rows.warnings, *said))


def _extended(prefix: Prefix, module: str, part: Step, fold: Fold) -> Prefix:
    """Fit one more step."""
    step = make_step(part, _reaching(fold.setting, prefix.X))
    if isinstance(step, str):
        return prefix
    grown = _transformed(_own(prefix, part), module, step, fold.y, fold.weights)
    if grown.X.shape[1] == 0:
        raise MeasurementError(f"{module} {part} dropped every column.")
    return grown


def _transformed(prefix: Prefix, module: str, step: Any, y: Any, weights: Weights) -> Prefix:
    with _listening() as said:
        # The thread's own time, as for latency: neighbours on the machine must not count.
        start = time.thread_time()
        X = fit_transform(step, prefix.X, y, weights)
        seconds = time.thread_time() - start
        valid = None
        if prefix.valid is not None and X.shape[1]:
            valid = step.transform(prefix.valid)
    return Prefix(
        (*prefix.steps, (module, step)),
        X,
        valid,
        prefix.seconds + seconds,
        (*prefix.warnings, *said),
    )


def _concluded(prefix: Prefix, module: str, part: Step, fold: Fold) -> Prefix:
    """Fit what predicts; nothing comes out of it for a next step."""
    setting = replace(_reaching(fold.setting, prefix.X), categories=_categories(prefix))
    model = make_step(part, setting)
    if setting.directions:
        wanted = np.array(setting.directions)
        model = told(model, signs_reaching(prefix.steps, wanted, setting.columns))
    prefix = _own(prefix, part)
    weights = fold.weights
    if fold.model_weights is not None and takes_weights(model):
        weights = fold.model_weights
    fewer = None
    if setting.trees is not None:
        model = with_trees(model, setting.trees)
    elif setting.seconds is not None:
        fewer = affordable(model, prefix.X, fold.y, weights, setting.seconds, setting.outputs)
        model = model if fewer is None else with_trees(model, fewer, exactly=False)
    with _listening() as said:
        start = time.thread_time()
        if needs_held_out(model):
            held_out = HeldOut(prefix.valid, fold.held_out_y, fold.held_out_weights)
            model = fit_until(model, prefix.X, fold.y, weights, held_out)
        elif setting.votes > 1:
            model = fit_votes(model, prefix.X, fold.y, weights, setting.votes, setting.random_state)
        else:
            model = fit_model(model, prefix.X, fold.y, weights)
        seconds = time.thread_time() - start
    return replace(
        prefix,
        steps=(*prefix.steps, (module, model)),
        X=None,
        seconds=prefix.seconds + seconds,
        warnings=(*prefix.warnings, *said),
        trees=stopped_after(model) or fewer,
    )


@contextmanager
def _listening() -> Iterator[list[warnings.WarningMessage]]:
    """Write down the warnings that are raised, and pass them on."""
    said: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as said:
            yield said
    finally:
        _say(said)


def _say(said: Iterable[warnings.WarningMessage]) -> None:
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _own(prefix: Prefix, part: Step) -> Prefix:
    """Return rows that a step may write into, for classes from outside the catalogue may do so."""
    if not any("." in name for name in algorithms(part)):
        return prefix
    valid = None if prefix.valid is None else prefix.valid.copy()
    return replace(prefix, X=prefix.X.copy(), valid=valid)


def _digest(array: NDArray[Any] | None) -> bytes | None:
    return None if array is None else hashlib.blake2b(array.tobytes()).digest()


def _text(path: Path) -> str:
    """Return the same text for the same steps, and for no others."""
    return repr([(module, text(part)) for module, part in path])


def _categories(prefix: Prefix) -> tuple[int, ...]:
    """Return the columns that hold codes of categories, if no step has changed them since."""
    prepared = prefix.steps[0][1] if len(prefix.steps) == 1 else None
    return tuple(getattr(prepared, "native_", ()))


def _reaching(setting: Setting, X: Any) -> Setting:
    """Return the setting of a step that these rows reach."""
    rows, columns = X.shape
    return replace(setting, rows=rows, columns=columns, sparse=sparse.issparse(X))

"""What to measure next, and with how many rows, where the budget is in seconds.

A proposal is a pipeline and a share of the rows. The acquisition of a pipeline is that of its full
measurement, divided by a power of the seconds it is likely to take. A pipeline that may turn out
poor is looked at first: with the chance p to be still promising afterwards, that costs the look and
p times the full measurement. What was looked at is promoted when nothing else promises more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fenceline.problem.configuration import Configuration
from fenceline.problem.problem import Evaluator
from fenceline.problem.template import SHAPE
from fenceline.search.structured.acquisition import Chance, ConstrainedImprovement
from fenceline.search.structured.clock import Clock
from fenceline.search.structured.looks import OVERHEAD
from fenceline.search.structured.models import Models
from fenceline.search.surrogates.look_model import LookModel
from fenceline.search.surrogates.pipeline_kernel import Part

Array = NDArray[np.float64]

LEAST_PROMOTED = 0.1
"""The chance of a promotion is never taken for smaller: the model errs, too."""
LOOKS_IN_A_ROW = 6
"""After so many looks the most promising of what was looked at is measured."""
CROWD = 12
"""Every third proposal avoids the algorithm that had most of so many measurements ..."""
MUCH_LESS = 1.5
"""... unless all others promise so much less, as a logarithm."""
LOOKS_SHARE = 0.5
"""Of the seconds that measurements take, how many looks may have: only a full one is an answer."""
ENOUGH = 5.0
"""Full measurements that there is time for, from which on nothing is looked at ..."""
CHEAP = 0.15
"""... and neither where a look needs a larger share of the rows: it takes a quarter to a half of the time of a
full measurement then, and speaks for smaller trees than win in full."""
DESIGN_SHARE = 0.3
"""Of the time that is left, how much looks may have had before starts are looked at only if the models say so."""


class MultiFidelity:
    """Chooses pipelines and shares of the rows; made only where the clock and fewer rows can be had."""

    def __init__(self, models: Models, clock: Clock, starts: Iterable[Configuration]) -> None:
        self.models = models
        self.clock = clock
        self.costs = clock.costs
        self.evaluator = models.data.evaluator
        self.shares = models.data.problem.fidelities
        self._starts = tuple(dict.fromkeys(starts))

    def next_start(self) -> Configuration | None:
        """Return the start to look at next, unless a full measurement is due or time is short.

        What there is no time for remains a candidate.
        """
        self.clock.refresh()
        if self._full_due or self.costs.in_looks > DESIGN_SHARE * self.clock.left:
            return None
        pending = set(self.evaluator.pending)
        return next((c for c in self._starts if c not in pending and not self._reached(c)), None)

    def for_new(self, acquisition: ConstrainedImprovement) -> ConstrainedImprovement:
        """Return the acquisition of pipelines yet unseen: they have to beat what looks promise, too."""
        waiting = self._looked
        if acquisition.best is None or not waiting:
            return acquisition
        predictions = _predicted(acquisition, self._encoded(waiting)[0])
        (mean, _), *rest = predictions
        # Only of those that are likely to keep every bound and to end in time.
        likely = np.ones(len(mean), dtype=np.bool_)
        for chance, (m, s) in zip(acquisition.chances, rest, strict=True):
            if isinstance(chance, Chance):
                likely &= chance.log(m, s) > math.log(0.5)
        best = min(acquisition.best, float(mean[likely].min(initial=np.inf)))
        return replace(acquisition, best=best)

    def best_known(
        self, acquisition: ConstrainedImprovement, z: NDArray[np.intp], theta: Array
    ) -> tuple[NDArray[np.intp], Array]:
        """Return pipelines measured in full, best first, and looked at, most promising first, in turn."""
        waiting = self._looked
        if not waiting:
            return z, theta
        parts, seen_z, seen_theta = self._encoded(waiting)
        order = np.argsort(-acquisition.value(_predicted(acquisition, parts)), kind="stable")
        turns = np.argsort(
            np.concatenate([2 * np.arange(len(z)), 2 * np.arange(len(order)) + 1]), kind="stable"
        )
        return (
            np.concatenate([z, seen_z[order]])[turns],
            np.concatenate([theta, seen_theta[order]])[turns],
        )

    def choose(
        self, acquisition: ConstrainedImprovement, new: Sequence[Configuration]
    ) -> tuple[Configuration, float] | None:
        """Return what to measure next: a new pipeline or one that was looked at, and its rows."""
        known, pending = self.evaluator.known, set(self.evaluator.pending)
        starts = (c for c in self._starts if c not in pending and known(c) is None)
        configurations = list(dict.fromkeys([*new, *starts, *self._looked]))
        if not configurations:
            return None
        parts, _, _ = self._encoded(configurations)
        predictions = _predicted(acquisition, parts)
        hoping = self.for_new(acquisition)
        values, hopes = self._hopeful(acquisition, predictions), hoping.value(predictions)
        reached = np.array([self._reached(c) for c in configurations])
        # A pipeline not yet seen has to be worth more than one that looks speak for.
        full = np.where(reached > 0.0, values, hopes)
        promotable = (reached > 0.0) & self._in_time(acquisition, predictions)
        if promotable.any() and (self._full_due or self._may_look):
            full = np.where(promotable, values, -np.inf)
        options = [(full, 1.0)]
        if self._may_look and not (self._full_due and promotable.any()):
            for share in self.shares:
                cheaper = np.array([self.costs.expected_share(c, share) for c in configurations])
                worth = self._worth_of_look(hoping, parts, predictions, share, np.log(cheaper))
                options.append((np.where(reached < share, worth, -np.inf), share))
        if len(self.evaluator.history) % 3 == 0:
            options = self._elsewhere(configurations, options)
        best, share = max(options, key=lambda option: float(option[0].max()))
        return configurations[int(best.argmax())], share

    def _hopeful(
        self, acquisition: ConstrainedImprovement, predictions: Sequence[tuple[Array, Array]]
    ) -> Array:
        """Return the acquisition with every constraint a deviation better than it is predicted.

        So pipelines are promoted: looks tell little of what grows with the rows, or of groups.
        """
        moved = list(predictions)
        first = 0 if acquisition.best is None else 1
        for m, constraint in enumerate(self.models.data.problem.constraints):
            mean, sd = moved[first + m]
            if not constraint.equality:
                moved[first + m] = mean - sd, sd
        return acquisition.value(moved)

    @staticmethod
    def _in_time(
        acquisition: ConstrainedImprovement, predictions: Sequence[tuple[Array, Array]]
    ) -> NDArray[np.bool_]:
        """Tell which pipelines are likely to end in time; the others are not begun while there are any."""
        *_, (chance, prediction), _ = zip(
            acquisition.chances, predictions[-len(acquisition.chances) :], strict=True
        )
        return np.asarray(chance.log(*prediction) > math.log(0.5))

    def _elsewhere(
        self, configurations: Sequence[Configuration], options: list[tuple[Array, float]]
    ) -> list[tuple[Array, float]]:
        """Leave out the algorithm that had most of the last measurements, if others are promising."""
        space, history = self.models.data.problem.space, self.evaluator.history
        choosing = [m for m in space.modules if space.shapes is None or m.name != SHAPE]
        module = max(choosing, key=lambda m: len(m.algorithms)).name
        last = Counter(e.configuration[module].algorithm for e in history[-CROWD:])
        crowd = last.most_common(1)[0][0]
        others = np.array([c[module].algorithm != crowd for c in configurations])
        top = max(float(values.max()) for values, _ in options)
        left = [(np.where(others, values, -np.inf), share) for values, share in options]
        return left if max(float(v.max()) for v, _ in left) > top - MUCH_LESS else options

    def _worth_of_look(
        self,
        acquisition: ConstrainedImprovement,
        parts: Sequence[Part],
        predictions: Sequence[tuple[Array, Array]],
        share: float,
        log_cheaper: Array,
    ) -> Array:
        """Return what looks bring for what they cost, as the acquisition does for full measurements.

        What a look brings is by how much the *predicted* metric is likely to fall below the best.
        With the chance p that it does, the pipeline will be measured in full, too.
        """
        full = self.clock.log_seconds(parts)
        look = np.logaddexp(full + log_cheaper, math.log(OVERHEAD))
        if acquisition.best is None:
            chance = np.full(len(full), 0.5)
            worth = acquisition.value(predictions)
        else:
            objective, discount = self.models.objective, self.models.discounts(np.array([share]))
            assert isinstance(objective, LookModel)
            (mean, sd), *rest = predictions
            told = np.minimum(objective.told_by_look(parts, float(discount[0])), sd)
            # It tells of similar pipelines as well, so half of what is missing is granted to it: on
            # six simulated tables the loss after 60 s was .0011 above the best, and .0017 without.
            told = np.sqrt(told * sd)
            chance = ndtr((acquisition.best - mean) / np.maximum(told, 1e-12))
            worth = acquisition.value([(mean, told), *rest])
        saved = full - np.logaddexp(look, np.log(np.maximum(chance, LEAST_PROMOTED)) + full)
        return np.asarray(worth + self.clock.power * saved)

    @property
    def _may_look(self) -> bool:
        """Whether looks have not had their share of the time."""
        return self.costs.in_looks <= LOOKS_SHARE * (self.costs.in_looks + self.costs.in_full)

    @property
    def _full_due(self) -> bool:
        """Whether there were so many looks in a row that the best of them is to be measured."""
        last = self.evaluator.history[-LOOKS_IN_A_ROW:]
        return len(last) == LOOKS_IN_A_ROW and all(e.look for e in last)

    @property
    def _looked(self) -> list[Configuration]:
        """Pipelines that were looked at and may be measured."""
        known, pending = self.evaluator.known, set(self.evaluator.pending)
        looked = self.models.data.looks.pipelines
        return [c for c in looked if c not in pending and known(c) is None]

    def _reached(self, configuration: Configuration) -> float:
        """Return the largest share that a pipeline was looked at with, if in vain; 0 if it was not."""
        known = (s for s in self.shares if self.evaluator.known(configuration, s) is not None)
        return max(known, default=0.0)

    def _encoded(
        self, configurations: Sequence[Configuration]
    ) -> tuple[list[Part], NDArray[np.intp], Array]:
        encode = self.models.data.problem.space.encode
        z, theta = (np.array(x) for x in zip(*map(encode, configurations), strict=True))
        return self.models.structure.parts(z, theta), z, theta


def looks_pay(evaluator: Evaluator, shares: Sequence[float]) -> bool:
    """Tell by what was measured so far whether there is time for so few pipelines that cheap looks at others pay."""
    left = evaluator.seconds_left
    if left is None or min(shares, default=1.0) > CHEAP:
        return False
    return left < ENOUGH * max((e.seconds for e in evaluator.history), default=math.inf)


def _predicted(
    acquisition: ConstrainedImprovement, parts: Sequence[Part]
) -> list[tuple[Array, Array]]:
    return [process.predict_pipelines(parts) for process in acquisition.processes]

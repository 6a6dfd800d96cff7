"""What seconds count for, where they are what the budget is counted in: improvement per second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.configuration import Configuration
from fenceline.search.structured.acquisition import Chance, ConstrainedImprovement, Toll
from fenceline.search.structured.looks import Costs
from fenceline.search.structured.models import Models
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Part, Structure

Array = NDArray[np.float64]

POWER = 0.5
"""Of the seconds in the price, at first: the root, for cheap pipelines are many and promise little."""
LONGEST_SHARE = 0.25
"""Of the budget, the longest that one measurement should take: there must be time for others."""
UNSURE = 1.5
"""By what factor a measurement may take longer than others let expect."""


class Clock:
    """A model of the seconds that full measurements take; made only where the budget is in seconds."""

    def __init__(self, models: Models, seconds: float) -> None:
        self.models = models
        self.seconds = seconds
        """The whole budget."""
        self.costs = Costs(models.data.problem)
        self._structure: Structure | None = None
        self._model: MetricModel | None = None

    @property
    def left(self) -> float:
        """The seconds that are left."""
        left = self.models.data.evaluator.seconds_left
        return self.seconds if left is None else left

    @property
    def power(self) -> float:
        """Of the seconds in the price: at first each counts, at the end a measurement is one of few."""
        return POWER * min(1.0, self.left / self.seconds)

    @property
    def ending(self) -> bool:
        """Whether so little is left that what has to be tuned first would come too late."""
        return self.left < LONGEST_SHARE * self.seconds

    def refresh(self) -> None:
        """Take in what has been measured since the last call."""
        self.costs.refresh(self.models.data.evaluator.history)

    def priced(self, acquisition: ConstrainedImprovement) -> ConstrainedImprovement:
        """Return the acquisition per second, for pipelines that are likely to end in time."""
        self.refresh()
        costs = self.costs
        if not len(costs):
            return acquisition
        if self._model is None or self._structure is not self.models.structure:
            self._structure = self.models.structure
            self._model = MetricModel(self._structure, transform=False)
        model, parts = self._model, self.models.structure.parts(costs.z, costs.theta)
        process = model.update(parts, costs.log_seconds)
        assert model.warp is not None
        in_time = Chance(process, -np.inf, model.warped(math.log(self._longest)))
        price = Toll(process, self.power * model.warp.scale)
        return replace(acquisition, chances=(*acquisition.chances, in_time, price))

    def in_time_first(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Return pipelines in their order, but those last that are likely to end too late."""
        if self._model is None or not configurations:
            return list(configurations)
        encode = self.models.data.problem.space.encode
        z, theta = (np.array(x) for x in zip(*map(encode, configurations), strict=True))
        late = self.log_seconds(self.models.structure.parts(z, theta)) > math.log(self._longest)
        return [configurations[i] for i in np.argsort(late, kind="stable")]

    @property
    def _longest(self) -> float:
        """The seconds that a measurement may be expected to take."""
        # One in parts ends by itself, at the latest when the first of them is done.
        part = min(self.costs.limit, LONGEST_SHARE * self.seconds)
        return max(min(self.left, self.models.data.problem.parts * part) / UNSURE, 1e-3)

    def log_seconds(self, parts: Sequence[Part]) -> Array:
        """Return the logarithm of the seconds that full measurements are likely to take."""
        assert self._model is not None
        process, warp = self._model.process, self._model.warp
        assert process is not None
        assert warp is not None
        return process.predict_pipelines(parts)[0] * warp.scale + warp.shift

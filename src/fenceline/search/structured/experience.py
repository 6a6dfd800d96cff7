"""What was good on other problems, as a model: pipelines like those are proposed first.

A search that has seen a dozen pipelines knows next to nothing of sixty hyper-parameters, and what
it proposes then is little better than what is drawn at random. So the acquisition is multiplied by
a density to the power of one over the evaluations (Hvarfner et al., "piBO", ICLR 2022): it decides
at first, and is forgotten as evidence grows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.problem import Problem
from fenceline.search.structured.acquisition import ConstrainedImprovement, Toll
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Structure

STRENGTH = 100.0
"""After so many evaluations an expected regret of 1 instead of 0 counts as a factor of e."""
_POOR = 1.0
"""What is expected of pipelines that are drawn at random."""
_SEED = 0


class Experience:
    """A model of the regrets that are expected; made only where a problem tells of some."""

    def __init__(self, problem: Problem) -> None:
        rng = np.random.default_rng(_SEED)  # not the run's: what is known does not depend on it
        known = list(problem.expected)
        # Without them nothing would be known to be worse than what was chosen to be measured.
        drawn = [(problem.sample(rng), _POOR) for _ in known]
        configurations, regrets = zip(*known, *drawn, strict=True)
        z, theta = zip(*map(problem.space.encode, configurations), strict=True)
        self._z: NDArray[np.intp] = np.array(z)
        self._theta = np.array(theta)
        self._regrets = np.array(regrets)
        self._structure: Structure | None = None
        self._model: MetricModel | None = None

    def weigh(
        self, acquisition: ConstrainedImprovement, structure: Structure, measured: int
    ) -> ConstrainedImprovement:
        """Return the acquisition of pipelines, those that are expected to be good preferred."""
        if acquisition.best is None:
            return acquisition  # first into the fence, of which nothing was learnt elsewhere
        if self._structure is not structure or self._model is None:
            self._structure, self._model = structure, MetricModel(structure, transform=False)
            self._model.update(structure.parts(self._z, self._theta), self._regrets)
        process, warp = self._model.process, self._model.warp
        assert process is not None
        assert warp is not None
        toll = Toll(process, STRENGTH / measured * warp.scale)
        return replace(acquisition, chances=(*acquisition.chances, toll))

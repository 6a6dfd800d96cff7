"""Bayesian optimisation: an exact GP of the merit, log expected improvement, fantasies for what is pending."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenceline.errors import DefinitionError
from fenceline.search.admm.solvers.cube import Cube
from fenceline.search.admm.solvers.protocol import Subproblem
from fenceline.search.surrogates.gaussian_process import fit
from fenceline.search.surrogates.maximise import maximise
from fenceline.threads import one_thread


@dataclass(frozen=True, slots=True)
class Bayesian:
    """Fit a Gaussian process to what is known and measure where it promises most.

    Parameters
    ----------
    initial : int
        Points drawn at random before the model is asked.
    """

    initial: int = 5

    def __post_init__(self) -> None:
        if self.initial < 1:
            raise DefinitionError(f"Bayesian: initial must be at least 1. Got {self.initial!r}.")

    def proposals(
        self, task: Subproblem, rng: np.random.Generator
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the maximiser of the acquisition, again and again."""
        cube = Cube(task.parameters)
        start = None
        while True:
            points, merits = task.observed()
            pending = task.pending()
            if len(merits) == 0 or len(merits) + len(pending) < self.initial or cube.dimension == 0:
                yield cube.sample(rng)
                continue
            with one_thread():
                model = fit(cube.features(points), merits, groups=cube.groups, start=start)
                start = model.hyperparameters
                if len(pending):
                    # Kriging believer: a pending point is taken at its predicted mean.
                    believed, _ = model.predict(cube.features(pending))
                    model = model.condition(cube.features(pending), believed)
                point = maximise(
                    model,
                    float(merits.min()),
                    rng,
                    dimension=cube.dimension,
                    incumbents=points[np.argsort(merits, kind="stable")[:5]],
                    project=cube.project,
                    continuous=cube.continuous,
                    features=cube.features,
                    avoid=np.vstack([points, pending]),
                )
            yield point

"""One model per metric, each learning from all pipelines measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fenceline.search.structured.crowding import Crowd
from fenceline.search.structured.data import Data
from fenceline.search.structured.lattice import Lattice
from fenceline.search.structured.permission import Permission
from fenceline.search.surrogates.look_model import LookModel
from fenceline.search.surrogates.metric_model import MetricModel, informative
from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Part, Structure
from fenceline.search.surrogates.rescaling_choice import LEAST, better_rescaling

Array = NDArray[np.float64]

_RESCALED = 1.25  # scales are chosen anew when there is a quarter more to learn from
_LEAST = 10  # evaluations of a crowded algorithm that another model learns from, too
# So many evaluations are made before that model learns its hyper-parameters less often than it is
# asked, which took a third of all time at 500. There the regret is no larger for it (.9 times, artificial
# problems 100 to 119); from the beginning it was 1.1 times as large at 200 (0 to 19 twice, better on 17).
_EAGER = 200


class Models:
    """A model of the objective, one of each constraint, and one of where pipelines fail."""

    def __init__(
        self, data: Data, *, transform: bool = True, looks: bool = False, rescale: bool = False
    ) -> None:
        self.data = data
        self._looks = looks
        # Slots of one module are compared crosswise, and looks have a model of their own.
        self._rescale = rescale and not looks and data.problem.space.shapes is None
        self._rescaled_at = 0
        kind = LookModel if looks else MetricModel
        self.structure = Structure(data.problem.space)
        self.lattice = Lattice(data.problem.space)
        self.permission = Permission.of(data.problem)
        self.objective = kind(self.structure, transform)
        self.constraints = [kind(self.structure, transform) for _ in data.problem.constraints]
        self.failure = MetricModel(self.structure, transform=False)
        self.elsewhere = MetricModel(self.structure, transform)
        self._successful: list[Part] = []
        self._encoded: Structure | None = None

    def refresh(self) -> None:
        """Take in what has been measured; a value that changed is learned anew."""
        if self.data.refresh():
            for model in (self.objective, *self.constraints):
                model.process = None

    @property
    def learned(self) -> bool:
        """Whether the metrics have been fitted, and none of their values changed since."""
        return self.objective.process is not None

    def fit(self) -> tuple[SharedProcess, list[SharedProcess]]:
        """Return the processes of the objective and of the constraints, up to date."""
        good = self.successful
        if self._looks:
            return self._fit_looks(good)
        processes = self._update(good)
        if self._rescale and len(self.data.loss) >= max(_RESCALED * self._rescaled_at, LEAST):
            self._rescaled_at = len(self.data.loss)
            if self._learn_scales(processes):
                processes = self._update(self.successful)
        return processes[0], processes[1:]

    def _update(self, good: list[Part]) -> list[SharedProcess]:
        models, metrics = (self.objective, *self.constraints), (self.data.loss, *self.data.excess.T)
        return [model.update(good, y) for model, y in zip(models, metrics, strict=True)]

    def _learn_scales(self, processes: Sequence[SharedProcess]) -> bool:
        """Choose the scale of every hyper-parameter anew; tell whether one has changed."""
        scales, length_scales = better_rescaling(self.structure, processes)
        if not length_scales:
            return False
        space = self.data.problem.space
        self.structure, self.lattice = Structure(space, scales), Lattice(space, scales)
        for model in (self.objective, *self.constraints, self.failure, self.elsewhere):
            model.rescale(self.structure, length_scales)
        return True

    def fit_without_crowd(self, crowd: Crowd) -> SharedProcess:
        """Return a process of the objective that crowded algorithms do not dominate.

        It learns from as many evaluations of these as of all others together.
        """
        crowded = crowd.includes(self.data.z[self.data.ok])
        inside, outside = np.flatnonzero(crowded), np.flatnonzero(~crowded)
        few = inside[informative(self.data.loss[inside], max(len(outside), _LEAST))]
        rows = np.sort(np.concatenate([outside, few]))
        if len(self.data.loss) <= _EAGER:
            self.elsewhere.process = None
        return self.elsewhere.reselect(
            [p[rows] for p in self.successful], self.data.loss[rows], len(self.data.loss)
        )

    def discounts(self, shares: Array) -> Array:
        """Return how far looks are from full measurements: 1 for those with the fewest rows."""
        # A metric comes near its value at all rows with one over the root of the rows.
        fewest = min(self.data.problem.fidelities)
        return np.asarray((shares**-0.5 - 1.0) / (fewest**-0.5 - 1.0))

    def _fit_looks(self, good: list[Part]) -> tuple[SharedProcess, list[SharedProcess]]:
        """Learn from full measurements and looks together."""
        looks = self.data.looks
        seen = self.structure.parts(looks.z, looks.theta)
        parts = [part.joined(other) for part, other in zip(good, seen, strict=True)]
        discounts = np.concatenate([np.zeros(len(self.data.loss)), self.discounts(looks.share)])
        columns = [
            np.concatenate([full, part])
            for full, part in zip(
                (self.data.loss, *self.data.excess.T), (looks.loss, *looks.excess.T), strict=True
            )
        ]
        models = (self.objective, *self.constraints)
        objective, *constraints = (
            m.learn(parts, y, discounts)
            for m, y in zip(models, columns, strict=True)
            if isinstance(m, LookModel)
        )
        return objective, constraints

    def fit_failures(self) -> SharedProcess | None:
        """Return the process of failures (1) and successes (0), or None where nothing failed."""
        ok = self.data.ok
        return None if ok.all() else self.failure.update(self.everything, (~ok).astype(np.float64))

    @property
    def everything(self) -> list[Part]:
        """All pipelines measured, as the kernel sees them."""
        return self.structure.parts(self.data.z, self.data.theta)

    @property
    def successful(self) -> list[Part]:
        """The pipelines that did not fail, as the kernel sees them."""
        at = np.flatnonzero(self.data.ok)
        if self._encoded is not self.structure:
            self._successful, self._encoded = self._parts(at), self.structure
        seen = len(self._successful[0])
        if seen < len(at):
            # Pipelines are only ever added, so that those before stay as they are.
            new = self._parts(at[seen:])
            self._successful = [p.joined(q) for p, q in zip(self._successful, new, strict=True)]
        return self._successful

    def _parts(self, at: NDArray[np.intp]) -> list[Part]:
        return self.structure.parts(self.data.z[at], self.data.theta[at])

    @property
    def pending(self) -> Sequence[Part]:
        """The pipelines that are being measured, as the kernel sees them; () if none are."""
        waiting = self.data.evaluator.pending
        if not waiting:
            return ()
        z, theta = zip(*(self.data.problem.space.encode(c) for c in waiting), strict=True)
        return self.structure.parts(np.array(z), np.array(theta))

    def best_loss(self, process: SharedProcess, rows: NDArray[np.intp]) -> float | None:
        """Return the best loss of some pipelines with its noise taken out, as the model sees it."""
        if len(rows) == 0:
            return None
        top = rows[np.argsort(self.data.loss[rows], kind="stable")[:10]]
        return float(process.mean_of_pipelines([p[top] for p in self.successful]).min())

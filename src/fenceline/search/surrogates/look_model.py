"""A metric over pipelines that were measured in full or looked at with a part of the rows.

::

    look(x, d) = f(x) + d g(x) + noise,    cov f = k,    cov g = s k + b

f is the metric of a full measurement, on the kernel of :mod:`pipeline_kernel`; d is 0 there and 1
at the cheapest look, so that the discrepancy d g shrinks as the rows grow. b is the variance of
what all pipelines lose with fewer rows, s how much the loss differs between them. The process
predicts f, so whoever reads it need not know of looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fenceline.search.surrogates.gaussian_process import inverse_factor, profile
from fenceline.search.surrogates.matern import Array, Indices
from fenceline.search.surrogates.metric_model import MetricModel, informative
from fenceline.search.surrogates.pipeline_gp import JITTER, SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Amplitudes, Part, assemble
from fenceline.search.surrogates.pipeline_likelihood import LookAmplitudes, fit
from fenceline.search.surrogates.warp import Warp

_FIRST_STEPS, _LATER_STEPS = 30, 8
_GROWTH = 1.2  # hyper-parameters are fitted anew when there is a fifth more to learn from
_MOST = 150  # rows of either kind that the process remembers


@dataclass
class LookModel(MetricModel):
    """Learns one metric from full measurements and looks; `learn`, then read `process`."""

    looks: LookAmplitudes | None = None
    _amplitudes: Amplitudes | None = None
    _discounts: Array = field(default_factory=lambda: np.empty(0))

    def learn(self, parts: Sequence[Part], y: Array, discounts: Array) -> SharedProcess:
        """Take in everything measured so far; `discounts` are 0 for full measurements, up to 1."""
        due = len(y) >= max(_GROWTH * self._fitted_at, self._fitted_at + 1)
        self._seen, keep = len(y), _kept(y, discounts)
        parts, y, discounts = [part[keep] for part in parts], y[keep], discounts[keep]
        if self.looks is None or due:
            self._learn_anew(parts, y, discounts)
        assert self.warp is not None
        assert self.looks is not None
        self.process = self._condition(parts, self.warp(y), discounts)
        self._discounts = discounts
        return self.process

    def told_by_look(self, parts: Sequence[Part], discount: float) -> Array:
        """Return by how much looks at some pipelines are likely to move the means of their metric.

        It is the deviation of the mean after a look, seen from before: little where similar
        pipelines were looked at, and never more than the deviation of the metric itself.
        """
        process, looks = self.process, self.looks
        assert process is not None
        assert looks is not None
        effects = [process.effects(i, part) for i, part in enumerate(parts)]
        cross = assemble(process.amplitudes, effects)
        full = cross @ process.whitener.T
        look = looks.applied(cross, discount * self._discounts) @ process.whitener.T
        prior, own = process.amplitudes.prior_variance, np.array([discount**2])
        noise = process.amplitudes.noise + looks.noise
        together = prior - np.einsum("ij,ij->i", full, look)
        alone = looks.applied(np.array([prior]), own) + noise - np.einsum("ij,ij->i", look, look)
        return np.asarray(np.abs(together) / np.sqrt(np.maximum(alone, noise)))

    def _learn_anew(self, parts: Sequence[Part], y: Array, discounts: Array) -> None:
        candidates = []
        for logarithmic in self._contenders(len(y)):
            warp = Warp.of(y, logarithmic=logarithmic)
            start = self._starts.get(logarithmic)
            steps = _FIRST_STEPS if start is None else _LATER_STEPS
            value, found = fit(self.structure, parts, warp(y), start, steps, discounts)
            self._starts[logarithmic] = found
            candidates.append((value - warp.log_slope(y), warp, found))
        _, self.warp, found = min(candidates, key=lambda candidate: candidate[0])
        self._amplitudes = Amplitudes.of(found[:-3], len(parts))
        self.looks = LookAmplitudes.of(found[-3:])
        self._fitted_at = self._seen

    def _condition(self, parts: Sequence[Part], z: Array, discounts: Array) -> SharedProcess:
        amplitudes, looks = self._amplitudes, self.looks
        assert amplitudes is not None
        assert looks is not None
        empty = SharedProcess(
            self.structure, amplitudes, tuple(parts), z, np.empty((0, 0)), 0.0, np.empty(0)
        )
        kernel = assemble(amplitudes, [empty.effects(i, part) for i, part in enumerate(parts)])
        kernel = looks.applied(kernel, np.multiply.outer(discounts, discounts))
        kernel.flat[:: len(z) + 1] += amplitudes.noise + JITTER + looks.noise * (discounts > 0)
        whitener = inverse_factor(kernel)
        constant, weights = profile(whitener, z)
        return SharedProcess(
            self.structure, amplitudes, tuple(parts), z, whitener, constant, weights
        )


def _kept(y: Array, discounts: Array) -> Indices:
    """Return the rows to learn from, of either kind the informative ones, in order."""
    kinds = np.flatnonzero(discounts == 0), np.flatnonzero(discounts > 0)
    return np.sort(np.concatenate([kind[informative(y[kind], _MOST)] for kind in kinds]))

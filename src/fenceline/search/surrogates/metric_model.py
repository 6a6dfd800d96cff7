"""A metric over all evaluated pipelines: warp, hyper-parameters and process, kept up to date cheaply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fenceline.search.surrogates.matern import Array, Indices
from fenceline.search.surrogates.pipeline_gp import SharedProcess, condition
from fenceline.search.surrogates.pipeline_kernel import Amplitudes, Part, Structure
from fenceline.search.surrogates.pipeline_likelihood import fit
from fenceline.search.surrogates.warp import Warp

_GROWTH = 1.1  # hyper-parameters are fitted anew when there is a tenth more to learn from
_REMATCH = 1.5  # the transformation is chosen anew when there is half as much again
_FIRST_STEPS, _LATER_STEPS = 40, 10
_MOST_UNFITTED = 50  # but never more evaluations than this are taken in without
# Late in a search most evaluations say little about the best region. With 150 kept of 300 no
# difference in regret was seen on six problems, at about half the time per suggestion.
_MOST_FITTED = 200  # evaluations that hyper-parameters are learned from
_MOST_KEPT = 300  # evaluations that the process remembers


@dataclass
class MetricModel:
    """Learns one metric; `update` after each evaluation, then read `process`."""

    structure: Structure
    transform: bool = True
    warp: Warp | None = None
    process: SharedProcess | None = None
    _starts: dict[bool, Array] = field(default_factory=dict)
    _fitted_at: int = 0
    _competed_at: int = 0
    _seen: int = 0

    def update(self, parts: Sequence[Part], y: Array) -> SharedProcess:
        """Take in everything measured so far; only what is new costs anything, most of the time."""
        n = len(y)
        if self.process is None or self.warp is None or self._due(n):
            self._refit(parts, y)
            self._fitted_at = n
        elif n > self._seen:
            new = slice(self._seen, n)
            # As they are where nothing was left out, so that all metrics share what is computed of them.
            joined = parts if len(self.process.z) == self._seen else None
            self.process = self.process.extend(
                [part[new] for part in parts], self.warp(y[new]), joined
            )
        self._seen = n
        assert self.process is not None
        return self.process

    def reselect(self, parts: Sequence[Part], y: Array, measured: int) -> SharedProcess:
        """Take in a selection of what was measured, another one each time.

        As in :meth:`update`, hyper-parameters are those of an earlier one most of the time.
        """
        if self.process is None or self.warp is None or self._due(measured):
            self._refit(parts, y)
            self._fitted_at = measured
        else:
            warp = Warp.of(y, logarithmic=self.warp.logarithmic)
            self._remember(parts, y, warp, self.process.amplitudes)
        assert self.process is not None
        return self.process

    def _due(self, n: int) -> bool:
        """Tell whether there is enough more to learn from."""
        due = min(_GROWTH * self._fitted_at, self._fitted_at + _MOST_UNFITTED)
        return n >= max(due, self._fitted_at + 1)

    def rescale(self, structure: Structure, length_scales: Mapping[int, float]) -> None:
        """Learn everything anew on other scales, with these length scales (by column) to begin with."""
        self.structure, self.process = structure, None
        for start in self._starts.values():
            for k, length_scale in length_scales.items():
                start[k] = np.log(length_scale)

    def warped(self, value: float) -> float:
        """Return where a value of the metric lies for the process."""
        assert self.warp is not None, "update() comes first"
        return float(self.warp(np.array([value]))[0])

    def _contenders(self, n: int) -> tuple[bool, ...]:
        """Return which transformations are fitted: both from time to time, else the last winner."""
        if not self.transform:
            return (False,)
        if self.warp is None or n >= _REMATCH * self._competed_at:
            self._competed_at = n
            return (False, True)
        return (self.warp.logarithmic,)

    def _refit(self, parts: Sequence[Part], y: Array) -> None:
        learn = informative(y, _MOST_FITTED)
        # As they are where nothing is left out: see update().
        learnt = parts if len(learn) == len(y) else [part[learn] for part in parts]
        candidates = []
        for logarithmic in self._contenders(len(y)):
            warp = Warp.of(y[learn], logarithmic=logarithmic)
            start = self._starts.get(logarithmic)
            steps = _FIRST_STEPS if start is None else _LATER_STEPS
            value, found = fit(self.structure, learnt, warp(y[learn]), start, steps)
            self._starts[logarithmic] = found
            candidates.append((value - warp.log_slope(y[learn]), warp, found))
        _, warp, found = min(candidates, key=lambda candidate: candidate[0])
        self._remember(parts, y, warp, Amplitudes.of(found, len(parts)))

    def _remember(
        self, parts: Sequence[Part], y: Array, warp: Warp, amplitudes: Amplitudes
    ) -> None:
        keep = informative(y, _MOST_KEPT)
        kept = parts if len(keep) == len(y) else [part[keep] for part in parts]
        self.warp = warp
        self.process = condition(self.structure, amplitudes, kept, warp(y[keep]))


def informative(y: Array, most: int) -> Indices:
    """Return the rows to learn from: all, or the better half and an even selection of the rest."""
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(y, kind="stable")
    half = most // 2
    rest = order[half:]
    return np.sort(
        np.concatenate(
            [order[:half], rest[np.linspace(0, len(rest) - 1, most - half).astype(np.intp)]]
        )
    )

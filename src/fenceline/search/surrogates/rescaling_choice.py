"""Which scale each hyper-parameter has: the one on which the models explain most.

Scales are tried one at a time, with everything else that the models have learnt as it is. That
changes the kernel between evaluations of one algorithm only: everything else is factorised once, and
a trial costs the Cholesky factor of that block (:mod:`rescaling_block`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fenceline.search.surrogates.pipeline_gp import SharedProcess
from fenceline.search.surrogates.pipeline_kernel import Structure
from fenceline.search.surrogates.rescaling import Rescaling, contenders
from fenceline.search.surrogates.rescaling_block import Block, Kernel

PRIOR = 3.0
"""In nats, against any scale that is not that of the range."""
LEAST = 6
"""Evaluations of an algorithm that its scales are learnt from."""
HOPELESS = -2.0
"""In nats: an end of a range whose logarithm explains so much less is tried with no other bend."""
_FIRST = 1e3


def better_rescaling(
    structure: Structure, processes: Sequence[SharedProcess]
) -> tuple[Rescaling, dict[int, float]]:
    """Return the scales that explain all metrics best, one changed after the other.

    Also, by column, the length scales that suit those that have changed; {} if none has.
    """
    space, now = structure.space, structure.rescaling
    kernels = [Kernel.of(structure, process) for process in processes]
    changed: dict[int, float] = {}
    for i, module in enumerate(space.modules):
        for j in range(len(module.algorithms)):
            columns = range(space.columns[i][j].start, space.columns[i][j].stop)
            tried = {k: contenders(space.parameters[k]) for k in columns}
            rows = np.flatnonzero(kernels[0].process.parts[i].algorithm == j)
            if len(rows) < LEAST or not any(tried.values()):
                continue
            blocks = [Block.of(kernel, structure, i, j) for kernel in kernels]
            for k, bends in tried.items():
                best = _best(blocks, k, now.bend(k), bends)
                if best is not None:
                    bend, length_scale = best
                    now = now.changed(k, bend, len(space.parameters))
                    changed[k] = length_scale
                    for block in blocks:
                        block.adopt(k, bend, length_scale)
    return now, changed


def _best(
    blocks: Sequence[Block], k: int, current: float, bends: Sequence[float]
) -> tuple[float, float] | None:
    """Return the bend and length scale that explain most, if that is more than the current ones do."""
    objective = blocks[0]
    own, median = float(objective.scales[objective.at(k)]), objective.usual_length_scale
    sides, first = [], []
    for sign in (1.0, -1.0):
        side = [bend for bend in bends if np.sign(bend) == sign and bend != current]
        if side:
            sides.append(side)
            first.append((min(side, key=lambda bend: abs(np.log(abs(bend) / _FIRST))), median))
    trials: list[tuple[float, float]] = []
    for side, gain in zip(sides, objective.gains(k, first), strict=True):
        # Where a scale from this end is in use already, others from there are always worth a trial.
        if gain >= HOPELESS or np.sign(current) == np.sign(side[0]):
            trials += [(bend, length) for bend in side for length in (median, 2.0 * median, own)]
    if current:
        trials += [(0.0, length) for length in (median, own)]
    every = [block.gains(k, trials) for block in blocks]
    gains = [
        sum(of_trial) + PRIOR * ((current != 0.0) - (bend != 0.0))
        for (bend, _), *of_trial in zip(trials, *every, strict=True)
    ]
    best = int(np.argmax(gains)) if gains else 0
    return trials[best] if gains and gains[best] > 0.0 else None

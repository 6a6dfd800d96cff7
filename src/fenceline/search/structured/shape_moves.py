"""Steps between shapes: what a search that moves one module at a time cannot do alone.

Another shape often needs other slots to be filled with it. So some pipelines near the best are drawn
whole, with another shape or other algorithms in one or two slots; the most promising of them are
where the climb over modules begins, beside the best that are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenceline.problem.problem import Problem
from fenceline.search.structured.acquisition import Acquisition
from fenceline.search.surrogates.pipeline_kernel import Structure

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ELITES, _DRAWN, _KEPT = 8, 32, 2


def with_other_shapes(
    problem: Problem,
    acquisition: Acquisition,
    structure: Structure,
    z: Indices,
    theta: Array,
    rng: np.random.Generator,
) -> tuple[Indices, Array]:
    """Return what is known, best first, behind the most promising of some pipelines near the best."""
    space = structure.space
    if space.shapes is None:
        return z, theta
    # Whatever is chosen anew comes with the hyper-parameters of the best pipeline that has it.
    best_known = np.where(np.isnan(theta), np.inf, np.arange(len(theta))[:, None]).argmin(axis=0)
    usual = theta[best_known, np.arange(theta.shape[1])]
    usual = np.where(np.isnan(usual), space.start, usual)
    drawn_z, drawn_theta = [], []
    for _ in range(_DRAWN):
        base = int(rng.integers(min(_ELITES, len(z))))
        moved = [int(j) for j in z[base]]
        for i in rng.choice(len(moved), size=min(2, len(moved)), replace=False):
            moved[i] = int(rng.integers(len(space.modules[i].algorithms)))
        filled = np.where(np.isnan(theta[base]), usual, theta[base])
        configuration = space.decode(tuple(moved), filled)
        if problem.allows(configuration):
            new_z, new_theta = space.encode(configuration)
            drawn_z.append(new_z)
            drawn_theta.append(new_theta)
    if not drawn_z:
        return z, theta
    near_z, near_theta = np.array(drawn_z, dtype=np.intp), np.array(drawn_theta)
    parts = structure.parts(near_z, near_theta)
    values = acquisition.value([p.predict_pipelines(parts) for p in acquisition.processes])
    top = np.argsort(-values, kind="stable")[:_KEPT]
    return np.vstack([near_z[top], z]), np.vstack([near_theta[top], theta])

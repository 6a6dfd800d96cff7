"""One effect per choice: a Bayesian linear model of rewards, cheap enough for every proposal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fenceline.search.admm.solvers.protocol import Merits

Array = NDArray[np.float64]

_NOISE = 0.3
"""The deviation of a reward from the sum of its choices' effects; rewards are ranks in [0, 1]."""
_EFFECT = 0.2
"""How far effects lie apart before anything is known."""


def rewards(merits: Merits) -> Array:
    """Return ranks, 1 for the best merit and near 0 for the worst: merits may have any scale."""
    # Equal merits share the mean of their ranks. scipy.stats has it, too, and takes half a second to import.
    _, place, times = np.unique(merits, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(times) - (times - 1) / 2
    return np.asarray(1.0 - (mean_rank[place] - 1.0) / max(1, len(merits)))


class Effects:
    """Posterior of what each choice adds to the reward."""

    def __init__(self, sizes: Sequence[int], chosen: NDArray[np.intp], reward: Array) -> None:
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        rows = self._one_hot(chosen)
        self._level = float(reward.mean()) if len(reward) else 0.5
        precision = rows.T @ rows / _NOISE**2 + np.eye(rows.shape[1]) / _EFFECT**2
        self._covariance = np.linalg.inv(precision)
        self._mean = self._covariance @ (rows.T @ (reward - self._level)) / _NOISE**2

    def of(self, module: int) -> Array:
        """Return the effect of every choice of a module."""
        return self._mean[self._starts[module] : self._starts[module + 1]]

    def improvement(self, chosen: NDArray[np.intp], best: float) -> Array:
        """Return the expected improvement of the reward on the best known."""
        rows = self._one_hot(chosen)
        mean = self._level + rows @ self._mean
        sd = np.sqrt(((rows @ self._covariance) * rows).sum(axis=1) + _NOISE**2)
        ahead = (mean - best) / sd
        density = np.exp(-0.5 * ahead**2) / np.sqrt(2.0 * np.pi)
        return np.asarray(sd * (ahead * ndtr(ahead) + density))

    def _one_hot(self, chosen: NDArray[np.intp]) -> Array:
        rows = np.zeros((len(chosen), int(self._starts[-1])))
        for module, start in enumerate(self._starts[:-1]):
            rows[np.arange(len(chosen)), start + chosen[:, module]] = 1.0
        return rows

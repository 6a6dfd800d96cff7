"""The kernel compares pipelines module by module, and only where they use the same algorithm."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.search.surrogates.pipeline_kernel import (
    APART,
    Amplitudes,
    Structure,
    assemble,
    effects_of,
)

SPACE = fl.Space(
    [
        fl.Module("scaler", [fl.Algorithm("none"), fl.Algorithm("robust", {"q": fl.Real(0, 1)})]),
        fl.Module(
            "model",
            [
                fl.Algorithm("knn", {"k": fl.Integer(1, 9), "p": fl.Categorical(["a", "b", "c"])}),
                fl.Algorithm("tree", {"depth": fl.Integer(1, 5)}),
            ],
        ),
    ]
)
STRUCTURE = Structure(SPACE)
AMPLITUDES = Amplitudes(np.full(4, 0.5), np.array([0.3, 0.4]), np.array([0.5, 0.6]), 0.2, 1e-4)


def kernel(left, right):
    parts = [STRUCTURE.parts(*pipelines) for pipelines in (left, right)]
    effects = [
        effects_of(STRUCTURE, AMPLITUDES, i, a, b)
        for i, (a, b) in enumerate(zip(*parts, strict=True))
    ]
    return assemble(AMPLITUDES, effects)


def pipelines(rng, count):
    encoded = [SPACE.encode(SPACE.sample(rng)) for _ in range(count)]
    return np.array([z for z, _ in encoded]), np.array([theta for _, theta in encoded])


def test_a_pipeline_has_the_prior_variance_with_itself():
    x = pipelines(np.random.default_rng(0), 20)
    assert np.diag(kernel(x, x)) == pytest.approx(AMPLITUDES.prior_variance)


def test_pipelines_without_a_common_algorithm_share_the_least_interaction_only():
    z, theta = np.array([[0, 0], [1, 1]]), np.full((2, 4), 0.5)
    assert kernel((z[:1], theta[:1]), (z[1:], theta[1:]))[0, 0] == pytest.approx(0.2 * APART**2)


def test_inactive_hyperparameters_never_enter():
    rng = np.random.default_rng(1)
    z, theta = pipelines(rng, 30)
    other = np.where(np.isnan(theta), rng.random(theta.shape), theta)
    assert kernel((z, theta), (z, theta)) == pytest.approx(kernel((z, other), (z, theta)))


def test_the_kernel_is_positive_definite():
    x = pipelines(np.random.default_rng(2), 60)
    assert np.linalg.eigvalsh(kernel(x, x)).min() > -1e-10


def test_any_two_different_categories_are_equally_far_apart():
    z = np.zeros((3, 2), dtype=np.intp)
    theta = np.tile([np.nan, 0.5, 0.0, np.nan], (3, 1))
    theta[:, 2] = [0.0, 0.5, 1.0]
    matrix = kernel((z, theta), (z, theta))
    assert matrix[0, 1] == pytest.approx(matrix[0, 2]) == pytest.approx(matrix[1, 2])
    assert matrix[0, 1] < matrix[0, 0]


def test_hyperparameters_that_are_closer_correlate_more():
    z = np.tile([1, 0], (3, 1))
    theta = np.tile([0.0, 0.5, 0.0, np.nan], (3, 1))
    theta[:, 0] = [0.0, 0.1, 0.9]
    matrix = kernel((z, theta), (z, theta))
    assert matrix[0, 1] > matrix[0, 2]

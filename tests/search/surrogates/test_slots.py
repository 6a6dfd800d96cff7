"""The kernel of sets of algorithms and of orders."""

import numpy as np
import pytest

from fenceline import Algorithm, Categorical, Module, Real, Space
from fenceline.search.structured.gradient_ascent import _slices
from fenceline.search.surrogates.pipeline_gp import condition
from fenceline.search.surrogates.pipeline_kernel import Amplitudes, Structure, assemble
from fenceline.search.surrogates.pipeline_likelihood import PipelineEvidence, fit


def space(join):
    return Space(
        [
            Module("scaler", [Algorithm("none"), Algorithm("robust", {"q": Real(0, 1)})]),
            Module(
                "features",
                [
                    Algorithm("pca", {"n": Real(1, 3)}),
                    Algorithm("poly", {"d": Categorical([1, 2])}),
                    Algorithm("kernel"),
                ],
                most=2,
                join=join,
            ),
            Module("model", [Algorithm("a"), Algorithm("b")]),
        ],
        reorder=("scaler", "features"),
    )


def setting(join, count=30):
    rng = np.random.default_rng(0)
    here = space(join)
    encoded = [here.encode(here.sample(rng)) for _ in range(count)]
    structure = Structure(here)
    z, theta = (np.array(column) for column in zip(*encoded, strict=True))
    return structure, structure.parts(z, theta), rng.normal(size=count)


def similarity(structure, amplitudes, *choices):
    """Return the kernel between pipelines given by hand."""
    here = structure.space
    encoded = [here.encode(here.configuration(choice | {"model": "a"})) for choice in choices]
    z, theta = (np.array(column) for column in zip(*encoded, strict=True))
    parts = structure.parts(z, theta)
    process = condition(structure, amplitudes, parts, np.zeros(len(choices)))
    return assemble(amplitudes, [process.effects(i, part) for i, part in enumerate(parts)])


def ones(structure):
    modules = len(structure.space.modules)
    return Amplitudes.of(np.zeros(len(structure.space.parameters) + 2 * modules + 2), modules)


@pytest.mark.parametrize("join", ["union", "chain"])
def test_it_is_a_kernel_of_constant_variance(join):
    structure, parts, y = setting(join)
    found = fit(structure, parts, y)[1]
    amplitudes = Amplitudes.of(found, len(parts))
    process = condition(structure, amplitudes, parts, y)
    kernel = assemble(amplitudes, [process.effects(i, part) for i, part in enumerate(parts)])
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(), amplitudes.prior_variance)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9


@pytest.mark.parametrize("join", ["union", "chain"])
def test_the_gradient_of_the_likelihood_is_its_slope(join):
    structure, parts, y = setting(join)
    evidence = PipelineEvidence.of(structure, parts, y)
    at = evidence.centre + 0.3 * np.random.default_rng(1).normal(size=len(evidence.centre))
    gradient = evidence(at)[1]
    slopes = [
        (evidence(at + step)[0] - evidence(at - step)[0]) / 2e-5 for step in 1e-5 * np.eye(len(at))
    ]
    np.testing.assert_allclose(gradient, slopes, atol=2e-4)


@pytest.mark.parametrize("join", ["union", "chain"])
def test_gradient_ascent_sees_the_same_process(join):
    structure, parts, y = setting(join)
    process = condition(structure, ones(structure), parts, y)
    rng = np.random.default_rng(2)
    for _ in range(5):
        z, theta = structure.space.encode(structure.space.sample(rng))
        own = structure.parts(np.array([z]), theta[None])
        mean, deviation = process.predict_pipelines(own)
        varying = [p.features[0][structure.features_of(i, z[i])] for i, p in enumerate(own)]
        seen = _slices([process], structure, z)[0].predict(np.concatenate(varying))
        assert seen[0] == pytest.approx(mean[0])
        assert seen[1] == pytest.approx(deviation[0])


def test_sets_share_what_is_known_of_an_algorithm_in_any_slot():
    structure = Structure(space("union"))
    poly = {"features": ("poly", {"d": 1})}
    both = poly | {"features_2": ("pca", {"n": 2.0})}  # a set by name: pca, poly
    neither = {"features": "kernel", "features_2": ("pca", {"n": 2.0})}
    kernel = similarity(structure, ones(structure), poly, both, neither)
    assert structure.space.configuration(both | {"model": "a"})["features_2"].algorithm == "poly"
    assert kernel[0, 1] > kernel[0, 2] + 1


def test_in_a_chain_the_place_counts_half():
    structure = Structure(space("chain"))
    there = {"features": ("poly", {"d": 1}), "features_2": "kernel"}
    back = {"features": "kernel", "features_2": ("poly", {"d": 1})}
    other = {"features": ("pca", {"n": 2.0}), "features_2": ("poly", {"d": 1})}
    kernel = similarity(structure, ones(structure), there, back, other)
    assert kernel[0, 0] > kernel[0, 1] > kernel[0, 2]


def test_orders_are_alike_by_the_pairs_they_leave_in_order():
    names = "abc"
    here = Space(
        [*(Module(n, [Algorithm("none"), Algorithm(n + "1")]) for n in names)], reorder=list(names)
    )
    alike = here.shapes.agreement
    orders = [t.replace("?", "") for t in (a.name for a in here.modules[0].algorithms)]
    first = alike[orders.index("a -> b -> c")]
    assert first[orders.index("a -> c -> b")] == pytest.approx(2 / 3)
    assert first[orders.index("c -> a -> b")] == pytest.approx(1 / 3)
    assert first[orders.index("c -> b -> a")] == 0.0
    assert np.linalg.eigvalsh(alike).min() > -1e-12

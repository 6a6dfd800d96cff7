"""The process over all pipelines: exact, incremental, and with the right gradient of its evidence."""

import numpy as np
import pytest

from fenceline.problems import artificial
from fenceline.search.surrogates.pipeline_gp import JITTER, _whitened, condition
from fenceline.search.surrogates.pipeline_kernel import Amplitudes, Structure, assemble
from fenceline.search.surrogates.pipeline_likelihood import PipelineEvidence, fit

PROBLEM = artificial(4)
STRUCTURE = Structure(PROBLEM.space)


def data(count, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [PROBLEM.space.sample(rng) for _ in range(count)]
    z, theta = zip(*(PROBLEM.space.encode(c) for c in drawn), strict=True)
    y = np.array([PROBLEM.measure(c)["loss"] for c in drawn])
    return STRUCTURE.parts(np.array(z), np.array(theta)), (y - y.mean()) / y.std()


def fitted(count=50):
    parts, y = data(count)
    amplitudes = Amplitudes.of(fit(STRUCTURE, parts, y)[1], 4)
    return condition(STRUCTURE, amplitudes, parts, y), parts, y


def test_gradient_of_the_evidence_equals_finite_differences():
    parts, y = data(25)
    evidence = PipelineEvidence.of(STRUCTURE, parts, y)
    rng = np.random.default_rng(0)
    point = evidence.centre + 0.3 * rng.standard_normal(len(evidence.centre))
    _, gradient = evidence(point)
    for k in [*rng.choice(len(point), 12, replace=False), *range(len(point) - 10, len(point))]:
        step = np.zeros(len(point))
        step[k] = 1e-5
        numeric = (evidence(point + step)[0] - evidence(point - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(numeric, abs=1e-5)


def test_the_evidence_is_the_density_of_the_kernel_that_predicts():
    parts, y = data(25)
    evidence = PipelineEvidence.of(STRUCTURE, parts, y)
    point = evidence.centre + 0.3 * np.random.default_rng(2).standard_normal(len(evidence.centre))
    amplitudes = Amplitudes.of(point, 4)
    process = condition(STRUCTURE, amplitudes, parts, y)
    white = process.whitener @ (y - process.constant)
    likelihood = -0.5 * white @ white + np.log(process.whitener.diagonal()).sum()
    likelihood -= 0.5 * len(y) * np.log(2 * np.pi)
    prior = -0.5 * np.sum(((point - evidence.centre) / evidence.width) ** 2)
    assert evidence(point)[0] == pytest.approx(-likelihood - prior)


def test_fitting_improves_on_the_prior():
    parts, y = data(40)
    evidence = PipelineEvidence.of(STRUCTURE, parts, y)
    assert fit(STRUCTURE, parts, y)[0] < evidence(evidence.centre)[0]


def test_extending_equals_conditioning_on_everything_at_once():
    whole, parts, y = fitted(30)
    first = condition(STRUCTURE, whole.amplitudes, [part[:20] for part in parts], y[:20])
    grown = first.extend([part[20:] for part in parts], y[20:])
    new, _ = data(15, seed=9)
    for ours, theirs in zip(
        grown.predict_pipelines(new), whole.predict_pipelines(new), strict=True
    ):
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_predictions_smooth_the_observations_by_the_noise():
    process, parts, y = fitted()
    smoothed = y - (process.amplitudes.noise + JITTER) * process.weights
    assert process.predict_pipelines(parts)[0] == pytest.approx(smoothed, abs=1e-6)


def test_the_rough_deviation_is_never_below_the_exact_one():
    process, _, _ = fitted()
    new, _ = data(100, seed=3)
    cross = assemble(process.amplitudes, [process.effects(i, p) for i, p in enumerate(new)])
    assert (process.largest_deviation(cross.max(axis=1)) >= process.predict(cross)[1] - 1e-9).all()


def test_what_is_learned_of_an_algorithm_helps_pipelines_that_were_never_measured():
    parts, y = data(150)
    amplitudes = Amplitudes.of(fit(STRUCTURE, parts, y)[1], 4)
    process = condition(STRUCTURE, amplitudes, parts, y)
    new, truth = data(150, seed=7)
    mean, _ = process.predict_pipelines(new)
    assert np.corrcoef(mean, truth)[0, 1] > 0.7


@pytest.mark.parametrize("count", [1, 64, 65, 150])
def test_a_product_without_the_zeros_of_a_triangle_is_the_whole_product(count):
    rng = np.random.default_rng(count)
    whitener, cross = np.tril(rng.random((count, count))), rng.random((7, count))
    assert _whitened(cross, whitener) == pytest.approx(cross @ whitener.T, rel=1e-13)


def test_the_mean_alone_is_the_mean_of_a_whole_prediction():
    process, _, _ = fitted()
    new, _ = data(15, seed=9)
    assert process.mean_of_pipelines(new).tolist() == process.predict_pipelines(new)[0].tolist()

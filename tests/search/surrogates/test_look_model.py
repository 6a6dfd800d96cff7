"""Full measurements and looks in one model: what it learns of the full ones."""

import numpy as np
import pytest

from fenceline.problems import artificial
from fenceline.search.surrogates.look_model import LookModel
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Structure
from fenceline.search.surrogates.pipeline_likelihood import PipelineEvidence

PROBLEM = artificial(4)
STRUCTURE = Structure(PROBLEM.space)


def data(count, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [PROBLEM.space.sample(rng) for _ in range(count)]
    z, theta = zip(*(PROBLEM.space.encode(c) for c in drawn), strict=True)
    y = np.array([PROBLEM.measure(c)["loss"] for c in drawn])
    return STRUCTURE.parts(np.array(z), np.array(theta)), y


def some(parts, rows):
    return [part[rows] for part in parts]


def test_gradient_of_the_evidence_with_looks_equals_finite_differences():
    parts, y = data(24)
    discounts = np.tile([0.0, 1.0, 0.4], 8)
    evidence = PipelineEvidence.of(STRUCTURE, parts, (y - y.mean()) / y.std(), discounts)
    rng = np.random.default_rng(0)
    point = evidence.centre + 0.3 * rng.standard_normal(len(evidence.centre))
    _, gradient = evidence(point)
    for k in [*rng.choice(len(point), 10, replace=False), *range(len(point) - 8, len(point))]:
        step = np.zeros(len(point))
        step[k] = 1e-5
        numeric = (evidence(point + step)[0] - evidence(point - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(numeric, abs=1e-5)


def test_looks_that_all_lose_the_same_teach_the_full_values():
    parts, y = data(60)
    discounts = np.r_[np.zeros(8), np.ones(52)]
    model = LookModel(STRUCTURE, transform=False)
    mean, _ = model.learn(parts, y + 3.0 * discounts, discounts).predict_pipelines(
        some(parts, np.arange(8, 60))
    )
    error = (mean - model.warp(y[8:])) * model.warp.scale
    alone = MetricModel(STRUCTURE, transform=False)
    process = alone.update(some(parts, np.arange(8)), y[:8])
    without = process.predict_pipelines(some(parts, np.arange(8, 60)))[0] - alone.warp(y[8:])
    assert np.abs(error).mean() < 0.4 * np.abs(without * alone.warp.scale).mean()


def test_the_last_word_on_a_pipeline_has_its_full_measurement():
    parts, y = data(30)
    both = [part.joined(part) for part in parts]
    rng = np.random.default_rng(1)
    looks = y + 2.0 + rng.standard_normal(30) * y.std()
    model = LookModel(STRUCTURE, transform=False)
    process = model.learn(both, np.r_[y, looks], np.r_[np.zeros(30), np.ones(30)])
    mean, sd = process.predict_pipelines(parts)
    assert np.abs(mean - model.warp(y)).max() < 0.1
    assert sd.max() < 0.2


def test_what_comes_later_is_taken_in_without_fitting_anew():
    parts, y = data(41)
    discounts = np.tile([0.0, 1.0], 21)[:41]
    model = LookModel(STRUCTURE, transform=False)
    model.learn(some(parts, np.arange(40)), y[:40], discounts[:40])
    before = model.looks
    process = model.learn(parts, y, discounts)
    assert model.looks is before
    assert len(process.z) == 41

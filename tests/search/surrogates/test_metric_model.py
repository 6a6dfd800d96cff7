import numpy as np
import pytest

from fenceline.problems import artificial
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Structure

SPACE = artificial(0).space
STRUCTURE = Structure(SPACE)


def pipelines(count):
    rng = np.random.default_rng(0)
    z, theta = zip(*(SPACE.encode(SPACE.sample(rng)) for _ in range(count)), strict=True)
    return STRUCTURE.parts(np.array(z), np.array(theta)), np.array(z)


def additive(z, scale=1.0):
    effects = np.random.default_rng(1).standard_normal((4, 11))
    return scale * sum(effects[i, z[:, i]] for i in range(4))


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_evidence_chooses_the_transformation_that_made_the_data(logarithmic):
    parts, z = pipelines(80)
    y = additive(z)
    model = MetricModel(STRUCTURE)
    model.update(parts, np.exp(1.5 * y) if logarithmic else y)
    assert model.warp.logarithmic == logarithmic


def test_only_what_is_new_is_added_between_two_fits():
    parts, z = pipelines(42)
    y = additive(z)
    model = MetricModel(STRUCTURE)
    before = model.update([part[:40] for part in parts], y[:40]).amplitudes
    after = model.update(parts, y)
    assert after.amplitudes is before
    assert len(after.z) == 42


def test_another_selection_is_explained_by_what_was_learnt_until_a_tenth_more_is_measured():
    parts, z = pipelines(60)
    y = additive(z)
    model = MetricModel(STRUCTURE)
    first = model.reselect([part[:40] for part in parts], y[:40], 100)
    later = model.reselect([part[15:] for part in parts], y[15:], 109)
    assert later.amplitudes is first.amplitudes
    assert len(later.z) == 45
    # The transformation is that of the selection, as if nothing had come before.
    assert later.z.mean() == pytest.approx(0.0, abs=1e-9)
    assert model.reselect(parts, y, 111).amplitudes is not first.amplitudes


def test_the_best_evaluations_are_among_those_that_are_kept():
    parts, z = pipelines(420)
    y = additive(z)
    process = MetricModel(STRUCTURE, transform=False).update(parts, y)
    assert len(process.z) == 300
    assert process.z.min() == pytest.approx((y.min() - y.mean()) / y.std(), rel=0.3)


def test_metrics_of_the_same_pipelines_share_them():
    """By identity: what is computed of pipelines is kept for the next metric."""
    parts, z = pipelines(42)
    models = [MetricModel(STRUCTURE) for _ in range(2)]
    for count in (40, 42):
        known = [part[:count] for part in parts]
        for scale, model in enumerate(models, 1):
            process = model.update(known, additive(z, scale)[:count])
            assert all(ours is theirs for ours, theirs in zip(process.parts, known, strict=True))

import numpy as np
import pytest

from fenceline.problems import artificial
from fenceline.search.structured.acquisition import Chance, ConstrainedImprovement
from fenceline.search.surrogates.pipeline_gp import condition
from fenceline.search.surrogates.pipeline_kernel import Amplitudes, Structure
from fenceline.search.surrogates.pipeline_likelihood import PipelineEvidence

SPACE = artificial(0).space
STRUCTURE = Structure(SPACE)


def process(seed=0, count=20):
    rng = np.random.default_rng(seed)
    z, theta = zip(*(SPACE.encode(SPACE.sample(rng)) for _ in range(count)), strict=True)
    parts = STRUCTURE.parts(np.array(z), np.array(theta))
    y = rng.standard_normal(count)
    return condition(
        STRUCTURE, Amplitudes.of(PipelineEvidence.of(STRUCTURE, parts, y).centre, 4), parts, y
    )


MEANS = np.array([-2.0, -0.5, 0.0, 0.7, 30.0])
DEVIATIONS = np.array([0.3, 1.0, 0.01, 2.0, 0.5])
CHANCES = [
    Chance(process(), -np.inf, 0.2),
    Chance(process(), -0.4, np.inf),
    Chance(process(), -1.0, 0.5),
]


def test_before_anything_feasible_is_known_only_the_chances_count():
    acquisition = ConstrainedImprovement(process(), None, (CHANCES[0],))
    assert acquisition.processes == (CHANCES[0].process,)
    assert acquisition.value([(MEANS, DEVIATIONS)]) == pytest.approx(
        CHANCES[0].log(MEANS, DEVIATIONS)
    )


def test_the_chance_of_a_band_is_the_difference_of_its_ends():
    from scipy.stats import norm

    band = CHANCES[2].log(MEANS[:4], DEVIATIONS[:4])
    truth = norm.cdf(0.5, MEANS[:4], DEVIATIONS[:4]) - norm.cdf(-1.0, MEANS[:4], DEVIATIONS[:4])
    assert np.exp(band) == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("chance", CHANCES, ids=["below", "above", "between"])
@pytest.mark.parametrize(("mean", "sd"), [(-0.5, 1.0), (0.7, 0.4), (3.0, 0.5), (-4.0, 0.6)])
def test_gradients_of_a_chance_equal_finite_differences(chance, mean, sd):
    def value(m, s):
        return float(chance.log(np.array([m]), np.array([s]))[0])

    told, by_mean, by_sd = chance.log_with_gradient(mean, sd)
    assert told == pytest.approx(value(mean, sd))
    h = 1e-6
    assert by_mean == pytest.approx(
        (value(mean + h, sd) - value(mean - h, sd)) / (2 * h), rel=1e-3, abs=1e-6
    )
    assert by_sd == pytest.approx(
        (value(mean, sd + h) - value(mean, sd - h)) / (2 * h), rel=1e-3, abs=1e-6
    )


def test_far_outside_the_fence_the_promise_still_tells_better_from_worse():
    acquisition = ConstrainedImprovement(process(), 0.0, (CHANCES[0],))
    far = np.array([50.0, 40.0])
    values = acquisition.value([(np.zeros(2), np.ones(2)), (far, np.full(2, 0.1))])
    assert np.isfinite(values).all()
    assert values[1] > values[0]


def test_believing_in_a_pending_pipeline_takes_its_promise_away():
    model = process()
    acquisition = ConstrainedImprovement(model, float(model.z.min()))
    z, theta = SPACE.encode(SPACE.sample(np.random.default_rng(5)))
    parts = STRUCTURE.parts(np.array([z]), theta[None])
    before = acquisition.value([model.predict_pipelines(parts)])[0]
    believing = acquisition.believing(parts)
    after = believing.value([believing.objective.predict_pipelines(parts)])[0]
    assert after < before - 1.0

"""The expected improvement of the augmented Lagrangian, against what sampling says of it."""

import numpy as np
import pytest

import fenceline as fl
from fenceline.search.admm.lagrangian_improvement import LagrangianImprovement, normal_draws
from fenceline.search.lagrangian import Lagrangian, Scales
from fenceline.search.surrogates.improvement import log_expected_improvement
from fenceline.search.surrogates.warp import Warp

SPACE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 1)})])])
PLAIN = Warp(False, 0.0, 1.0, 0.3, 2.0)
BENT = Warp(True, -1.0, 0.5, 0.2, 1.3)
F, G, H = (np.array([0.2]), np.array([0.5])), (np.array([0.1]), np.array([0.4])), (np.array([-0.3]), np.array([0.6]))  # fmt: skip


def acquisition(mu, *, best=1.0, rho=1.5, warp=PLAIN, warps=(PLAIN, BENT), equal=False):
    constraints = ["g <= 1", fl.metric("h").equals(0.0, 0.1) if equal else "h <= 1"][: len(mu)]
    problem = fl.Problem(SPACE, lambda c: {}, objective="f", constraints=constraints)
    upper = np.array([np.inf, 0.0 if equal else np.inf])[: len(mu)]
    scales = Scales(0.7, np.array([1.2, 0.8])[: len(mu)])
    lagrangian = Lagrangian(problem, scales, rho, np.array(mu), upper)
    nothing = (None,) * len(mu)
    return LagrangianImprovement(
        None, nothing, warp, warps[: len(mu)], lagrangian, best, normal_draws(len(mu))
    )


def sampled(chosen, predictions):
    """The mean improvement over a million pipelines drawn from what the models predict."""
    rng = np.random.default_rng(0)
    drawn = [m[0] + s[0] * rng.standard_normal(1_000_000) for m, s in predictions]
    lagrangian, scales = chosen.lagrangian, chosen.lagrangian.scales
    excess = [w.inverse(v) for w, v in zip(chosen.warps, drawn[1:], strict=True)]
    excesses = np.array(excess).T / scales.constraints
    merits = lagrangian.merits(chosen.warp.inverse(drawn[0]) / scales.loss, excesses)
    return np.maximum(chosen.best - merits, 0.0).mean()


@pytest.mark.parametrize("mu", [(0.0, 0.0), (0.8, 0.0), (0.5, 2.0)])
@pytest.mark.parametrize("equal", [False, True])
def test_it_is_the_expected_improvement_of_the_merit(mu, equal):
    chosen = acquisition(mu, equal=equal)
    # In units of the merit: the model of f is linear, and counts in its own.
    unit = chosen.lagrangian.scales.loss / PLAIN.scale
    told = np.exp(chosen.value([F, G, H])[0]) / unit
    assert told == pytest.approx(sampled(chosen, [F, G, H]), rel=0.05)


def test_without_constraints_it_is_that_of_the_loss():
    chosen = acquisition(())
    target = PLAIN(np.array([1.0 * 0.7]))
    assert chosen.value([F]) == pytest.approx(log_expected_improvement(*F, target))


@pytest.mark.parametrize("warp", [PLAIN, BENT])
def test_its_gradient_is_that_of_differences(warp):
    chosen = acquisition((0.8, 0.3), warp=warp)
    at = np.array([0.2, 0.5, 0.1, 0.4, -0.3, 0.6])

    def value(x):
        return chosen.value_with_gradient([(x[0], x[1]), (x[2], x[3]), (x[4], x[5])])

    _, slopes = value(at)
    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-6
        difference = (value(at + step)[0] - value(at - step)[0]) / 2e-6
        assert slopes[k // 2][k % 2] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_one_pipeline_alone_is_worth_what_it_is_among_many():
    chosen = acquisition((0.8, 0.3))
    alone, _ = chosen.value_with_gradient([(float(m[0]), float(s[0])) for m, s in (F, G, H)])
    many = chosen.value([(np.repeat(m, 3), np.repeat(s, 3)) for m, s in (F, G, H)])
    assert many == pytest.approx(alone)


def test_a_multiplier_makes_the_same_violation_worse():
    outside, inside = (np.array([0.8]), np.array([0.1])), (np.array([-2.0]), np.array([0.1]))

    def preference(mu):
        chosen = acquisition((mu,))
        return float(chosen.value([F, inside])[0] - chosen.value([F, outside])[0])

    assert preference(0.0) < preference(1.0) < preference(4.0)


def test_a_known_penalty_lowers_the_target():
    chosen = acquisition((0.5, 0.0))
    assert chosen.lowered(0.3).best == pytest.approx(0.7)
    assert chosen.lowered(0.3).value([F, G, H]) < chosen.value([F, G, H])


def test_draws_are_spread_as_a_normal_variable_is():
    draws = normal_draws(3)
    assert draws.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.1)
    assert draws.std(axis=0) == pytest.approx(np.ones(3), abs=0.1)
    assert np.abs(np.corrcoef(draws.T) - np.eye(3)).max() < 0.15

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import fenceline as fl
from fenceline.search.lagrangian import Integers, Lagrangian, Scales

SPACE = fl.Space([fl.Module("model", [fl.Algorithm("only")])])
CONFIGURATION = SPACE.configuration({"model": "only"})

numbers = st.floats(-100.0, 100.0)
positive = st.floats(0.01, 100.0)


def problem(*constraints):
    return fl.Problem(SPACE, lambda configuration: {}, constraints=list(constraints))


def evaluation(**metrics):
    return fl.Evaluation(CONFIGURATION, metrics, metrics["loss"], 0.0)


def lagrangian(constraint="g <= 5", *, rho=1.0, mu=0.0, upper=math.inf, scales=None):
    fence = problem(constraint)
    return Lagrangian(fence, scales or Scales.raw(fence), rho, np.array([mu]), np.array([upper]))


@given(g=numbers, mu=numbers, rho=positive, upper=st.one_of(positive, st.just(math.inf)))
def test_closed_form_slack_beats_every_slack_on_a_grid(g, mu, rho, upper):
    merit = lagrangian(rho=rho, mu=mu, upper=upper)
    measured = evaluation(loss=1.0, g=g)
    closed = merit.merit(measured)
    for u in np.linspace(0.0, min(upper, 1e5), 101):
        assert closed <= merit.merit(measured, np.array([u])) * (1 + 1e-12) + 1e-12


@given(g=numbers, mu=positive, rho=positive)
def test_multiplier_update_is_the_projection_of_the_classical_one(g, mu, rho):
    """mu + rho (g - eps + u) with the closed-form u is max(0, mu + rho (g - eps))."""
    merit = lagrangian(rho=rho, mu=mu)
    excess = merit.excess(evaluation(loss=0.0, g=g))
    updated = mu + rho * (excess + merit.slack(excess))
    assert_allclose(updated, max(0.0, mu + rho * (g - 5.0)), rtol=1e-9, atol=1e-9)


@given(g=numbers, rho=positive)
def test_an_equality_has_no_slack(g, rho):
    merit = lagrangian("g == 5 +- 1", rho=rho, upper=0.0)
    measured = evaluation(loss=2.0, g=g)
    assert merit.slack(merit.excess(measured)) == 0.0
    assert merit.merit(measured) == pytest.approx(2.0 + 0.5 * rho * (g - 5.0) ** 2)


def test_a_pipeline_inside_the_fence_pays_nothing_while_multipliers_are_zero():
    assert lagrangian().merit(evaluation(loss=0.25, g=-40.0)) == 0.25


def test_merit_adds_half_rho_times_every_squared_violation():
    """0.5 + 3/2 ((7 - 5 + 1/3)^2 + (0.8 - 0.6 + 2/3)^2), the second constraint being flipped."""
    fence = problem("g <= 5", "auc >= 0.8")
    merit = Lagrangian(fence, Scales.raw(fence), 3.0, np.array([1.0, 2.0]), np.array([5.0, 0.8]))
    expected = 0.5 + 1.5 * ((2 + 1 / 3) ** 2 + (0.2 + 2 / 3) ** 2)
    assert merit.merit(evaluation(loss=0.5, g=7.0, auc=0.6)) == pytest.approx(expected)


def test_scales_divide_loss_and_excess():
    merit = lagrangian(scales=Scales(4.0, np.array([10.0])))
    measured = evaluation(loss=2.0, g=25.0)
    assert merit.loss(measured) == 0.5
    assert_allclose(merit.excess(measured), [2.0])
    assert merit.merit(measured) == pytest.approx(0.5 + 0.5 * 2.0**2)


def test_prices_are_multipliers_in_the_users_own_units():
    """A scaled mu of 3 is 3 loss spreads of 4 per constraint scale of 10: 1.2 of loss per unit."""
    priced = lagrangian(mu=3.0, scales=Scales(4.0, np.array([10.0])))
    assert priced.scales.prices(priced.problem, priced.mu) == pytest.approx({"g <= 5": 1.2})


@pytest.mark.parametrize("g", [1e200, 1e300, -1e300])
@pytest.mark.parametrize("loss", [1e300, -1e300])
def test_merits_stay_finite_whatever_was_measured(loss, g):
    assert math.isfinite(lagrangian().merit(evaluation(loss=loss, g=g)))
    assert math.isfinite(lagrangian(upper=5.0).merit(evaluation(loss=loss, g=g)))


def test_a_price_past_the_largest_float_is_infinite():
    priced = lagrangian(mu=1e300, scales=Scales(1e300, np.array([1.0])))
    assert priced.scales.prices(priced.problem, priced.mu) == {"g <= 5": math.inf}


class TestObservedScales:
    def history(self, losses, g=None):
        g = [1.0] * len(losses) if g is None else g
        return [evaluation(loss=f, g=v) for f, v in zip(losses, g, strict=True)]

    def test_loss_is_measured_by_its_inter_quartile_range(self):
        scales = Scales.observed(problem(), self.history([0.0, 1.0, 2.0, 3.0, 1000.0]))
        assert scales.loss == 2.0

    def test_a_constraint_is_measured_by_its_own_scale(self):
        history = self.history([0.0, 1.0], g=[0.0, 100.0])
        assert_allclose(Scales.observed(problem("g <= 5"), history).constraints, [5.0])
        given_scale = fl.Constraint("g", "<=", 0.0, scale=7.0)
        assert_allclose(Scales.observed(problem(given_scale), history).constraints, [7.0])

    def test_a_constraint_with_a_bound_of_zero_is_measured_by_its_spread(self):
        history = self.history([0.0] * 5, g=[0.0, 10.0, 20.0, 30.0, 9999.0])
        assert_allclose(Scales.observed(problem("g <= 0"), history).constraints, [20.0])

    def test_constant_values_count_as_they_are(self):
        assert Scales.observed(problem(), self.history([3.0] * 6)).loss == 1.0

    def test_mostly_constant_values_are_measured_by_their_range(self):
        assert Scales.observed(problem(), self.history([3.0] * 9 + [5.0])).loss == 2.0

    @pytest.mark.parametrize(("losses", "scale"), [([], 1.0), ([-4.0], 4.0), ([0.0], 1.0)])
    def test_of_a_single_loss_its_size_is_the_scale(self, losses, scale):
        assert Scales.observed(problem(), self.history(losses)).loss == scale

    def test_multipliers_keep_their_price_when_the_scales_change(self):
        fence = problem("g <= 5")
        wide, narrow = Scales(8.0, np.array([10.0])), Scales(2.0, np.array([5.0]))
        mu, lam = narrow.carried(np.array([3.0]), np.array([0.5]), wide)
        assert narrow.prices(fence, mu) == wide.prices(fence, np.array([3.0]))
        assert lam * narrow.loss == 0.5 * wide.loss

    def test_failed_evaluations_are_left_out(self):
        failed = fl.Evaluation(CONFIGURATION, {}, math.inf, math.inf, "error")
        history = [*self.history([0.0, 1.0, 2.0]), failed]
        assert Scales.observed(problem(), history).loss == 1.0


MIXED = fl.Space(
    [
        fl.Module(
            "model",
            [
                fl.Algorithm("a", {"x": fl.Real(0.0, 8.0), "n": fl.Integer(2, 12)}),
                fl.Algorithm("b", {"kind": fl.Categorical(["p", "q", "r"])}),
                fl.Algorithm("c", {"m": fl.Integer(1, 100, log=True)}),
            ],
        )
    ]
)
THETA = np.array([0.25, 0.35, 0.5, 0.5])


def test_integers_are_found_among_the_hyper_parameters():
    assert Integers(MIXED, "unit").columns.tolist() == [1, 2, 3]


def test_integers_are_taken_in_unit_or_in_raw_measure():
    assert_allclose(Integers(MIXED, "unit").of(THETA), [0.35, 0.5, 0.5])
    # 2 + 0.35 * 10; an index of 1; the middle of 1..100 on a log scale
    assert_allclose(Integers(MIXED, "raw").of(THETA), [5.5, 1.0, 10.0])


@pytest.mark.parametrize("units", ["unit", "raw"])
def test_putting_back_what_was_taken_changes_nothing(units):
    integers = Integers(MIXED, units)
    assert_allclose(integers.put(THETA, integers.of(THETA)), THETA)


def test_putting_leaves_the_given_theta_alone():
    before = THETA.copy()
    Integers(MIXED, "unit").put(THETA, np.zeros(3))
    assert_allclose(THETA, before)


def test_clipping_keeps_integers_inside_their_range_but_between_lattice_points():
    assert_allclose(Integers(MIXED, "unit").clip(np.array([-1.0, 0.3, 2.0])), [0.0, 0.3, 1.0])
    assert_allclose(Integers(MIXED, "raw").clip(np.array([-9.0, 0.3, 101.0])), [2.0, 0.3, 100.0])


def test_rounding_puts_integers_on_their_lattice():
    raw = Integers(MIXED, "raw").round(np.array([5.6, 9.0, 0.2]))
    assert_allclose(raw, [6.0, 2.0, 1.0])
    unit = Integers(MIXED, "unit").round(np.array([0.34, 0.7, 0.99]))
    assert_allclose(unit, [0.3, 0.5, math.log(95) / math.log(100)], atol=0.005)


@given(st.lists(st.floats(-20.0, 120.0), min_size=3, max_size=3))
def test_rounding_twice_is_rounding_once(values):
    for units in ("unit", "raw"):
        integers = Integers(MIXED, units)
        once = integers.round(np.array(values))
        assert_allclose(integers.round(once), once, atol=1e-12)


def test_a_space_without_integers_has_none():
    integers = Integers(SPACE, "raw")
    assert integers.of(np.empty(0)).shape == integers.clip(np.empty(0)).shape == (0,)
    assert integers.round(np.empty(0)).shape == (0,)

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenceline as fl
from fenceline.problems import classical
from fenceline.search.structured.prices import _Steps, balance
from fenceline.search.surrogates.metric_model import MetricModel
from fenceline.search.surrogates.pipeline_kernel import Structure

PLANE = fl.Space([fl.Module("m", [fl.Algorithm("a", {"x": fl.Real(0, 2), "y": fl.Real(0, 4)})])])
INSIDE = np.array([0.5, 0.5])


def bowl(configuration):
    """A bowl around (1, 1); its sum in thousandths, as a metric in microseconds might come."""
    x, y = configuration["m"].params["x"], configuration["m"].params["y"]
    return {"loss": (x - 1) ** 2 + (y - 1) ** 2, "sum_milli": 1000 * (x + y), "x": x}


def prices(*constraints, evaluations=40):
    problem = fl.Problem(PLANE, bowl, constraints=constraints)
    return list(fl.minimize(problem, evaluations=evaluations).prices.values())


def no(count):
    return np.zeros(count, dtype=bool)


def test_slopes_are_those_of_the_metric_in_units_of_the_ranges():
    structure, rng = Structure(PLANE), np.random.default_rng(0)
    theta = rng.random((40, 2))
    parts = structure.parts(np.zeros((40, 1), dtype=np.intp), theta)
    model = MetricModel(structure, transform=False)
    y = 3.0 * theta[:, 0] - 2.0 * theta[:, 1]
    model.update(parts, y)
    steps = _Steps.around(structure, (0,), np.array([0.4, 0.6]), np.arange(2))
    assert_allclose(steps.slopes(model, 0.0), [3.0, -2.0], atol=0.1)


def test_the_multiplier_balances_the_gradients():
    """grad f = (-2, -4) is held by 2 * (1, 2)."""
    found = balance(np.array([-2.0, -4.0]), np.array([[1.0, 2.0]]), np.zeros(1), no(1), INSIDE)
    assert_allclose(found, [2.0])


def test_a_constraint_far_from_its_bound_does_not_press():
    found = balance(np.array([-2.0, -4.0]), np.array([[1.0, 2.0]]), -np.ones(1), no(1), INSIDE)
    assert_allclose(found, [0.0])


def test_a_constraint_that_pulls_the_same_way_as_the_loss_has_no_price():
    found = balance(np.array([2.0, 4.0]), np.array([[1.0, 2.0]]), np.zeros(1), no(1), INSIDE)
    assert_allclose(found, [0.0])


def test_an_equality_may_have_a_negative_multiplier():
    found = balance(np.array([2.0, 4.0]), np.array([[1.0, 2.0]]), np.zeros(1), ~no(1), INSIDE)
    assert_allclose(found, [-2.0])


def test_of_two_constraints_that_pull_the_same_way_the_nearer_one_is_at_work():
    slopes = np.array([[1.0, 0.0], [3.0, 0.0]])
    found = balance(np.array([-3.0, 0.0]), slopes, np.array([0.0, -0.1]), no(2), INSIDE)
    assert_allclose(found, [3.0, 0.0], atol=1e-6)


def test_the_ends_of_the_ranges_push_back_too():
    """At x = 0 the loss may fall further down x; only what y lacks is the constraint's doing."""
    found = balance(
        np.array([5.0, -3.0]), np.array([[0.0, 1.0]]), np.zeros(1), no(1), np.array([0.0, 0.5])
    )
    assert_allclose(found, [3.0])


def test_the_price_of_a_bound_is_the_slope_of_the_best_value_in_the_users_units():
    """min is (2 - b / 1000)^2 / 2, so a unit of b is worth (2 - b / 1000) / 1000."""
    assert_allclose(prices("sum_milli <= 1000"), [1e-3], rtol=0.1)
    assert_allclose(prices("sum_milli <= 600"), [1.4e-3], rtol=0.1)


def test_a_bound_from_below_is_priced_by_what_lowering_it_brings():
    """min is (b / 1000 - 2)^2 / 2."""
    assert_allclose(prices("sum_milli >= 3000"), [1e-3], rtol=0.1)


def test_of_several_constraints_only_those_that_press_have_a_price():
    """x <= 0.5 costs (x - 1)^2; the sum is then free at its bound."""
    loose, tight = prices("sum_milli <= 5000", "x <= 0.5")
    assert loose == 0.0
    assert tight == pytest.approx(1.0, rel=0.1)


def test_a_fence_that_holds_nothing_back_costs_nothing():
    assert prices("sum_milli <= 5000") == [0.0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_price_on_gramacys_problem_matches_finite_differences(seed):
    """Moving the bound of the wave by 0.001 either way moves the optimum by 0.8597 of it."""
    result = fl.minimize(classical()["gramacy"], evaluations=60, seed=seed)
    assert result.prices["wave <= 0"] == pytest.approx(0.8597, rel=0.1)
    assert result.prices["radius <= 1.5"] == 0.0

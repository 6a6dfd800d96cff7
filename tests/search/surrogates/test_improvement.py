import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_ndtr

from fenceline.search.surrogates import (
    log_expected_improvement,
    log_expected_improvement_with_gradient,
    log_probability_below,
    probability_below,
)


def reference(t):
    """log EI of a standard normal t deviations above the best, by quadrature.

    EI = phi(t) int_0^inf v exp(-t v - v^2 / 2) dv, whose integrand does not underflow for t >= 0.
    """
    scale = 1.0 / max(t, 1.0)
    total = quad(
        lambda w: w * np.exp(-t * scale * w - 0.5 * (scale * w) ** 2), 0, 60, epsabs=0, epsrel=1e-12
    )[0]
    return -0.5 * t**2 - 0.5 * np.log(2.0 * np.pi) + 2.0 * np.log(scale) + np.log(total)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 1.001, 3.0, 10.0, 38.0, 49.9, 50.1, 1e3, 1e6, 1e12])
def test_log_expected_improvement_is_exact_into_the_tail(t):
    assert_allclose(log_expected_improvement(t, 1.0, 0.0), reference(t), rtol=1e-11)


@pytest.mark.parametrize("t", [1.5, 20.0, 49.9, 50.1, 1e4])
def test_what_the_gaussian_leaves_of_the_tail_is_exact_too(t):
    # The leading -t^2 / 2 hides errors in the rest; in the derivatives it cancels.
    _, by_mean, by_sd = log_expected_improvement_with_gradient(t, 1.0, 0.0)
    gaussian = -0.5 * t**2 - 0.5 * np.log(2.0 * np.pi)
    if t < 1e3:
        assert_allclose(by_sd, np.exp(gaussian - reference(t)), rtol=1e-9)
        assert_allclose(by_mean, -np.exp(log_ndtr(-t) - reference(t)), rtol=1e-9)
    assert_allclose(t * by_mean + by_sd, 1.0, rtol=1e-12 * t**2 + 1e-9, atol=1e-15 * t**2)


def test_log_expected_improvement_equals_the_textbook_formula_where_that_works():
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=200), rng.uniform(0.5, 2.0, 200)
    z = (0.2 - mean) / sd
    textbook = sd * (z * np.exp(log_ndtr(z)) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
    assert_allclose(log_expected_improvement(mean, sd, 0.2), np.log(textbook), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("z", [-1e4, -300.0, -51.0, -49.0, -5.0, -1.01, -0.99, 0.0, 2.0, 6.0])
def test_derivatives_match_finite_differences(z):
    function = log_expected_improvement_with_gradient
    sd, best = 0.7, 0.3
    mean = best - z * sd
    step = 1e-6 / max(1.0, abs(z))
    by_mean = (function(mean + step, sd, best)[0] - function(mean - step, sd, best)[0]) / (2 * step)
    by_sd = (function(mean, sd + step, best)[0] - function(mean, sd - step, best)[0]) / (2 * step)
    # Differences of values near -5e7 carry only so many digits.
    slack = 1e-15 * z**2 / step
    assert_allclose(function(mean, sd, best)[1], by_mean, rtol=1e-5, atol=1e-7 + slack)
    assert_allclose(function(mean, sd, best)[2], by_sd, rtol=1e-5, atol=1e-7 + slack)


def test_values_are_finite_for_all_sensible_and_many_absurd_arguments():
    mean, sd = np.meshgrid(
        [-1e100, -1.0, 0.0, 1e-300, 1.0, 1e5, 1e100], [0.0, 1e-300, 1e-12, 1.0, 1e100]
    )
    value, by_mean, by_sd = log_expected_improvement_with_gradient(mean, sd, 0.0)
    assert np.isfinite(value).all()
    assert not np.isnan([by_mean, by_sd]).any()
    assert np.isfinite(log_probability_below(mean, sd, 0.0)).all()


def test_certain_improvement_is_its_size():
    assert_allclose(log_expected_improvement(1.0, 0.0, 3.5), np.log(2.5))


def test_log_expected_improvement_rises_without_jumps_across_its_branches():
    z = np.concatenate(
        [np.linspace(-50.0 - 1e-3, -50.0 + 1e-3, 101), np.linspace(-1.001, -0.999, 101)]
    )
    value = log_expected_improvement(-z, 1.0, 0.0)
    for half in (value[:101], value[101:]):
        steps = np.diff(half)
        assert (steps > 0.0).all()
        assert_allclose(steps, steps.mean(), rtol=1e-3)


def test_probability_below_agrees_with_its_logarithm():
    mean = np.linspace(-5.0, 5.0, 21)
    assert_allclose(
        np.log(probability_below(mean, 1.5, 0.5)), log_probability_below(mean, 1.5, 0.5), rtol=1e-12
    )
    assert_allclose(probability_below(0.0, 1.0, 0.0), 0.5)
    assert_allclose(log_probability_below(100.0, 1.0, 0.0), log_ndtr(-100.0), rtol=1e-14)


def test_arguments_broadcast():
    assert log_expected_improvement(np.zeros((3, 1)), np.ones(4), 0.0).shape == (3, 4)
    assert log_probability_below(0.0, np.ones(4), np.zeros((2, 1))).shape == (2, 4)

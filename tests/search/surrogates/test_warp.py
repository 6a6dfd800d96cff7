import numpy as np
import pytest

from fenceline.search.surrogates.warp import Warp

Y = np.random.default_rng(0).lognormal(size=50)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_warps_increase_and_standardise(logarithmic):
    warp = Warp.of(Y, logarithmic=logarithmic)
    assert warp(Y).mean() == pytest.approx(0.0, abs=1e-9)
    assert warp(Y).std() == pytest.approx(1.0)
    grid = np.linspace(Y.min() - 3.0, Y.max() + 3.0, 500)
    assert (np.diff(warp(grid)) > 0).all()


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_log_slope_is_that_of_the_map(logarithmic):
    warp = Warp.of(Y, logarithmic=logarithmic)
    above = Y[Y.min() < Y]
    numeric = np.log((warp(above + 1e-6) - warp(above - 1e-6)) / 2e-6).sum()
    assert warp.log_slope(above) == pytest.approx(numeric, rel=1e-4)


@pytest.mark.parametrize("values", [[3.0, 3.0, 3.0], [2.0], [1e300, -1e300, 0.0]])
def test_constant_single_and_huge_values_stay_finite(values):
    for logarithmic in (False, True):
        with np.errstate(over="ignore"):
            warped = Warp.of(np.array(values), logarithmic=logarithmic)(np.array(values))
        assert np.isfinite(warped).all()


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_inverse_undoes_the_map_also_beyond_what_was_seen(logarithmic):
    warp = Warp.of(np.array([1.0, 2.0, 5.0, 30.0]), logarithmic=logarithmic)
    values = np.array([-4.0, 1.0, 2.5, 100.0])
    np.testing.assert_allclose(warp.inverse(warp(values)), values)
    step = 1e-6
    slopes = (warp(values + step) - warp(values - step)) / (2 * step)
    inside = values != 1.0  # the tangent begins there, and its slope is the same from both sides
    np.testing.assert_allclose(warp.slopes(values)[inside], slopes[inside], rtol=1e-5)
    np.testing.assert_allclose(
        warp.inverse_slope(warp(values))[inside], 1 / slopes[inside], rtol=1e-5
    )
